/** Connects a mempool node with the others at its journal. A journal that nobody else writes to passes through unchanged. */

import type { Turn } from '../../chain/decode-in-pieces.js';
import type { KvBatch } from '../../db/kv.js';
import type { Journal } from '../../journal/journal.js';
import type { Clock } from '../../lib/clock.js';
import { createDeferred } from '../../lib/deferred.js';
import { TesseraError } from '../../lib/errors.js';
import type { Signal } from '../../lib/signal.js';
import type { HasClock } from '../../observability/modules.js';
import type { CandidateTx } from '../state/acceptance.js';
import type { Command, DigestCommand } from '../state/commands.js';
import type { Standing } from '../state/retention.js';
import type { MempoolState } from '../state/state.js';
import type { StateStore } from '../state/state-store.js';
import { AheadOfJournal } from './ahead-of-journal.js';
import type { SharedDigests } from './shared-digests.js';

type Groups = readonly (readonly CandidateTx[])[];

export interface SharedJournalModules extends HasClock {
  readonly journal: Pick<Journal, 'isShared' | 'problem'>;
  readonly state: MempoolState;
  readonly store: StateStore;
  /** Digests of the nodes at the journal; without it digests in the journal are passed over. */
  readonly digests?: SharedDigests | undefined;
}

export class SharedJournal {
  readonly #modules: SharedJournalModules;
  #ahead: AheadOfJournal | undefined;

  constructor(modules: SharedJournalModules) {
    this.#modules = modules;
  }

  /** Reads whether the state is ahead of the journal; before the first command. */
  async load(turn: Turn): Promise<void> {
    const { store, state } = this.#modules;
    this.#ahead = await AheadOfJournal.read(store, state, turn);
  }

  get standing(): Standing {
    return this.#ahead?.standing ?? this.#modules.state.waitingSince;
  }

  /** Groups of a command without transactions that the state has from a later block. `isOwn`: this node has judged them by its state. */
  async withoutIncluded(groups: Groups, options: { readonly isOwn: boolean }): Promise<Groups> {
    return (await this.#ahead?.dropIncluded(groups, options)) ?? groups;
  }

  /** Notes that the journal has cut a block that the state does not cut. */
  async passCut({ height, time }: Extract<Command, { kind: 'cut-block' }>, batch: KvBatch): Promise<void> {
    await this.#ahead?.reachCut(height, time, batch);
  }

  /** Notes that the journal has come to a stored block. `time`: set for a block that storage had in place of this node's own. */
  async passBlock(height: number, time: number | null, batch: KvBatch): Promise<void> {
    await this.#ahead?.reachBlock(height, time, batch);
  }

  /** Keeps the mark of an applied command, and the digest of the state after a block. */
  applied({ kind }: Command, seq: number, batch: KvBatch): void {
    const { digests, state } = this.#modules;
    digests?.noteApplied(seq, state);
    if (kind === 'block-stored' || kind === 'block-adopted') digests?.afterBlock(seq, state, batch);
  }

  /** Compares the digest of another node. Throws `state_diverged` when this node is the one that differs. */
  compare(command: DigestCommand, batch: KvBatch): void {
    this.#modules.digests?.compare(command, batch);
  }

  /** Outcome of a command of this node. Throws `mempool_unreachable` when the journal cannot be read back. */
  outcome<T>(outcome: Promise<T>): Promise<T> {
    const { journal, clock } = this.#modules;
    return inTime(outcome, journal, clock);
  }
}

/** Milliseconds between two looks at whether the journal can be read while something waits for it. */
const LOOK_MS = 1_000;
/** Looks after which a node that cannot reach the end of the journal says so. */
const PATIENCE_LOOKS = 10;

export interface CatchUpModules extends HasClock {
  readonly journal: Pick<Journal, 'sync'>;
  readonly state: Pick<MempoolState, 'seq'>;
  readonly applied: Signal<void>;
}

export class CatchUp {
  readonly #modules: CatchUpModules;
  /** Questions where the journal ends: the one under way, and the next one, which begins when that is answered. */
  #asking: Promise<number> | undefined;
  #asksNext: Promise<number> | undefined;

  constructor(modules: CatchUpModules) {
    this.#modules = modules;
  }

  /** Resolves when all that is in the journal now is applied: with true if that is more than `seq`. Throws `mempool_unreachable`. */
  async isNewer(seq = this.#modules.state.seq): Promise<boolean> {
    const { state } = this.#modules;
    await this.#reach(await this.#head());
    return state.seq > seq;
  }

  /** End of the journal. Callers during a question share the next one: an answer may be older than their call. */
  #head(): Promise<number> {
    if (this.#asking === undefined) return this.#ask();
    this.#asksNext ??= this.#asking.catch(() => undefined).then(() => this.#ask());
    return this.#asksNext;
  }

  #ask(): Promise<number> {
    this.#asksNext = undefined;
    const asking = this.#modules.journal.sync().finally(() => {
      if (this.#asking === asking) this.#asking = undefined;
    });
    this.#asking = asking;
    return asking;
  }

  async #reach(seq: number): Promise<void> {
    const { state, applied, clock } = this.#modules;
    if (state.seq >= seq) return;
    const reached = createDeferred<void>();
    const off = applied.on(() => state.seq >= seq && reached.resolve());
    const timer = clock.after(PATIENCE_LOOKS * LOOK_MS, () =>
      reached.reject(new TesseraError('mempool_unreachable', 'this node is behind the journal; try again')),
    );
    try {
      await reached.promise;
    } finally {
      off();
      timer.cancel();
    }
  }
}

/** The outcome of a command in the journal. Throws `mempool_unreachable` when a shared journal cannot be read back. */
async function inTime<T>(
  outcome: Promise<T>,
  journal: Pick<Journal, 'isShared' | 'problem'>,
  clock: Clock,
): Promise<T> {
  while (journal.isShared) {
    const later = createDeferred<undefined>();
    const timer = clock.after(LOOK_MS, () => later.resolve(undefined));
    try {
      const found = await Promise.race([outcome.then((value) => ({ value })), later.promise]);
      if (found !== undefined) return found.value;
    } finally {
      timer.cancel();
    }
    if (journal.problem === null) continue;
    throw new TesseraError(
      'mempool_unreachable',
      `this is in the journal, and cannot be read from there now (${journal.problem}): it is taken when it can`,
      { details: { mayBeTaken: true } },
    );
  }
  return outcome;
}
