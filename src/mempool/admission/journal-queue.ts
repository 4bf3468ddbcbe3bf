/**
 * The last step into the journal: groups that arrive in one turn of the event loop share a command. Commands that come
 * to nothing cost their sender nothing, so a group is judged by the state here, and waits while another with the same
 * transaction, DRUID or spent output is on its way. `OpenTrades` counts what still comes to nothing.
 */

import { decodeTransaction } from '../../chain/codec.js';
import { outPointKey } from '../../chain/transaction.js';
import type { Transaction } from '../../chain/types.js';
import { Budget, sum } from '../../lib/budget.js';
import { type Clock, unixSeconds } from '../../lib/clock.js';
import { createDeferred, type Deferred } from '../../lib/deferred.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import type { HasClock } from '../../observability/modules.js';
import type { CatchUp } from '../replicas/shared-journal.js';
import type { CandidateTx, GroupOutcome, Refusal } from '../state/acceptance.js';
import type { Applier } from '../state/applier.js';
import type { DruidSet } from '../state/pool.js';
import type { MempoolState } from '../state/state.js';
import { druidsOf } from './pool-bounds.js';

/** Transactions of a command, unless its only group has more: they are applied and answered together. */
const MAX_TRANSACTIONS = 256;

export interface JournalQueueModules extends HasClock {
  readonly state: Pick<MempoolState, 'outlook' | 'druidSet'>;
  readonly applier: Pick<Applier, 'submit'>;
  /** Brings this node up to the journal's end; present where other nodes write to the journal as well. */
  readonly catchUp?: Pick<CatchUp, 'isNewer'> | undefined;
  readonly trades: OpenTrades;
  /** See `waitingPlaces`. */
  readonly places: Budget;
}

/** Why a group is not in the pool, with the members of its set that are refused with it; null when it is. */
type JournalVerdict = (Refusal & { readonly others: readonly Refusal[] }) | null;

interface Group {
  readonly candidates: readonly CandidateTx[];
  readonly outcome: Deferred<GroupOutcome>;
}

export class JournalQueue {
  readonly #modules: JournalQueueModules;
  #queue: Group[] = [];
  #isScheduled = false;
  #sent = 0;
  /** Groups under way, by the names that two groups may share. Who waits for one goes on after its own `append`, which has waited longer. */
  readonly #underWay = new Map<string, Promise<GroupOutcome>>();

  constructor(modules: JournalQueueModules) {
    this.#modules = modules;
  }

  /**
   * Resolves when the group is in the journal and applied, or when it is clear that it would be refused. `isCaughtUp`: a refusal by the state
   * as it is here counts.
   */
  async append(candidates: readonly CandidateTx[], sender: string, isCaughtUp = false): Promise<JournalVerdict> {
    const { state } = this.#modules;
    let names = namesOf(candidates, state);
    let rival = this.#rivalOf(names);
    const giveBack = rival === undefined ? undefined : this.#modules.places.take(sender, [1]);
    // The first of the waiting groups goes ahead, and the others wait for it.
    for (; rival !== undefined; rival = this.#rivalOf(names)) {
      await rival.catch(() => undefined);
      names = namesOf(candidates, state);
    }
    giveBack?.();
    const { refusal, others, isKnown, openDruids } = state.outlook(candidates);
    if (refusal !== null) {
      // A command of another node, in the journal but not applied here, may allow the group. Later commands need not be awaited.
      const isNewer = !isCaughtUp && (await this.#modules.catchUp?.isNewer());
      return isNewer ? this.append(candidates, sender, true) : { ...refusal, others };
    }
    if (isKnown) return null;
    const settle = this.#modules.trades.take(candidates, openDruids, sender);
    const decided = this.#enqueue(candidates);
    for (const name of names) this.#underWay.set(name, decided);
    try {
      const outcome = await decided;
      settle(outcome === null ? 'admitted' : 'refused');
      return outcome && { ...outcome, others: [] };
    } catch (error) {
      settle(isTesseraError(error) && error.details.mayBeTaken === true ? 'unknown' : 'not written');
      throw error;
    } finally {
      for (const name of names) this.#underWay.delete(name);
    }
  }

  #rivalOf(names: readonly string[]): Promise<GroupOutcome> | undefined {
    for (const name of names) {
      const rival = this.#underWay.get(name);
      if (rival !== undefined) return rival;
    }
    return undefined;
  }

