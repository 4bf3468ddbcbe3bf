/** Reads the journal: a watch that goes on where the last one ended. What etcd's compaction took from the history is listed first. */

import { fromUtf8, utf8 } from '../../lib/bytes.js';
import { createDeferred } from '../../lib/deferred.js';
import { forgotten, type JournalEntry } from '../journal.js';
import { decodeGroup, endOf, MAX_VALUE_BYTES, type Names, partName, partsOf, revisionOf, seqOf } from './entries.js';
import { Compacted, type EtcdClient, EtcdError, type EtcdWatch } from './etcd-client.js';
import { type KeyValue, KV, type RangeResponse } from './generated/etcd-pb.js';
import { type History, logKeys } from './history.js';
import type { Patience } from './patience.js';

/** Bytes of entries that are read ahead of delivery. */
const MAX_AHEAD_BYTES = 8 * MAX_VALUE_BYTES;
const VALUES_AT_ONCE = 8;
/** Filter of etcd's `WatchCreateRequest`: no deletions. */
const NO_DELETIONS = 1;

export interface EtcdReaderModules {
  readonly client: EtcdClient;
  readonly names: Names;
  readonly patience: Patience;
  readonly base: () => Promise<number>;
  readonly history: Pick<History, 'check'>;
  /** Called with the last entry of each group that is new to this reader. */
  readonly seen: (entry: JournalEntry) => void;
}

type Deliver = (entries: readonly JournalEntry[]) => Promise<void>;

export class EtcdReader {
  readonly #modules: EtcdReaderModules;
  /** Number of the next entry that is read, and of the next one that is delivered. */
  #next: number;
  #wanted: number;
  #stopped = false;
  #failure: { readonly error: unknown } | undefined;
  #cancel = (): void => undefined;
  #ahead: JournalEntry[] = [];
  #aheadBytes = 0;
  #changed = createDeferred<void>();

  constructor(fromSeq: number, modules: EtcdReaderModules) {
    this.#next = fromSeq;
    this.#wanted = fromSeq;
    this.#modules = modules;
  }

  get wanted(): number {
    return this.#wanted;
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
    this.#wake();
  }

  /** Delivers entries until the reader is stopped; throws what `deliver` throws, and `data_corrupt`. */
  async run(deliver: Deliver): Promise<void> {
    const reading = this.#read().catch((error: unknown) => {
      if (!this.#stopped) throw error;
    });
    reading.catch((error: unknown) => this.fail(error));
    try {
      while (!this.#stopped) {
        const entries = this.#ahead;
        if (entries.length === 0) {
          if (this.#failure !== undefined) throw this.#failure.error;
          await this.#changed.promise;
          continue;
        }
        this.#ahead = [];
        this.#aheadBytes = 0;
        this.#wake();
        await deliver(entries);
        this.#wanted = (entries.at(-1)?.seq ?? this.#wanted) + 1;
      }
    } finally {
      this.stop();
      await reading.catch(() => undefined);
    }
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = createDeferred<void>();
  }

  async #read(): Promise<void> {
    const first = await this.#until(this.#modules.base);
    if (this.#next < first) throw forgotten(this.#next, first);
    while (!this.#stopped) {
      try {
        await this.#follow(await this.#until(() => this.#watch()));
      } catch (error) {
        if (error instanceof Compacted) await this.#until(() => this.#list());
        else if (!(error instanceof EtcdError)) throw error;
      }
    }
  }

  /** Result of the attempt, which is repeated until etcd answers or the reader is stopped. */
  #until<T>(attempt: () => Promise<T>): Promise<T> {
    return this.#modules.patience.until(async () => {
      if (this.#stopped) throw new Error('the reader is stopped');
      return attempt();
    });
  }

  /** A watch on a member that accepts this node and has the journal that this node knows. */
  async #watch(): Promise<EtcdWatch> {
    const { client, names, history } = this.#modules;
    const { log } = names;
    const watch = await client.watch({
      requestUnion: {
        case: 'createRequest',
        value: {
          key: utf8(log),
          rangeEnd: endOf(log),
          // A start revision of 0 would mean from now on.
          startRevision: BigInt(Math.max(1, revisionOf(this.#next))),
          filters: [NO_DELETIONS],
          fragment: true,
        },
      },
    });
    try {
      await history.check();
      return watch;
    } catch (error) {
      watch.cancel();
      throw error;
    }
  }

  async #follow({ responses, cancel }: EtcdWatch): Promise<void> {
    this.#cancel = cancel;
    try {
      // The reader may have been stopped while the watch began, when there was nothing to cancel.
      if (this.#stopped) return;
      for await (const response of responses) {
        if (this.#stopped) return;
        for (const { kv } of response.events) if (kv !== undefined) await this.#take(kv);
      }
    } finally {
      cancel();
    }
  }

  /** Reads all entries behind the last one read, by a list of the keys. */
  async #list(): Promise<void> {
    const { client, names, base, history } = this.#modules;
    const from = this.#next;
    const found: KeyValue[] = [];
    // Pages after the first may show keys that came later; the watch delivers those.
    let end: bigint | undefined;
    for await (const { kvs, header } of logKeys(client, names)) {
      const last = end ?? header?.revision ?? 0n;
      end = last;
      found.push(...kvs.filter(({ modRevision }) => modRevision >= revisionOf(from) && modRevision <= last));
    }
    found.sort((one, other) => Number(one.modRevision - other.modRevision));
    // The base is raised before keys are deleted, so every missing key is below it.
    const first = await base();
    if (from < first) throw forgotten(from, first);
    await history.check();
    for (let i = 0; i < found.length && !this.#stopped; i += VALUES_AT_ONCE) {
      const some = found.slice(i, i + VALUES_AT_ONCE);
      const answers = await Promise.all(some.map(({ key }) => client.call(KV.method.range, { key })));
      for (const { kvs: values } of answers) {
        if (values[0] === undefined) throw forgotten(this.#next, await base());
        await this.#take(values[0]);
      }
    }
    if (end !== undefined) this.#next = Math.max(this.#next, seqOf(end + 1n, 0));
  }

  async #take(kv: KeyValue): Promise<void> {
    while (this.#aheadBytes > MAX_AHEAD_BYTES && !this.#stopped) await this.#changed.promise;
    if (this.#stopped) return;
    const parts = partsOf(kv.key, kv.value);
    const entries =
      parts === undefined
        ? decodeGroup(kv.key, kv.value, this.#modules.names, kv.createRevision)
        : [await this.#joined(kv, parts)];
    const fresh = entries.filter(({ seq }) => seq >= this.#next);
    const last = fresh.at(-1);
    if (last === undefined) return;
    this.#next = last.seq + 1;
    this.#ahead.push(...fresh);
    this.#aheadBytes += fresh.reduce((sum, { payload }) => sum + payload.length, 0);
    this.#modules.seen(last);
    this.#wake();
  }

  async #joined({ key, createRevision }: KeyValue, parts: number): Promise<JournalEntry> {
    const { client, names } = this.#modules;
    const id = fromUtf8(key).slice(names.log.length);
    const payloads: Uint8Array[] = [];
    for (let n = 0; n < parts; n++) {
      const name = utf8(partName(names, id, n));
      const { kvs }: RangeResponse = await client.call(KV.method.range, { key: name });
      const [part] = kvs;
      if (part === undefined) throw forgotten(seqOf(createRevision, 0), await this.#modules.base());
      for (const { payload } of decodeGroup(name, part.value, names, createRevision)) payloads.push(payload);
    }
    return { seq: seqOf(createRevision, 0), id, payload: Buffer.concat(payloads) };
  }
}
