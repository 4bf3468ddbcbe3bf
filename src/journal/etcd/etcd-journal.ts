/** The journal of several mempool nodes: entries in etcd, whose revisions are the order that every node reads. */

import type { MessageInitShape } from '@bufbuild/protobuf';
import { databaseError } from '../../db/database-error.js';
import { fromUtf8, utf8 } from '../../lib/bytes.js';
import type { Timer } from '../../lib/clock.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import { Mutex } from '../../lib/mutex.js';
import type { Appended, CompactOptions, Journal, JournalEntry, LastEntry, Subscription } from '../journal.js';
import { decodeGroup, MAX_GROUP_ENTRIES, type Names, namesBelow, partsOf, revisionOf, seqOf } from './entries.js';
import { EtcdClient, EtcdError, type EtcdOptions } from './etcd-client.js';
import { EtcdReader } from './etcd-reader.js';
import { EtcdWriter, type EtcdWriterModules } from './etcd-writer.js';
import { type KeyValue, KV, type RangeRequestSchema } from './generated/etcd-pb.js';
import { History, logKeys, Trimming } from './history.js';
import { type Below, joinRules, Marks, type SharedRules } from './marks.js';
import { Patience } from './patience.js';

/** Members of etcd that are asked where the journal ends, one after the other. */
const SYNC_CALLS = 2;
/** Milliseconds between two marks of a node that has nothing new to say. */
const BEAT_MS = 60_000;
const DEFAULT_LIFETIME = 3_600;
/** Target of etcd's `Compare`: the revision of a key's last change. */
const MOD_REVISION = 2;

export interface EtcdJournalOptions {
  readonly etcd: EtcdOptions;
  readonly prefix: string;
  /** A name that this node keeps over restarts, and that no other has. */
  readonly replica: string;
  /** A name that no other process has or had. */
  readonly process: string;
  /** Milliseconds after which an append that etcd has not confirmed is given up. */
  readonly timeout: number;
  /** Seconds after which a silent node no longer keeps entries from being forgotten; an hour by default. */
  readonly lifetime?: number | undefined;
  /** Rules that all who write to the journal must share; undefined for a node that only reads. */
  readonly rules?: SharedRules | undefined;
}

export type EtcdJournalModules = Omit<EtcdWriterModules, 'client' | 'names' | 'history'>;

type Deliver = (entries: readonly JournalEntry[]) => Promise<void>;

