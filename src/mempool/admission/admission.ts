/**
 * Admission of a transaction into the pool: `#admit` names each check of a list in its order, `#verdict` those of one
 * transaction by the state, and `JournalQueue.append` is the last. Conflicts are decided when the command is applied. A
 * list is admitted as a whole or not at all (decision V3). What a check costs is counted before it is spent.
 */

import { encodeTransaction } from '../../chain/codec.js';
import { type Era, OUR_ERA } from '../../chain/eras.js';
import { transactionHashOfBytes } from '../../chain/hash.js';
import { createdOutput, isCreate, isUnspendable, outPointKey, spentOutPoints } from '../../chain/transaction.js';
import type { OutPoint, Transaction, TxOut } from '../../chain/types.js';
import { INVALID_SCRIPT, planCreateValidation, planValidation } from '../../chain/validation.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import type { Verdict } from '../../lib/fault.js';
import { TimeSlices } from '../../lib/time-slices.js';
import type { CounterHandle, HistogramHandle } from '../../observability/metrics.js';
import { startTimer } from '../../observability/metrics.js';
import type { MempoolParts } from '../modules.js';
import type { CatchUp } from '../replicas/shared-journal.js';
import type { SubmittedTransaction } from '../service.js';
import type { CandidateTx, Refusal } from '../state/acceptance.js';
import { SPENT } from '../state/coins.js';
import type { RejectedTx } from '../state/state.js';
import {
  AncestorLimits,
  type AncestorLimitsOptions,
  candidateFault,
  SubmissionsUnderWay,
  type SubmittedList,
  VerificationBounds,
  waitingPlaces,
} from './checks.js';
import { JournalQueue, OpenTrades } from './journal-queue.js';
import { DRUID_SHARE, PoolBounds, type PoolBoundsOptions } from './pool-bounds.js';

const CHUNK_WEIGHT = 128;

const NONE: ReadonlySet<string> = new Set();

/** Refusals that depend on what is unspent. */
const BY_STATE: ReadonlySet<string> = new Set(['double_spend', 'unknown_input']);

export interface AdmissionOptions extends PoolBoundsOptions, AncestorLimitsOptions {
  /** The least raw units of a token output; 1 by default (decision B18). */
  readonly minOutputAmount?: bigint;
  /** See `Era.impersonation`. */
  readonly impersonation?: boolean;
}

export interface AdmissionModules
  extends Pick<MempoolParts, 'applier' | 'clock' | 'metrics' | 'room' | 'state' | 'statuses' | 'verifier'> {
  /** Brings this node up to the journal's end; present where other nodes write to the journal as well. */
  readonly catchUp?: CatchUp | undefined;
  /** True while original nodes make the blocks: a list that passes every check is then handed to `passOn`, which may refuse it. */
  readonly isFollowed?: () => boolean;
  readonly passOn?: ((transactions: readonly Transaction[]) => Promise<void>) | undefined;
  /** Throws while the state is behind the chain: nothing can be judged then. */
  readonly assertNotBehind: () => void;
  /** Called with each transaction that is refused. */
  readonly onRefused: (rejected: RejectedTx) => void;
}

interface Submission {
  readonly sender: string;
  readonly list: SubmittedList;
  /** Transactions of the list that spend what an earlier one of the list spends. */
  readonly rivals: ReadonlySet<string>;
}

export class Admission {
  readonly #modules: AdmissionModules;
  readonly #seconds: HistogramHandle;
  readonly #admitted: CounterHandle;
  readonly #known: CounterHandle;
  readonly #pool: PoolBounds;
  readonly #ancestors: AncestorLimits;
  readonly #journal: JournalQueue;
  readonly #underWay: SubmissionsUnderWay;
  readonly #minOutputAmount: bigint;
  readonly #era: Era;
  readonly #verifications = new VerificationBounds();
  readonly #slices: TimeSlices;

  constructor(options: AdmissionOptions, modules: AdmissionModules) {
    this.#modules = modules;
    this.#slices = new TimeSlices(modules.clock);
    this.#seconds = modules.metrics.histogram('tessera_mempool_admission_duration_seconds');
    this.#admitted = modules.metrics.counter('tessera_mempool_admissions_total', 'admitted');
    this.#known = modules.metrics.counter('tessera_mempool_admissions_total', 'known');
    this.#pool = new PoolBounds(options, modules.state);
    this.#ancestors = new AncestorLimits(options, modules.state);
    const places = waitingPlaces();
    this.#underWay = new SubmissionsUnderWay({ coins: modules.state.coins, places });
    const trades = new OpenTrades({ maxBytes: options.maxBytes / DRUID_SHARE }, modules);
    this.#journal = new JournalQueue({ ...modules, trades, places });
    this.#minOutputAmount = options.minOutputAmount ?? 1n;
    this.#era = { ...OUR_ERA, impersonation: options.impersonation ?? false };
  }

