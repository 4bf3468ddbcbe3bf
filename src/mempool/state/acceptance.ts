/**
 * Decides which transactions enter the pool when a command is applied, by what is unspent and not yet claimed. A group is accepted as a whole or not
 * at all; a transaction with a DRUID waits for its set, which enters as one unit (docs/chain.md#druid-sets).
 */

import { decodeTransaction } from '../../chain/codec.js';
import { druidSetFault } from '../../chain/druid.js';
import { transactionHashOfBytes } from '../../chain/hash.js';
import { transactionSignatureOperations } from '../../chain/signature-operations.js';
import { hasDuplicateInputs, isCreate } from '../../chain/transaction.js';
import type { Transaction } from '../../chain/types.js';
import { DUPLICATE_INPUTS } from '../../chain/validation.js';
import type { KvBatch } from '../../db/kv.js';
import { submittedFormFault } from '../../ledger/block/rules.js';
import { type Fault, fault, type Verdict } from '../../lib/fault.js';
import type { Pieces } from '../../lib/pieces.js';
import type { TxStatus } from '../service.js';
import { type Coins, TrialCoins } from './coins.js';
import type { FinalStatuses } from './final-statuses.js';
import { keys } from './layout.js';
import type { DruidPool, DruidSet, Pool, PooledTx } from './pool.js';
import { viewPooled } from './records.js';

/** A transaction with what is derived from it, so that nothing is decoded or hashed twice. */
export interface CandidateTx {
  readonly hash: string;
  readonly bytes: Uint8Array;
  readonly tx: Transaction;
}

/** Why a group was not accepted. */
export interface Refusal {
  readonly hash: string;
  readonly fault: Fault;
}

/** Why a group was refused; null when it was accepted, or was known already. */
export type GroupOutcome = Refusal | null;

/** Verdict on a group if its command were applied now. */
export interface Outlook {
  readonly refusal: GroupOutcome;
  /** Other members of a DRUID set that came whole and is refused, each with the reason. */
  readonly others: readonly Refusal[];
  /** True when the whole group waits already, or is in the block being made. */
  readonly isKnown: boolean;
  /** DRUIDs of the sets that the group leaves incomplete: their fate is decided in the journal, for all their members. */
  readonly openDruids: ReadonlySet<string>;
}

export const KNOWN = fault('double_spend', 'A transaction with this hash is in the chain already');
const TOO_MANY_MEMBERS = fault('transaction_rejected', 'More transactions than participants under one DRUID');
export const SET_EXPIRED = fault(
  'transaction_rejected',
  'The other transactions of the DRUID set did not come in time',
);

const NO_DRUIDS: ReadonlySet<string> = new Set();

/** Parts of the rest of the state that the acceptance needs. */
export interface AcceptanceChain {
  height(): number;
  /** True for a transaction in the pool, in a block being made, or waiting under a DRUID. */
  isPending(hash: string): boolean;
  nextArrival(): number;
}

export interface AcceptanceModules {
  readonly chain: AcceptanceChain;
  readonly coins: Coins;
  readonly pool: Pool;
  readonly druids: DruidPool;
  readonly statuses: FinalStatuses;
}

/** What a command brings along for its groups. */
export interface AcceptanceContext {
  /** Unix seconds of the command. */
  readonly time: number;
  /** True for a transaction in the chain that may not come again. */
  readonly isInChain: (hash: string) => boolean;
  readonly batch: KvBatch;
}

interface DruidPlan {
  readonly druid: string;
  readonly participants: bigint;
  readonly candidates: CandidateTx[];
  readonly waiting: readonly PooledTx[];
}

/** A piece of a group that is judged by itself: a single transaction, or the members of one DRUID. */
interface Step {
  readonly candidates: readonly CandidateTx[];
  /** Plan of a DRUID set; null for a single transaction. */
  readonly plan: DruidPlan | null;
}

interface SetFault {
  readonly fault: Fault;
  readonly culprit?: string;
}

/** Transactions that are accepted in one piece, which takes a millisecond or two. */
const PIECE_TRANSACTIONS = 64;

