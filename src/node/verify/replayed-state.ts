/** The state by its journal, as the next start will have it; and from nothing, if the journal goes back to the first command. */

import { readU64 } from '../../db/keys.js';
import type { Kv, KvBatch, KvEntry, KvRange } from '../../db/kv.js';
import { PendingBatch, unsealRecord, writesOf } from '../../db/record.js';
import type { Journal } from '../../journal/journal.js';
import { keys as journalKeys, LocalJournal } from '../../journal/local-journal.js';
import { HASH_KEY_BYTES } from '../../ledger/utxo/keyed-hash.js';
import { asBuffer, keptBytes } from '../../lib/bytes.js';
import { systemClock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { systemRandom } from '../../lib/random.js';
import { Applier, type ApplierModules } from '../../mempool/state/applier.js';
import { keys } from '../../mempool/state/layout.js';
import { loadMempoolState } from '../../mempool/state/load.js';
import type { StateRules } from '../../mempool/state/state.js';
import { StateStore } from '../../mempool/state/state-store.js';
import { noMetrics } from '../../observability/metrics.js';

const CREATION = asBuffer(keys.create(''));

export interface ReplayOptions {
  readonly state: Kv;
  readonly journal: Kv;
  readonly rules: StateRules;
  readonly unicorn: ApplierModules['unicorn'];
  readonly signal: AbortSignal;
  /** Called with the commands done, of those that a replay takes. */
  readonly onProgress: (done: number, total: number) => void;
}

export interface Replayed {
  readonly head: number;
  /** The first command that the journal still has. */
  readonly first: number;
  /** True if the journal gave the same state from nothing; false when it begins too late for that. */
  readonly isFromNothing: boolean;
}

/** Throws `data_corrupt` when the two are not the same state, or the journal lacks what the state has; `aborted`. */
export async function replayJournal(options: ReplayOptions): Promise<Replayed> {
  const journal = await LocalJournal.open({}, { kv: options.journal, clock: systemClock, metrics: noMetrics });
  try {
    const stored = await stateAfter(options.state, journal, options);
    const base = await options.journal.get(journalKeys.base);
    const first = base === undefined ? 1 : readU64(base, 0);
    const replayed = { head: journal.head, first, isFromNothing: first <= 1 };
    if (replayed.isFromNothing && (await stateAfter(undefined, journal, options)) !== stored) {
      throw new TesseraError(
        'data_corrupt',
        `the journal does not give the state that the database holds, after command ${journal.head}: run tessera rebuild`,
      );
    }
    return replayed;
  } finally {
    await journal.close();
  }
}

/** The digest of the state after the last command; without `base`, from nothing. */
async function stateAfter(base: Kv | undefined, journal: LocalJournal, options: ReplayOptions): Promise<string> {
  const { rules, unicorn, signal, onProgress } = options;
  const kv = new UnwrittenKv(base);
  const state = await loadMempoolState(kv, rules, { hashKey: systemRandom.bytes(HASH_KEY_BYTES) });
  const applier = new Applier({
    journal: new UnchangedJournal(journal),
    store: new StateStore(kv, systemClock),
    state,
    unicorn,
    clock: systemClock,
    metrics: noMetrics,
    progress: {
      replaying: onProgress,
      loading: () => undefined,
      adopting: () => undefined,
      adopted: () => undefined,
      adoptingNow: undefined,
    },
  });
  applier.failed.catch(() => undefined);
  const stop = (): void => void applier.stop().catch(() => undefined);
  signal.addEventListener('abort', stop, { once: true });
  try {
    await applier.start();
    return state.digest();
  } catch (error) {
    throw signal.aborted ? new TesseraError('aborted', 'the check was cancelled') : error;
  } finally {
    signal.removeEventListener('abort', stop);
    await applier.stop();
  }
}

/** The database as it is. Of what a replay writes it keeps what a replay reads: which creations are in the chain. */
class UnwrittenKv implements Kv {
  readonly #base: Kv | undefined;
  readonly #creations = new Map<string, Uint8Array>();

  constructor(base: Kv | undefined) {
    this.#base = base;
  }

  async get(key: Uint8Array): Promise<Uint8Array | undefined> {
    return (await this.getMany([key]))[0];
  }

  async getMany(wanted: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    const stored = (await this.#base?.getMany(wanted)) ?? [];
    return wanted.map((key, i) => this.#creations.get(nameOf(key)) ?? stored[i]);
  }

  batch(): KvBatch {
    return new PendingBatch();
  }

  async write(batch: KvBatch): Promise<void> {
    for (const { key, record } of writesOf(batch)) {
      const isCreation = asBuffer(key).subarray(0, CREATION.length).equals(CREATION);
      if (isCreation && record !== undefined) this.#creations.set(nameOf(key), keptBytes(unsealRecord(key, record)));
    }
  }

  async *entries(range: KvRange): AsyncGenerator<KvEntry> {
    if (this.#base !== undefined) yield* this.#base.entries(range);
  }

  /** Does nothing: whoever opened the database closes it. */
  async close(): Promise<void> {}
}

/** The journal as it is: nothing is appended to it or forgotten. */
class UnchangedJournal implements Journal {
  readonly #journal: LocalJournal;

  constructor(journal: LocalJournal) {
    this.#journal = journal;
  }

  get head(): number {
    return this.#journal.head;
  }

  get problem(): string | null {
    return this.#journal.problem;
  }

  readonly isShared = false;

  sync(): Promise<number> {
    return this.#journal.sync();
  }

  start(): Promise<void> {
    return this.#journal.start();
  }

  append(): never {
    throw new TesseraError('internal_error', 'a check appends nothing to the journal');
  }

  subscribe(...args: Parameters<Journal['subscribe']>): ReturnType<Journal['subscribe']> {
    return this.#journal.subscribe(...args);
  }

  before(seq: number, count: number): number {
    return this.#journal.before(seq, count);
  }

  async compact(): Promise<void> {}

  async close(): Promise<void> {}
}

function nameOf(key: Uint8Array): string {
  return asBuffer(key).toString('latin1');
}
