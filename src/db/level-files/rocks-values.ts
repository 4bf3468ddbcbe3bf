/** The contents of a folder of RocksDB, as the original nodes write it. Only files are read, so nothing in the folder changes. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readBounded } from '../../lib/read-bounded.js';
import { readLog } from './log.js';
import { rocksEntries, userKey } from './table.js';
import { readBatch } from './varints.js';

const MAX_FILE = 256 * 1024 * 1024;
/** Sequence of a write, above the kind in the tag of an internal key; kind 1 is a value. */
const KIND_BITS = 8n;

/** The newest write of each key, undefined for a deletion. */
export type RocksValues = ReadonlyMap<string, { readonly sequence: bigint; readonly value: Uint8Array | undefined }>;

/** The newest writes in the tables and logs of a folder. Throws for damaged files. */
export function rocksValues(folder: string): RocksValues {
  const newest: Map<string, { readonly sequence: bigint; readonly value: Uint8Array | undefined }> = new Map();
  const add = (key: Uint8Array, sequence: bigint, value: Uint8Array | undefined): void => {
    const name = Buffer.from(key).toString('latin1');
    if ((newest.get(name)?.sequence ?? -1n) < sequence) newest.set(name, { sequence, value });
  };
  for (const name of readdirSync(folder).filter((file) => /^\d+\.(sst|log)$/.test(file))) {
    const file = readBounded(join(folder, name), MAX_FILE);
    for (const { key, value } of name.endsWith('.sst') ? rocksEntries(file) : []) {
      const tag = Buffer.from(key).readBigUInt64LE(key.length - 8);
      add(userKey(key), tag >> KIND_BITS, (tag & 0xffn) === 1n ? value : undefined);
    }
    const { records, fault } = name.endsWith('.log') ? readLog(file) : { records: [], fault: null };
    // A crash cuts off the end, which the node had not acknowledged. Anything else hides keys.
    if (fault?.kind === 'damaged') throw new RangeError(`${name} is damaged at byte ${fault.at}`);
    for (const { data } of records) {
      const first = Buffer.from(data).readBigUInt64LE();
      for (const [at, { key, value }] of readBatch(data, { columns: true }).entries())
        add(key, first + BigInt(at), value);
    }
  }
  return newest;
}
