/**
 * Seam between the mempool of one node and the other nodes that write to its journal: what the applier does only because of them. A
 * journal that nobody else writes to passes through unchanged.
 */

import type { Turn } from '../../chain/decode-in-pieces.js';
import type { KvBatch } from '../../db/kv.js';
import type { Journal } from '../../journal/journal.js';
import type { Clock } from '../../lib/clock.js';
import type { CandidateTx } from '../state/acceptance.js';
import type { Command, DigestCommand } from '../state/commands.js';
import type { Standing } from '../state/oldest-waiting.js';
import type { MempoolState } from '../state/state.js';
import type { StateStore } from '../state/state-store.js';
import { AheadOfJournal } from './ahead-of-journal.js';
import { inTime } from './catch-up.js';
import type { SharedDigests } from './shared-digests.js';

type Groups = readonly (readonly CandidateTx[])[];

export interface SharedJournalModules {
  readonly journal: Pick<Journal, 'isShared' | 'problem'>;
  readonly state: MempoolState;
  readonly store: StateStore;
  readonly clock: Clock;
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

  /** Position of the state in the journal. */
  get standing(): Standing {
    return this.#ahead?.standing ?? this.#modules.state.waitingSince;
  }

  /** Groups of a command, without what the state has from a later block. `isOwn`: this node has judged them by its state. */
  async withoutIncluded(groups: Groups, options: { readonly isOwn: boolean }): Promise<Groups> {
    return (await this.#ahead?.dropIncluded(groups, options)) ?? groups;
  }

  /** The journal has cut a block that the state does not cut. */
  async passCut({ height, time }: Extract<Command, { kind: 'cut-block' }>, batch: KvBatch): Promise<void> {
    await this.#ahead?.reachCut(height, time, batch);
  }

  /** The journal has come to a stored block. `time`: of one that storage had in place of this node's own. */
  async passBlock(height: number, time: number | null, batch: KvBatch): Promise<void> {
    await this.#ahead?.reachBlock(height, time, batch);
  }

  /** A command has been applied: its mark is kept, and the digest of the state after a block. */
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