export class Acceptance {
  readonly #chain: AcceptanceChain;
  readonly #coins: Coins;
  readonly #pool: Pool;
  readonly #druids: DruidPool;
  readonly #statuses: FinalStatuses;

  constructor({ chain, coins, pool, druids, statuses }: AcceptanceModules) {
    this.#chain = chain;
    this.#coins = coins;
    this.#pool = pool;
    this.#druids = druids;
    this.#statuses = statuses;
  }

  /** Coins that tell what a claim would give, and change nothing. */
  readonly #lookedAt: Pick<Coins, 'claim' | 'offer'> = {
    claim: (tx) => this.#coins.claimsFault(tx),
    offer: () => undefined,
  };

  /** Accepts groups one after the other, some in each piece; no group is divided. */
  *accept(groups: readonly (readonly CandidateTx[])[], context: AcceptanceContext): Pieces<GroupOutcome[]> {
    const outcomes: GroupOutcome[] = [];
    while (outcomes.length < groups.length) {
      yield;
      const candidates: CandidateTx[] = [];
      let next = outcomes.length;
      while (next < groups.length && candidates.length < PIECE_TRANSACTIONS) candidates.push(...(groups[next++] ?? []));
      this.#coins.approach(candidates.map(({ tx }) => tx));
      for (const group of groups.slice(outcomes.length, next)) outcomes.push(this.#acceptGroup(group, context));
    }
    return outcomes;
  }

  #acceptGroup(group: readonly CandidateTx[], context: AcceptanceContext): GroupOutcome {
    const candidates = this.#unknown(group);
    for (const candidate of candidates) {
      const wrong = knownFault(candidate, context);
      if (wrong !== null) return { hash: candidate.hash, fault: wrong };
    }
    const steps = this.#steps(candidates);
    const entered: CandidateTx[] = [];
    for (const step of steps) {
      const wrong = this.#enter(step, entered);
      if (wrong === null) continue;
      for (const { hash, tx } of entered) {
        this.#coins.release(tx);
        this.#coins.withdraw(hash, tx);
      }
      return this.#refuse(step, wrong, context);
    }
    for (const step of steps) this.#keep(step, context);
    return null;
  }

  /** Verdict that `accept` would give now, as far as nothing depends on sets that are not whole. Changes nothing. */
  outlook(group: readonly CandidateTx[]): Outlook {
    const candidates = this.#unknown(group);
    const steps = this.#steps(candidates);
    const isOpen = ({ plan }: Step): boolean => plan !== null && (plan.waiting.length > 0 || isIncomplete(plan));
    const open = steps.filter(isOpen);
    const openDruids = open.length === 0 ? NO_DRUIDS : new Set(open.map(({ plan }) => plan?.druid ?? ''));
    // Behind a single transaction there is no other that could spend from it or conflict with it.
    const coins = steps.length === 1 && steps[0]?.plan === null ? this.#lookedAt : new TrialCoins(this.#coins);
    for (const step of steps) {
      // Later transactions may spend from the set that this step completes.
      if (step.plan !== null && step.plan.waiting.length > 0) break;
      const wrong = this.#enter(step, [], coins);
      if (wrong === null) continue;
      const [refusal = null, ...others] = step.candidates.map(({ hash }) => ({ hash, fault: faultFor(hash, wrong) }));
      return { refusal, others, isKnown: false, openDruids };
    }
    return { refusal: null, others: [], isKnown: candidates.length === 0, openDruids };
  }

  /** Removes a waiting set; its members are Rejected with the rule (decisions B13, B15). */
  rejectSet(set: DruidSet, rule: Fault, time: number, batch: KvBatch): void {
    this.#statuses.decide(this.#takeOut(set, { fault: rule }, batch), time, batch);
  }

  /** Removes sets whose first member came at or before block `height`: they have waited too long (decision B13). */
  *expire(height: number, time: number, batch: KvBatch): Pieces<void> {
    for (const set of this.#druids.olderThan(height)) {
      yield;
      this.rejectSet(set, SET_EXPIRED, time, batch);
    }
  }

  /** Candidates that are not waiting yet, each once. */
  #unknown(group: readonly CandidateTx[]): readonly CandidateTx[] {
    const [first] = group;
    if (group.length === 1 && first !== undefined) return this.#chain.isPending(first.hash) ? [] : group;
    const unknown = new Map<string, CandidateTx>();
    for (const candidate of group) if (!this.#chain.isPending(candidate.hash)) unknown.set(candidate.hash, candidate);
    return [...unknown.values()];
  }

  /** The pieces of a group, in the order of their last members. */
  #steps(candidates: readonly CandidateTx[]): readonly Step[] {
    const singles = candidates
      .filter(({ tx }) => tx.druidInfo === null)
      .map((candidate): Step => ({ candidates: [candidate], plan: null }));
    if (singles.length === candidates.length) return singles;
    const sets = this.#druidPlans(candidates).map((plan): Step => ({ candidates: plan.candidates, plan }));
    const places = new Map(candidates.map(({ hash }, i) => [hash, i]));
    const place = (step: Step): number => places.get(step.candidates.at(-1)?.hash ?? '') ?? 0;
    return [...singles, ...sets].sort((a, b) => place(a) - place(b));
  }

  /** Claims what a piece of a group spends and offers what it makes; members that have done so are in `entered`, whatever the verdict. */
  #enter(
    { candidates, plan }: Step,
    entered: CandidateTx[],
    coins: Pick<Coins, 'claim' | 'offer'> = this.#coins,
  ): SetFault | null {
    if (plan !== null && isIncomplete(plan)) return null;
    const members = plan === null ? candidates : [...plan.waiting.map(toCandidate), ...candidates];
    const unfair = plan === null ? null : setFault(plan, members);
    if (unfair !== null) return { fault: unfair };
    for (const member of members) {
      const wrong = coins.claim(member.tx);
      if (wrong !== null) return { fault: wrong, culprit: member.hash };
      coins.offer(member.hash, member.tx);
      entered.push(member);
    }
    return null;
  }

  /** Refuses a piece. A complete set is Rejected as a whole: members that waited and members of this group. */
  #refuse({ candidates, plan }: Step, wrong: SetFault, context: AcceptanceContext): Refusal {
    const posted = candidates[0]?.hash ?? '';
    if (plan !== null && membersOf(plan) === plan.participants) this.#rejectPlan(plan, wrong, context);
    return { hash: posted, fault: faultFor(posted, wrong) };
  }

  #keep({ candidates, plan }: Step, context: AcceptanceContext): void {
    if (plan === null) for (const candidate of candidates) this.#store(candidate, context.time, 0, context.batch);
    else if (isIncomplete(plan)) this.#wait(plan, context);
    else this.#storeSet(plan, context);
  }

  /** One plan for each DRUID of a group, in the order of its first member. */
  #druidPlans(candidates: readonly CandidateTx[]): DruidPlan[] {
    const plans = new Map<string, DruidPlan>();
    for (const candidate of candidates) {
      const info = candidate.tx.druidInfo;
      if (info === null) continue;
      const waiting = this.#druids.set(info.druid);
      const plan = plans.get(info.druid) ?? {
        druid: info.druid,
        participants: waiting?.participants ?? info.participants,
        candidates: [],
        waiting: waiting?.members ?? [],
      };
      plan.candidates.push(candidate);
      plans.set(info.druid, plan);
    }
    return [...plans.values()];
  }

  /** Rejects a complete set: members that waited and members of this group. */
  #rejectPlan(plan: DruidPlan, wrong: SetFault, { time, batch }: AcceptanceContext): void {
    const waiting = this.#druids.set(plan.druid);
    const rejected = new Map(waiting === undefined ? [] : this.#takeOut(waiting, wrong, batch));
    for (const [i, { hash }] of plan.candidates.entries()) {
      const { message } = faultFor(hash, wrong);
      rejected.set(hash, { status: 'Rejected', timestamp: time, additionalInfo: message });
      // The caller is told of the first member, and makes the event of its refusal.
      if (i > 0) this.#statuses.noteRejected(hash, message);
    }
    this.#statuses.decide(rejected, time, batch);
  }

  #takeOut(set: DruidSet, wrong: SetFault, batch: KvBatch): ReadonlyMap<string, TxStatus> {
    this.#druids.remove(set.druid);
    const rejected = new Map<string, TxStatus>();
    for (const { hash, arrival, time } of set.members) {
      const { message } = faultFor(hash, wrong);
      batch.del(keys.waiting(arrival));
      rejected.set(hash, { status: 'Rejected', timestamp: time, additionalInfo: message });
      this.#statuses.noteRejected(hash, message);
    }
    return rejected;
  }

  #storeSet(plan: DruidPlan, { time, batch }: AcceptanceContext): void {
    const members = [...plan.waiting.map(toCandidate), ...plan.candidates];
    const waited = new Map(plan.waiting.map((tx) => [tx.hash, tx]));
    for (const tx of plan.waiting) batch.del(keys.waiting(tx.arrival));
    this.#druids.remove(plan.druid);
    const unit = this.#chain.nextArrival();
    for (const member of members) {
      const before = waited.get(member.hash);
      this.#store(member, before?.time ?? time, unit, batch, before?.arrival);
    }
  }

  #store(candidate: CandidateTx, time: number, unit: number, batch: KvBatch, waitedAs?: number): void {
    const pooled = this.#pooled(candidate, time, unit);
    const tx = waitedAs === undefined ? pooled : { ...pooled, waitedAs };
    this.#pool.add(tx, candidate.tx);
    batch.put(keys.pooled(tx.arrival), viewPooled(tx));
  }

  #wait({ druid, participants, candidates }: DruidPlan, { time, batch }: AcceptanceContext): void {
    for (const candidate of candidates) {
      const tx = this.#pooled(candidate, time, 0);
      this.#druids.add({ druid, participants }, tx, candidate.tx);
      batch.put(keys.waiting(tx.arrival), viewPooled(tx));
    }
  }

  #pooled({ hash, bytes, tx }: CandidateTx, time: number, unit: number): PooledTx {
    const operations = transactionSignatureOperations(tx);
    const fault = submittedFormFault(tx, bytes.length);
    return {
      hash,
      bytes,
      arrival: this.#chain.nextArrival(),
      time,
      unit,
      operations,
      fault,
      height: this.#chain.height(),
    };
  }
}