  /** See `MempoolService.submit`. */
  async submit(transactions: readonly Transaction[], sender = ''): Promise<readonly SubmittedTransaction[]> {
    const stopTimer = startTimer(this.#seconds, this.#modules.clock);
    try {
      this.#modules.assertNotBehind();
      this.#modules.room.check();
      const candidates = await this.#candidatesOf(transactions, sender);
      const fresh = await this.#admit(candidates, sender);
      if (fresh.length > 0) this.#admitted.inc(fresh.length);
      if (candidates.length > fresh.length) this.#known.inc(candidates.length - fresh.length);
      return candidates.map(({ hash, tx }) => ({ hash, transaction: tx }));
    } catch (error) {
      const code = isTesseraError(error) ? error.code : 'internal_error';
      this.#modules.metrics.counter('tessera_mempool_admissions_total', code).inc();
      throw error;
    } finally {
      stopTimer();
    }
  }

  async #candidatesOf(transactions: readonly Transaction[], sender: string): Promise<readonly CandidateTx[]> {
    const candidates: CandidateTx[] = [];
    for (const chunk of chunksOf(transactions, weightOf)) {
      if (this.#slices.isUsedUp) await this.#slices.turn(sender);
      for (const tx of chunk) {
        const bytes = encodeTransaction(tx);
        candidates.push({ hash: transactionHashOfBytes(bytes), bytes, tx });
      }
    }
    return candidates;
  }

  /** Checks a list, writes those of it that are not admitted yet, and returns them. The first check that fails refuses the list. */
  async #admit(candidates: readonly CandidateTx[], sender: string): Promise<readonly CandidateTx[]> {
    // Parents of these transactions may still be under way.
    const entered = this.#underWay.enter(candidates, sender);
    const leave = typeof entered === 'function' ? entered : await entered;
    try {
      const unknown = candidates.filter(({ hash }) => !this.#modules.statuses.isAdmittedInMemory(hash));
      for (const candidate of unknown) this.#refuseFor(candidate, candidateFault(candidate, this.#minOutputAmount));
      const verified = this.#verifications.reserve(unknown, sender);
      let fresh: readonly CandidateTx[];
      try {
        fresh = await this.#judge(unknown, sender);
      } finally {
        verified();
      }
      if (fresh.length === 0) return fresh;
      const arrived = this.#pool.reserve(fresh, sender);
      try {
        if (this.#modules.isFollowed?.()) await this.#passOn(fresh.map(({ tx }) => tx));
        await this.#write(fresh, sender);
      } finally {
        arrived();
      }
      return fresh;
    } finally {
      leave();
    }
  }

  /** The members that pass every check by the state and its scripts; known ones are left out. Throws for the first that fails. */
  async #judge(unknown: readonly CandidateTx[], sender: string): Promise<readonly CandidateTx[]> {
    const { coins } = this.#modules.state;
    const list = new Map(unknown.map((candidate) => [candidate.hash, candidate]));
    const submission = { sender, list, rivals: rivalsIn(list) };
    const fresh: CandidateTx[] = [];
    for (const chunk of chunksOf(unknown, ({ tx }) => weightOf(tx))) {
      if (this.#slices.isUsedUp) await this.#slices.turn(sender);
      const { adoptions } = this.#modules.state;
      coins.approach(chunk.map(({ tx }) => tx));
      const verdict = (candidate: CandidateTx) => this.#verdictOfAll(candidate, submission);
      const [only] = chunk.length === 1 ? chunk : [];
      const verdicts = only === undefined ? await Promise.all(chunk.map(verdict)) : [await verdict(only)];
      for (const [i, candidate] of chunk.entries()) {
        const wrong = verdicts[i] ?? null;
        if (wrong === null) fresh.push(candidate);
        else if (wrong !== 'known' && !(await this.#modules.statuses.isAdmitted(candidate.hash))) {
          this.#assertSettled(adoptions);
          this.#refuseFor(candidate, wrong);
        }
      }
    }
    return fresh;
  }

  /** Verdict on a candidate. A refusal by the state as it is here is judged again when more is in the journal. */
  #verdictOfAll(candidate: CandidateTx, submission: Submission): Promise<Verdict | 'known'> {
    const catchUp = this.#modules.catchUp;
    const { seq } = this.#modules.state;
    const verdict = this.#verdict(candidate, submission);
    if (catchUp === undefined) return verdict;
    return verdict.then(async (first) => {
      const isByState = first !== null && first !== 'known' && BY_STATE.has(first.code);
      return isByState && (await catchUp.isNewer(seq)) ? this.#verdict(candidate, submission) : first;
    });
  }

  /** The verdict of the rules that need no journal; the scripts last, off the event loop. */
  async #verdict({ hash, tx }: CandidateTx, { sender, list, rivals }: Submission): Promise<Verdict | 'known'> {
    // The transaction may have been admitted while the chunks before it were checked; a creation that is in a block has no inputs that
    // would show it.
    if (this.#modules.statuses.isAdmittedInMemory(hash)) return 'known';
    if (isCreate(tx) && (await this.#modules.statuses.isAdmitted(hash))) return 'known';
    if (tx.druidInfo === null && this.#spendsClaimed(tx)) return SPENT;
    // A double spend is refused before signatures are verified: one signature may stand in every version of a payment.
    const visible = (outPoint: OutPoint): boolean => this.#visibleOutput(outPoint, list) !== undefined;
    if (rivals.has(hash) && spentOutPoints(tx).every(visible)) return SPENT;
    const tooMany = this.#ancestors.fault(tx, list);
    if (tooMany !== null) return tooMany;
    const plan = isCreate(tx)
      ? planCreateValidation(tx)
      : planValidation(tx, this.#currentBlock(), (outPoint) => this.#visibleOutput(outPoint, list), this.#era);
    if (plan.fault !== null && plan.checks.length === 0) return plan.fault;
    return (await this.#modules.verifier.verify(plan.checks, sender)) ? plan.fault : INVALID_SCRIPT;
  }

  /** Output that is unspent, waits, or is created by the same list. Whether the order is right shows when the command is applied. */
  #visibleOutput(outPoint: OutPoint, list: SubmittedList): TxOut | undefined {
    const out = this.#modules.state.coins.find(outPoint) ?? outputOf(list.get(outPoint.tHash), outPoint);
    return out === undefined || out.locktime > this.#currentBlock() ? undefined : out;
  }

  /** Number of the last stored block, which locktimes are compared with. */
  #currentBlock(): bigint {
    return BigInt(Math.max(0, this.#modules.state.head.height));
  }

  #spendsClaimed({ inputs }: Transaction): boolean {
    const { coins } = this.#modules.state;
    return inputs.some(({ previousOut }) => previousOut !== null && coins.isClaimed(previousOut));
  }

  async #passOn(transactions: readonly Transaction[]): Promise<void> {
    const { passOn } = this.#modules;
    const message =
      'original nodes make the blocks of this chain, and mempool.pass_on names none of their mempool nodes';
    if (passOn === undefined) throw new TesseraError('mempool_unreachable', message);
    await passOn(transactions);
  }

  async #write(fresh: readonly CandidateTx[], sender: string): Promise<void> {
    let rest = fresh;
    while (rest.length > 0) {
      const { adoptions } = this.#modules.state;
      const refusal = await this.#journal.append(rest, sender);
      if (refusal === null) return;
      // The refused transaction may have been admitted, and mined, between the checks and the command; then the others are tried again.
      if (!(await this.#modules.statuses.isAdmitted(refusal.hash))) {
        this.#assertSettled(adoptions);
        for (const other of refusal.others) this.#note(other);
        this.#refuse(refusal);
      }
      rest = rest.filter(({ hash }) => hash !== refusal.hash);
    }
  }

  /** Throws while a block of storage is taken in, or the pool is put in order: a missing output may be there afterwards. */
  #assertSettled(adoptions: number): void {
    const now = this.#modules.state.adoptions;
    if (now === adoptions && now % 2 === 0) return;
    throw new TesseraError(
      'mempool_unreachable',
      'a block of storage is taken in, or the pool is put in order; try again',
    );
  }

  #refuseFor({ hash }: CandidateTx, fault: Verdict): void {
    if (fault !== null) this.#refuse({ hash, fault });
  }

  #refuse(refusal: Refusal): never {
    const {
      hash,
      fault: { code, message },
    } = refusal;
    // A transaction that is only too early, or one of too many, gets no status.
    if (code !== 'too_many_ancestors' && code !== 'invalid_request') this.#note(refusal);
    throw new TesseraError(code, `transaction ${hash} is refused: ${message}`, { details: { hash, rule: message } });
  }

  #note({ hash, fault: { message } }: Refusal): void {
    this.#modules.statuses.refuse(hash, message);
    this.#modules.onRefused({ hash, rule: message });
  }
}

function outputOf(candidate: CandidateTx | undefined, { n }: OutPoint): TxOut | undefined {
  if (candidate === undefined) return undefined;
  const txOut = createdOutput(candidate.tx, n);
  return txOut === undefined || isUnspendable(txOut) ? undefined : txOut;
}

/** Hashes of transactions that spend what an earlier one of the list spends. Halves of trades are left out: they claim nothing yet. */
function rivalsIn(list: SubmittedList): ReadonlySet<string> {
  // A transaction that is its own rival was refused by its form.
  if (list.size <= 1) return NONE;
  const spent = new Set<string>();
  const rivals = new Set<string>();
  for (const { hash, tx } of list.values()) {
    if (tx.druidInfo !== null) continue;
    for (const key of spentOutPoints(tx).map(outPointKey)) {
      if (spent.has(key)) rivals.add(hash);
      spent.add(key);
    }
  }
  return rivals;
}

function weightOf({ inputs }: Transaction): number {
  return 1 + inputs.length;
}

function chunksOf<T>(list: readonly T[], weightOfOne: (one: T) => number): readonly (readonly T[])[] {
  const chunks: T[][] = [];
  let weight = Number.POSITIVE_INFINITY;
  for (const one of list) {
    const added = weightOfOne(one);
    if (weight + added > CHUNK_WEIGHT) {
      chunks.push([]);
      weight = 0;
    }
    weight += added;
    chunks.at(-1)?.push(one);
  }
  return chunks;
}