export class EtcdJournal implements Journal {
  readonly #client: EtcdClient;
  readonly #names: Names;
  readonly #modules: EtcdJournalModules;
  readonly #marks: Marks;
  readonly #history: History;
  readonly #rules: SharedRules | undefined;
  readonly #patience: Patience;
  readonly #writer: EtcdWriter;
  readonly #trimming: Trimming;
  readonly #readers = new Set<EtcdReader>();
  readonly #deliveries = new Set<Promise<void>>();
  readonly isShared = true;
  readonly #compaction = new Mutex();
  readonly #stopMetrics: () => void;
  #head = 0;
  #wants = 1;
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: EtcdJournalOptions, modules: EtcdJournalModules) {
    const { etcd, prefix, replica, process, timeout, rules, lifetime = DEFAULT_LIFETIME } = options;
    const client = new EtcdClient(etcd);
    const names = namesBelow(prefix);
    const committed = (entry: { readonly seq: number; readonly id: string }): void => this.#seen(entry);
    this.#client = client;
    this.#names = names;
    this.#modules = modules;
    this.#marks = new Marks({ replica, process, lifetime }, { client, names, clock: modules.clock });
    const history = new History({ client, names, base: () => this.#marks.base() });
    this.#history = history;
    this.#rules = rules;
    this.#patience = new Patience(modules);
    this.#trimming = new Trimming({ client, names, logger: modules.logger });
    this.#writer = new EtcdWriter({ process, timeout, committed }, { ...modules, client, names, history });
    const head = modules.metrics.gauge('tessera_journal_head');
    const reachable = modules.metrics.gauge('tessera_journal_reachable');
    const waiting = modules.metrics.gauge('tessera_journal_waiting_seconds');
    this.#stopMetrics = modules.metrics.beforeScrape(() => {
      head.set(this.#head);
      waiting.set(this.#writer.waitingMs / 1_000);
      reachable.set(this.problem === null ? 1 : 0);
    });
  }

  /** Asks etcd where the journal ends. Rejects with `invalid_config` for other rules, `data_corrupt` for a lost last entry. */
  async start(last: LastEntry = { seq: 0 }): Promise<void> {
    while (!(await this.#patience.until(() => this.#joinRules())));
    // The check comes before this node's mark: a node that stays out keeps no entry from being forgotten.
    await this.#patience.until(() => this.#history.goOnFrom(last));
    this.#wants = await this.join();
    if (this.#timer === undefined) this.#beat();
    this.#head = Math.max(this.#head, await this.#patience.until(() => this.#findHead()));
  }

  /** The last entry that is known to be in the journal. */
  get last(): LastEntry {
    return this.#history.last;
  }

  get cluster(): string | undefined {
    return this.last.cluster;
  }

  get head(): number {
    return this.#head;
  }

  /** The reason why etcd cannot be used now; null when it can. */
  get problem(): string | null {
    return this.#writer.problem ?? this.#patience.problem;
  }

  /** The number below which entries are forgotten; resolves when etcd has answered. */
  base(): Promise<number> {
    return this.#patience.until(() => this.#marks.base());
  }

  /** The base as of `base`. From now on no entry from there on is forgotten until this node has it in its state. */
  join(): Promise<number> {
    return this.#patience.until(() => this.#marks.join());
  }

  /** The facts of `Marks.below`; valid after `join`. */
  below(): Promise<Below | undefined> {
    return this.#patience.until(() => this.#marks.below());
  }

  /** True if a node makes the blocks, or did until a moment ago. */
  async isLed(): Promise<boolean> {
    const key = utf8(this.#names.leader);
    return (await this.#patience.until(() => this.#range({ key }))).length > 0;
  }

  /** The last entry in etcd, which answers only when it has all that a majority had when it was asked. */
  async sync(): Promise<number> {
    for (let left = SYNC_CALLS; ; left--) {
      try {
        return (await this.#storedHead()) ?? this.#head;
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error;
        if (left === 1) throw new TesseraError('mempool_unreachable', `${errorMessage(error)}; try again`);
      }
    }
  }

  append(payload: Uint8Array): Appended {
    return this.#writer.append(payload);
  }

  subscribe(fromSeq: number, deliver: Deliver, onError: (error: unknown) => void): Subscription {
    const modules = { client: this.#client, names: this.#names, patience: this.#patience, history: this.#history };
    const base = (): Promise<number> => this.#marks.base();
    const reader = new EtcdReader(fromSeq, { ...modules, base, seen: (entry) => this.#seen(entry) });
    if (this.#closed) reader.stop();
    this.#readers.add(reader);
    const delivery = this.#follow(reader, deliver)
      .catch(onError)
      .finally(() => {
        this.#readers.delete(reader);
        this.#deliveries.delete(delivery);
      });
    this.#deliveries.add(delivery);
    return {
      stop() {
        reader.stop();
        return delivery;
      },
    };
  }

  before(seq: number, count: number): number {
    // A revision has at least one entry.
    return Math.max(0, revisionOf(seq) - count) * MAX_GROUP_ENTRIES;
  }

  /** Says that this node wants nothing below `seq`, and begins to delete what no node wants. Throws `database_failed`. */
  compact(seq: number, options: CompactOptions = {}): Promise<void> {
    return this.#compaction.run(async () => {
      try {
        await this.#forgetBelow(seq, options);
      } catch (error) {
        throw databaseError('the journal in etcd', error);
      }
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    this.#stopMetrics();
    await this.#writer.close();
    this.#patience.close();
    for (const reader of this.#readers) reader.stop();
    await Promise.all(this.#deliveries);
    await this.#compaction.run(() => undefined);
    await this.#trimming.close();
    this.#client.close();
  }

  /** Compares the rules with the kept ones, and adds new ones; false when another node changed them meanwhile. */
  async #joinRules(): Promise<boolean> {
    if (this.#rules === undefined) return true;
    const key = utf8(this.#names.rules);
    const [found] = await this.#range({ key });
    const text = joinRules(found && fromUtf8(found.value), this.#rules);
    if (text === undefined) return true;
    const modRevision = found?.modRevision ?? 0n;
    const { succeeded } = await this.#client.call(KV.method.txn, {
      compare: [{ target: MOD_REVISION, key, targetUnion: { case: 'modRevision', value: modRevision } }],
      success: [{ request: { case: 'requestPut', value: { key, value: utf8(text) } } }],
    });
    return succeeded;
  }

  #seen({ seq, id }: Pick<JournalEntry, 'seq' | 'id'>): void {
    this.#head = Math.max(this.#head, seq);
    this.#history.noteEntry(seq, String(id));
  }

  async #follow(reader: EtcdReader, deliver: Deliver): Promise<void> {
    if (reader.wanted > this.head + 1) {
      throw new TesseraError(
        'data_corrupt',
        `the journal in etcd ends at entry ${this.head}, but entries up to ${reader.wanted - 1} have been used: it has lost some`,
      );
    }
    // Deliveries begin after `subscribe` has returned.
    await Promise.resolve();
    await reader.run(deliver);
  }

  async #findHead(): Promise<number> {
    const end = (await this.#storedHead()) ?? (await this.#newest());
    return Math.max(end, (await this.#marks.base()) - 1);
  }

  /** Value of the key `head`; undefined when there is none. */
  async #storedHead(): Promise<number | undefined> {
    const [head] = await this.#range({ key: utf8(this.#names.head) });
    return head && seqOf(head.modRevision, Number(fromUtf8(head.value)) - 1);
  }

  /** The last entry of a journal of an older version, which wrote no `head`; 0 when it has none. */
  async #newest(): Promise<number> {
    let newest: KeyValue | undefined;
    for await (const { kvs } of logKeys(this.#client, this.#names)) {
      for (const kv of kvs) if (newest === undefined || kv.modRevision > newest.modRevision) newest = kv;
    }
    const [last] = newest === undefined ? [] : await this.#range({ key: newest.key });
    if (last === undefined) return 0;
    const { key, value, createRevision } = last;
    const isInParts = partsOf(key, value) !== undefined;
    const entries = isInParts ? 1 : decodeGroup(key, value, this.#names, createRevision).length;
    return seqOf(createRevision, entries - 1);
  }

  /** Asks etcd once for each step: the next compaction repeats what was not done, and a stop need not wait for an answer. */
  async #forgetBelow(seq: number, { waiting, blocks, storedBefore }: CompactOptions): Promise<void> {
    const wanted = [...this.#readers].map((reader) => reader.wanted);
    await this.#history.check();
    this.#wants = Math.max(this.#wants, Math.min(seq, this.head + 1, ...wanted));
    await this.#marks.want(this.#wants);
    const { from, nodes, moveBase } = await this.#marks.wanted();
    const oldest = waiting === undefined ? Number.MAX_SAFE_INTEGER : waiting + 1;
    const to = nodes > 1 ? from : Math.min(from, oldest);
    const isWhole = waiting !== undefined && blocks !== undefined && to <= oldest;
    const below = isWhole ? { blocks, stored: storedBefore?.(to) } : undefined;
    if (to > (await this.#marks.base()) && !(await moveBase(to, below))) return;
    // Entries of the base's own revision may be of a group of which a part is wanted.
    const last = BigInt(revisionOf(await this.#marks.base()) - 1);
    if (last > 0n) this.#trimming.upTo(last);
  }

  /** Renews this node's mark now and then, which reveals another node of its name, and looks which member is nearest. */
  #beat(): void {
    // Where no member answers, the current one stays.
    this.#client.preferNearest().catch(() => undefined);
    this.#timer = this.#modules.clock.after(BEAT_MS, () => {
      this.#compaction
        .run(() => this.#marks.want(this.#wants))
        .catch((error: unknown) => {
          // The next attempt repeats what etcd did not take.
          if (!isTesseraError(error, 'data_dir_invalid')) return;
          for (const reader of this.#readers) reader.fail(error);
        })
        .finally(() => {
          if (!this.#closed) this.#beat();
        });
    });
  }

  async #range(query: MessageInitShape<typeof RangeRequestSchema>): Promise<KeyValue[]> {
    return (await this.#client.call(KV.method.range, query)).kvs;
  }
}
