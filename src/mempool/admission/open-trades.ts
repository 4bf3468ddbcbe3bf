/**
 * What trades may put into the journal before anybody knows what comes of them. Members of a DRUID set that do not come
 * together are judged when the last one is applied, and all of them may come to nothing, at no cost to who sent them. So their
 * bytes count from the moment they go into the journal: until their set is in the pool, or for half an hour to an hour. Together
 * they have what halves have of the pool, and who sends them leaves as much to others as it takes.
 */

import { Budget, sum } from '../../lib/budget.js';
import type { Clock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import type { CandidateTx } from '../state/acceptance.js';
import type { MempoolState } from '../state/state.js';

/** Milliseconds after which counting begins anew; what was counted before is kept once as long. */
const PERIOD_MS = 30 * 60_000;
/** What each transaction counts besides its bytes: its records, and the status that is kept of it. */
const BYTES_OF_RECORDS = 1_024;

/** What was sent in one period, by sender: trades, and whatever else was refused in the journal. */
interface Period {
  readonly trades: Budget;
  readonly refused: Budget;
}

type GiveBack = () => void;

/**
 * What became of a group on its way into the journal. What is not written costs nobody anything; what may be in a journal that
 * does not answer counts like halves that wait.
 */
type Fate = 'admitted' | 'refused' | 'not written' | 'unknown';

export interface OpenTradesOptions {
  /** Of all of them together. */
  readonly maxBytes: number;
}

export interface OpenTradesModules {
  readonly state: Pick<MempoolState, 'druidSet' | 'waitingDruids'>;
  readonly clock: Clock;
}

export class OpenTrades {
  readonly #maxBytes: number;
  readonly #state: OpenTradesModules['state'];
  readonly #clock: Clock;
  #current = newPeriod();
  #last = newPeriod();
  #since: number;
  /** What counts for sets that wait for members, by their DRUID; some may wait no longer. */
  #charges = new Map<string, readonly GiveBack[]>();

  constructor({ maxBytes }: OpenTradesOptions, { state, clock }: OpenTradesModules) {
    this.#maxBytes = maxBytes;
    this.#state = state;
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /**
   * Counts a group that goes into the journal; `druids` are those of its sets that it does not bring whole. The result must be
   * called with what became of the group. Throws `overloaded`, for groups with such sets only: whatever else was refused in the
   * journal counts for its sender, and takes nothing from others.
   */
  take(group: readonly CandidateTx[], druids: ReadonlySet<string>, sender: string): (fate: Fate) => void {
    this.#turnOver();
    if (druids.size === 0) {
      return (fate) => {
        if (fate === 'refused') this.#current.refused.add(sender, [weightOf(group)]);
      };
    }
    const weight = weightOf(group);
    // It leaves as much to others as it has with these.
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
      // Of a group that was refused, those that waited before it wait on.
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
    // Sets that have expired meanwhile.
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
