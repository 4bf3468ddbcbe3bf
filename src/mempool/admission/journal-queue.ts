/**
 * The last step into the journal: groups that arrive in one turn of the event loop share a command. What can be told before
 * is told before, for nobody pays for what is written and comes to nothing: a group is judged by the state as it is, and waits
 * while another one with the same transaction, DRUID or spent output is on its way. What still comes to nothing is counted
 * (`open-trades.ts`).
 */

import { decodeTransaction } from '../../chain/codec.js';
import { outPointKey, spentOutPoints } from '../../chain/transaction.js';
import type { Transaction } from '../../chain/types.js';
import { type Clock, unixSeconds } from '../../lib/clock.js';
import { createDeferred, type Deferred } from '../../lib/deferred.js';
import { isTesseraError } from '../../lib/errors.js';
import type { CandidateTx, GroupOutcome, Refusal } from '../state/acceptance.js';
import type { Applier } from '../state/applier.js';
import type { CatchUp } from '../state/catch-up.js';
import type { DruidSet } from '../state/pool.js';
import type { MempoolState } from '../state/state.js';
import type { OpenTrades } from './open-trades.js';
import type { WaitingPlaces } from './waiting-places.js';

export interface JournalQueueModules {
  readonly state: Pick<MempoolState, 'outlook' | 'druidSet'>;
  readonly applier: Pick<Applier, 'submit'>;
  /** Where other nodes write to the journal as well. */
  readonly catchUp?: Pick<CatchUp, 'isNewer'> | undefined;
  readonly trades: OpenTrades;
  readonly places: WaitingPlaces;
  readonly clock: Clock;
}

/** Why a group is not in the pool, with the members of its set that are refused with it; null when it is. */
type JournalVerdict = (Refusal & { readonly others: readonly Refusal[] }) | null;

interface Group {
  readonly candidates: readonly CandidateTx[];
  readonly outcome: Deferred<GroupOutcome>;
}

export class JournalQueue {
  readonly #modules: JournalQueueModules;
  /** Groups that share the next command. */
  #queue: Group[] = [];
  /** By what two groups may have in common: settled when the group is decided. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(modules: JournalQueueModules) {
    this.#modules = modules;
  }

  /** Resolves when the group is in the journal and applied, or when it is clear that it would be refused. */
  append(candidates: readonly CandidateTx[], sender: string): Promise<JournalVerdict> {
    return this.#append(candidates, sender, this.#modules.catchUp);
  }

  async #append(
    candidates: readonly CandidateTx[],
    sender: string,
    catchUp: JournalQueueModules['catchUp'],
  ): Promise<JournalVerdict> {
    let rival = this.#rivalOf(candidates);
    const giveBack = rival === undefined ? undefined : this.#modules.places.take(sender);
    // Of several that waited for one, the first goes ahead: the others wait for that.
    for (; rival !== undefined; rival = this.#rivalOf(candidates)) await rival;
    giveBack?.();
    const { refusal, others, isKnown, openDruids } = this.#modules.state.outlook(candidates);
    if (refusal !== null) {
      // What other nodes have put into the journal may allow it. What they put there after it was sent need not be waited for.
      const isNewer = await catchUp?.isNewer();
      return isNewer ? this.#append(candidates, sender, undefined) : { ...refusal, others };
    }
    if (isKnown) return null;
    const settle = this.#modules.trades.take(candidates, openDruids, sender);
    const names = [...namesOf(candidates, this.#modules.state)];
    const decided = createDeferred<void>();
    for (const name of names) this.#underWay.set(name, decided.promise);
    try {
      const outcome = await this.#enqueue(candidates);
      settle(outcome === null ? 'admitted' : 'refused');
      return outcome && { ...outcome, others: [] };
    } catch (error) {
      settle(isTesseraError(error) && error.details.mayBeTaken === true ? 'unknown' : 'not written');
      throw error;
    } finally {
      for (const name of names) this.#underWay.delete(name);
      decided.resolve();
    }
  }

  #rivalOf(candidates: readonly CandidateTx[]): Promise<void> | undefined {
    for (const name of namesOf(candidates, this.#modules.state)) {
      const rival = this.#underWay.get(name);
      if (rival !== undefined) return rival;
    }
    return undefined;
  }

  #enqueue(candidates: readonly CandidateTx[]): Promise<GroupOutcome> {
    const outcome = createDeferred<GroupOutcome>();
    this.#queue.push({ candidates, outcome });
    if (this.#queue.length === 1) setImmediate(() => void this.#flush());
    return outcome.promise;
  }

  async #flush(): Promise<void> {
    const groups = this.#queue;
    this.#queue = [];
    const command = {
      kind: 'transactions' as const,
      time: unixSeconds(this.#modules.clock),
      groups: groups.map(({ candidates }) => candidates.map(({ bytes }) => bytes)),
    };
    try {
      const candidates = groups.map((group) => group.candidates);
      const outcomes = await this.#modules.applier.submit<'transactions'>(command, candidates);
      for (const [i, { outcome }] of groups.entries()) outcome.resolve(outcomes[i] ?? null);
    } catch (error) {
      for (const { outcome } of groups) outcome.reject(error);
    }
  }
}

/**
 * What waits for others of its DRUID claims no outputs, so that any number of them may stand for one. What makes a set whole
 * claims those of the members that waited as well. The outputs come last: they cost most to tell.
 */
function* namesOf(candidates: readonly CandidateTx[], state: Pick<MempoolState, 'druidSet'>): Generator<string> {
  const brought = new Map<string, number>();
  for (const { hash, tx } of candidates) {
    yield `t${hash}`;
    if (tx.druidInfo === null) continue;
    const { druid } = tx.druidInfo;
    yield `d${druid}`;
    brought.set(druid, (brought.get(druid) ?? 0) + 1);
  }
  const completed = new Map<string, DruidSet>();
  for (const { tx } of candidates) {
    const { druid = '', participants = 0n } = tx.druidInfo ?? {};
    const waiting = tx.druidInfo === null ? undefined : state.druidSet(druid);
    const count = (brought.get(druid) ?? 0) + (waiting?.members.length ?? 0);
    if (BigInt(count) < (waiting?.participants ?? participants)) continue;
    if (waiting !== undefined) completed.set(druid, waiting);
    yield* outputNames(tx);
  }
  for (const { members } of completed.values())
    for (const { bytes } of members) yield* outputNames(decodeTransaction(bytes));
}

function outputNames(tx: Transaction): string[] {
  return spentOutPoints(tx).map((outPoint) => `o${outPointKey(outPoint)}`);
}
