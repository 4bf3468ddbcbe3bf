/** The key-value store in memory, for tests of rules. Same contract as LevelDB's, but nothing survives. */

import { TesseraError } from '../lib/errors.js';
import type { Kv, KvEntry, KvRange } from './kv.js';
import { openRecord, PendingBatch, writesOf } from './record.js';

const DATABASE = 'memory';

/** Keys are held as texts of one character a byte: their order is the order of the bytes. */
const toText = (key: Uint8Array): string => Buffer.from(key).toString('latin1');
const toKey = (text: string): Uint8Array => Buffer.from(text, 'latin1');

export function createMemoryKv(): Kv {
  const records = new Map<string, Uint8Array>();
  let closed = false;

  const checkOpen = (): void => {
    if (closed) throw new TesseraError('shutting_down', `database ${DATABASE} is closed`);
  };
  const get = async (key: Uint8Array): Promise<Uint8Array | undefined> => {
    checkOpen();
    const record = records.get(toText(key));
    return record && openRecord(DATABASE, key, Uint8Array.from(record));
  };
  const sortedTexts = (range: KvRange): string[] => {
    const [gte, lt] = [toText(range.gte), toText(range.lt)];
    const texts = [...records.keys()].filter((text) => text >= gte && text < lt).sort();
    if (range.reverse) texts.reverse();
    return texts.slice(0, range.limit);
  };

  return {
    get,
    getMany: (keys) => Promise.all(keys.map(get)),
    batch: () => new PendingBatch(),
    async write(batch) {
      checkOpen();
      for (const { key, record } of writesOf(batch)) {
        if (record === undefined) records.delete(toText(key));
        else records.set(toText(key), record);
      }
    },
    async *entries(range): AsyncGenerator<KvEntry> {
      checkOpen();
      const found = sortedTexts(range).map((text) => [toKey(text), records.get(text)] as const);
      for (const [key, record] of found) {
        checkOpen();
        if (record !== undefined) yield [key, openRecord(DATABASE, key, Uint8Array.from(record))];
      }
    },
    async close() {
      closed = true;
    },
  };
}