  #enqueue(candidates: readonly CandidateTx[]): Promise<GroupOutcome> {
    const outcome = createDeferred<GroupOutcome>();
    this.#queue.push({ candidates, outcome });
    this.#schedule();
    return outcome.promise;
  }

  /** Schedules a command for all that arrives in one turn or, in a journal of this node alone, while one is on its way. */
  #schedule(): void {
    const isBusy = this.#sent > 0 && this.#modules.catchUp === undefined;
    if (this.#isScheduled || isBusy || this.#queue.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      void this.#flush(this.#takeGroups());
      this.#schedule();
    });
  }

  #takeGroups(): readonly Group[] {
    let count = 0;
    const end = this.#queue.findIndex(({ candidates }) => {
      count += candidates.length;
      return count > MAX_TRANSACTIONS;
    });
    return this.#queue.splice(0, end === -1 ? this.#queue.length : Math.max(1, end));
  }

  async #flush(groups: readonly Group[]): Promise<void> {
    this.#sent++;
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
    this.#sent--;
    this.#schedule();
  }
}

/**
 * Names that a group may have in common with another: hashes, outputs (`outPointKey`), and `d` with a DRUID. Halves of
 * a trade claim no outputs while they wait; what completes the set claims those of all its members.
 */
function namesOf(candidates: readonly CandidateTx[], state: Pick<MempoolState, 'druidSet'>): readonly string[] {
  const names = candidates.map(({ hash }) => hash);
  if (candidates.some(({ tx }) => tx.druidInfo !== null)) return [...names, ...namesOfTrades(candidates, state)];
  for (const { tx } of candidates) addOutputNames(tx, names);
  return names;
}

function namesOfTrades(candidates: readonly CandidateTx[], state: Pick<MempoolState, 'druidSet'>): readonly string[] {
  const brought = druidsOf(candidates);
  const names = [...brought.keys()].map((druid) => `d${druid}`);
  const completed = new Map<string, DruidSet>();
  for (const { tx } of candidates) {
    const { druid = '', participants = 0n } = tx.druidInfo ?? {};
    const waiting = tx.druidInfo === null ? undefined : state.druidSet(druid);
    const count = (brought.get(druid) ?? 0) + (waiting?.members.length ?? 0);
    if (BigInt(count) < (waiting?.participants ?? participants)) continue;
    if (waiting !== undefined) completed.set(druid, waiting);
    addOutputNames(tx, names);
  }
  for (const { members } of completed.values())
    for (const { bytes } of members) addOutputNames(decodeTransaction(bytes), names);
  return names;
}

function addOutputNames({ inputs }: Transaction, names: string[]): void {
  for (const { previousOut } of inputs) if (previousOut !== null) names.push(outPointKey(previousOut));
}

/** Milliseconds after which counting begins anew; what was counted before is kept once as long. */
const PERIOD_MS = 30 * 60_000;
/** Bytes that each transaction counts besides its own: its records, and the status that is kept of it. */
const BYTES_OF_RECORDS = 1_024;

/** Bytes that were sent in one period, by sender: trades, and whatever else was refused in the journal. */
interface Period {
  readonly trades: Budget;
  readonly refused: Budget;
}

type GiveBack = () => void;

/** Fate of a group on its way into the journal. `unknown`: it may be in a journal that does not answer. */
type Fate = 'admitted' | 'refused' | 'not written' | 'unknown';

export interface OpenTradesOptions {
  /** The most bytes of all open trades together. */
  readonly maxBytes: number;
}