/** Fault of a transaction by itself, whatever is unspent. */
function knownFault({ tx, hash }: CandidateTx, { isInChain }: AcceptanceContext): Verdict {
  if (hasDuplicateInputs(tx)) return DUPLICATE_INPUTS;
  return isInChain(hash) && (tx.druidInfo === null || !isCreate(tx)) ? KNOWN : null;
}

function membersOf({ waiting, candidates }: DruidPlan): bigint {
  return BigInt(waiting.length + candidates.length);
}

function isIncomplete(plan: DruidPlan): boolean {
  return membersOf(plan) < plan.participants;
}

/** Fault of a set whatever is unspent (docs/chain.md#druid-sets). */
function setFault(plan: DruidPlan, members: readonly CandidateTx[]): Verdict {
  if (membersOf(plan) > plan.participants) return TOO_MANY_MEMBERS;
  return druidSetFault(
    plan.druid,
    members.map(({ tx }) => tx),
  );
}

/** The fault of a set as told of one of its members; all but the culprit learn the culprit. */
export function faultFor(hash: string, { fault: wrong, culprit }: SetFault): Fault {
  if (culprit === undefined || culprit === hash) return wrong;
  return fault(wrong.code, `${wrong.message} (in transaction ${culprit} of the DRUID set)`);
}

function toCandidate({ hash, bytes }: PooledTx): CandidateTx {
  return { hash, bytes, tx: decodeTransaction(bytes) };
}

/** A transaction from its bytes. */
export function readCandidate(bytes: Uint8Array): CandidateTx {
  return { hash: transactionHashOfBytes(bytes), bytes, tx: decodeTransaction(bytes) };
}
