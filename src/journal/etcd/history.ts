/** The keys of the journal in etcd: checks that this node's last entry is still there, and deletes entries that no node wants. */

import { concatBytes, fromUtf8, utf8 } from '../../lib/bytes.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import type { LastEntry } from '../journal.js';
import { endOf, entryId, groupKey, MAX_GROUP_ENTRIES, type Names, partsOfId, revisionOf } from './entries.js';
import type { EtcdClient } from './etcd-client.js';
import { KV, type RangeResponse } from './generated/etcd-pb.js';

/** Target of etcd's `Compare`: the revision that created a key. */
const CREATE_REVISION = 1;
const HEX = 16;

export interface HistoryModules {
  readonly client: Pick<EtcdClient, 'call'>;
  readonly names: Names;
  readonly base: () => Promise<number>;
}

export class History {
  readonly #modules: HistoryModules;
  #last: LastEntry = { seq: 0 };

  constructor(modules: HistoryModules) {
    this.#modules = modules;
  }

  /** The last entry that is known to be in the journal; its id is left out once it is forgotten. */
  get last(): LastEntry {
    return this.#last;
  }

  /** Takes `last` as the last entry that the node knows. Throws as `check` does. */
  async goOnFrom(last: LastEntry): Promise<void> {
    this.#last = { ...last, id: last.id ?? (await this.#idAt(last.seq)) };
    await this.check();
  }

  noteEntry(seq: number, id: string): void {
    if (seq > this.#last.seq) this.#last = { ...this.#last, seq, id };
  }

  /** Condition of a write: nothing is written to a journal other than the one that this node knows. */
  condition() {
    const { seq, id } = this.#last;
    if (id === undefined) return [];
    const targetUnion = { case: 'createRevision' as const, value: BigInt(revisionOf(seq)) };
    return [{ target: CREATE_REVISION, key: this.#keyOf(seq, id), targetUnion }];
  }

  /** Throws `data_corrupt` when the journal has lost the last entry, as opposed to having forgotten it. */
  async check(): Promise<void> {
    const { client, names, base } = this.#modules;
    const { seq, id, cluster: before } = this.#last;
    const key = id === undefined ? utf8(names.base) : this.#keyOf(seq, id);
    const { kvs, header } = await client.call(KV.method.range, { key, keysOnly: true });
    const cluster = (header?.clusterId ?? 0n).toString(HEX);
    const isThere = id !== undefined && Number(kvs[0]?.createRevision ?? 0n) === revisionOf(seq);
    if (!isThere) {
      const revision = Number(header?.revision ?? 0n);
      const isForgotten = seq < (await base()) && revision >= revisionOf(seq);
      if (!isForgotten || (before ?? cluster) !== cluster) throw lost({ seq, id, cluster: before }, cluster, revision);
    }
    // The last entry may be a later one by now.
    this.#last = this.#last.seq === seq ? { seq, cluster, ...(isThere && { id }) } : { ...this.#last, cluster };
  }

  #keyOf(seq: number, id: string): Uint8Array {
    return utf8(groupKey(this.#modules.names, seq, id));
  }

  /** Id of the entry with the number `seq`, for a state that does not know it; undefined when there is none. */
  async #idAt(seq: number): Promise<string | undefined> {
    const { client, names } = this.#modules;
    const revision = BigInt(revisionOf(seq));
    if (revision === 0n) return undefined;
    for await (const { kvs } of logKeys(client, names)) {
      const found = kvs.find(({ modRevision }) => modRevision === revision);
      if (found === undefined) continue;
      const { process, count } = partsOfId(fromUtf8(found.key).slice(names.log.length));
      return entryId(process, count + (seq % MAX_GROUP_ENTRIES));
    }
    return undefined;
  }
}

function lost({ seq, id, cluster: before }: LastEntry, cluster: string, revision: number): TesseraError {
  const other = (before ?? cluster) === cluster ? '' : `, and is another cluster than ${before}`;
  return new TesseraError(
    'data_corrupt',
    `the journal in etcd (cluster ${cluster}, revision ${revision}) has lost command ${seq} (${id ?? 'of an unknown id'}), which this node has: etcd was restored from an older copy${other}; the node stays out until an operator has chosen how to go on (docs/high-availability.md#disaster-recovery)`,
  );
}

const KEYS_AT_ONCE = 1_000;

/** The keys of the groups in their own order, by pages. Sorted by revision, etcd would read the whole range for each answer. */
export async function* logKeys(client: Pick<EtcdClient, 'call'>, { log }: Names): AsyncGenerator<RangeResponse> {
  let key = utf8(log);
  for (;;) {
    const query = { key, rangeEnd: endOf(log), keysOnly: true, limit: BigInt(KEYS_AT_ONCE) };
    const page = await client.call(KV.method.range, query);
    yield page;
    const last = page.kvs.at(-1);
    if (!page.more || last === undefined) return;
    key = concatBytes(last.key, Uint8Array.of(0));
  }
}

/** Entries deleted in one transaction, with two operations each; etcd takes 128 operations. */
const DELETED_AT_ONCE = 50;

export interface TrimmingModules {
  readonly client: Pick<EtcdClient, 'call'>;
  readonly names: Names;
  readonly logger: Logger;
}

export class Trimming {
  readonly #modules: TrimmingModules;
  /** The last revision whose entries no node wants. */
  #wanted = 0n;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(modules: TrimmingModules) {
    this.#modules = modules;
  }

  /** Begins to delete the entries up to that revision. The next call repeats what etcd has not done. */
  upTo(revision: bigint): void {
    if (this.#closed) return;
    if (revision > this.#wanted) this.#wanted = revision;
    this.#running ??= this.#run()
      .catch((error: unknown) => {
        const problem = errorMessage(error);
        if (!this.#closed) this.#modules.logger.warn({ problem }, `etcd keeps for now what no node wants: ${problem}`);
      })
      .finally(() => {
        this.#running = undefined;
      });
  }

  /** Resolves when the call under way has ended; later trimming deletes the rest. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    for (let done = 0n; done < this.#wanted && !this.#closed; ) {
      const revision = this.#wanted;
      await this.#deleteUpTo(revision);
      done = revision;
    }
  }

  async #deleteUpTo(revision: bigint): Promise<void> {
    const { client, names } = this.#modules;
    for await (const { kvs } of logKeys(client, names)) {
      const old = kvs.filter(({ modRevision }) => modRevision <= revision).map(({ key }) => key);
      for (let i = 0; i < old.length && !this.#closed; i += DELETED_AT_ONCE) {
        const success = old.slice(i, i + DELETED_AT_ONCE).flatMap((key) => deletionsOf(key, names));
        await client.call(KV.method.txn, { success });
      }
      if (this.#closed) return;
    }
  }
}

function deletionsOf(key: Uint8Array, { log, part }: Names) {
  const parts = `${part}${fromUtf8(key).slice(log.length)}/`;
  return [{ key }, { key: utf8(parts), rangeEnd: endOf(parts) }].map((value) => ({
    request: { case: 'requestDeleteRange' as const, value },
  }));
}