export interface OpenTradesModules extends HasClock {
  readonly state: Pick<MempoolState, 'druidSet' | 'waitingDruids'>;
}

/**
 * Bounds on what trades may put into the journal before their result is known: all members of a set may come to
 * nothing, at no cost to the sender. Their bytes count until the set is in the pool, or for half an hour to an hour.
 * Together they have what halves have of the pool, and a sender leaves as much to others as it takes.
 */
export class OpenTrades {
  readonly #maxBytes: number;
  readonly #state: OpenTradesModules['state'];
  readonly #clock: Clock;
  #current = newPeriod();
  #last = newPeriod();
  #since: number;
  /** Charges for sets that wait for members, by their DRUID; some may wait no longer. */
  #charges = new Map<string, readonly GiveBack[]>();

  constructor({ maxBytes }: OpenTradesOptions, { state, clock }: OpenTradesModules) {
    this.#maxBytes = maxBytes;
    this.#state = state;
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /**
   * Counts a group that goes into the journal; `druids` are the DRUIDs of its incomplete sets. The result must be called
   * with the fate of the group. Throws `overloaded`, for groups with such sets only.
   */
  take(group: readonly CandidateTx[], druids: ReadonlySet<string>, sender: string): (fate: Fate) => void {
    this.#turnOver();
    if (druids.size === 0) {
      return (fate) => {
        if (fate === 'refused') this.#current.refused.add(sender, [weightOf(group)]);
      };
    }
    const weight = weightOf(group);
    // A sender leaves as much free for others as its trades and refused transactions take.
    const counted = [this.#current, this.#last].flatMap(({ trades, refused }) => [
      trades.taken,
      trades.of(sender),
      refused.of(sender),
    ]);
    const [all = 0] = counted.reduce((total, one) => sum(total, one), [2 * weight]);
    if (all > this.#maxBytes) {
      throw new TesseraError(
        'overloaded',
        'too many DRUID transactions that wait for the others of their sets, or were refused with them, came of late; submit whole sets together, or try again later',
      );
    }
    const { trades } = this.#current;
    const count = (some: readonly CandidateTx[]): GiveBack => trades.add(sender, [weightOf(some)]);
    const charges = [...druids].map((druid) => ({
      druid,
      giveBack: count(group.filter(({ tx }) => tx.druidInfo?.druid === druid)),
    }));
    const giveBackRest = count(group.filter(({ tx }) => tx.druidInfo === null || !druids.has(tx.druidInfo.druid)));
    return (fate) => {
      if (fate === 'unknown') return;
      if (fate !== 'refused') giveBackRest();
      for (const { druid, giveBack } of charges) {
        if (fate === 'not written') giveBack();
        else this.#settle(druid, giveBack, fate === 'refused');
      }
    };
  }

  #settle(druid: string, giveBack: GiveBack, isRefused: boolean): void {
    const all = [...(this.#charges.get(druid) ?? []), giveBack];
    if (this.#state.druidSet(druid) !== undefined) {
      // The halves that waited before a refused group go on waiting.
      if (!isRefused) this.#charges.set(druid, all);
    } else {
      this.#charges.delete(druid);
      if (!isRefused) for (const one of all) one();
    }
  }

  #turnOver(): void {
    const periods = Math.floor((this.#clock.monotonic() - this.#since) / PERIOD_MS);
    if (periods === 0) return;
    this.#last = periods === 1 ? this.#current : newPeriod();
    this.#current = newPeriod();
    this.#since += periods * PERIOD_MS;
    // Charges of sets that have expired meanwhile are dropped.
    for (const druid of this.#charges.keys())
      if (this.#state.druidSet(druid) === undefined) this.#charges.delete(druid);
  }
}

function newPeriod(): Period {
  return { trades: new Budget(), refused: new Budget() };
}

function weightOf(group: readonly CandidateTx[]): number {
  return group.reduce((sum, { bytes }) => sum + bytes.length + BYTES_OF_RECORDS, 0);
}
