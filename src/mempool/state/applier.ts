/**
 * Between the journal and the state: appends commands, applies what the journal delivers, in its order, and tells whoever
 * appended a command what came of it. A command is answered when it is durable in the journal and applied; the batch that
 * keeps the state need not be synced, since a start applies again what the journal has beyond it (architecture §3.2).
 */

import { decodeTransaction } from '../../chain/codec.js';
import { transactionHashOfBytes } from '../../chain/hash.js';
import { isCreate } from '../../chain/transaction.js';
import type { Unicorn } from '../../chain/unicorn.js';
import type { KvBatch } from '../../db/kv.js';
import type { Journal, JournalEntry, Subscription } from '../../journal/journal.js';
import { createDeferred, type Deferred } from '../../lib/deferred.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import { createSignal, type Signal } from '../../lib/signal.js';
import type { MempoolObserver, MempoolProgress } from '../observer.js';
import type { CandidateTx, GroupOutcome } from './admit.js';
import { type Command, decodeCommand, encodeCommand } from './commands.js';
import { keys } from './layout.js';
import type { Round } from './round.js';
import type { MempoolState, RejectedTx } from './state.js';
import type { StateStore } from './state-store.js';

/** Blocks between two compactions of the journal. */
const COMPACT_EVERY = 64;
/** Commands that the journal keeps behind the state when it is compacted. */
const KEEP_COMMANDS = 10_000;

/** From the command that the state stood at when it was read, to the journal's head at that time. */
interface Replay {
  readonly from: number;
  readonly seq: number;
  readonly done: Deferred<void>;
}

interface Outcomes {
  readonly transactions: readonly GroupOutcome[];
  readonly 'cut-block': Round | null;
  readonly proof: boolean;
  readonly 'close-block': Round | null;
  readonly 'block-stored': Round | null;
}

export type CommandOutcome<K extends Command['kind']> = Outcomes[K];

export interface Applier {
  /** Applies everything that is durable already; resolves when the state stands at the journal's head. */
  start(): Promise<void>;
  /** Appends and applies. `candidates` spares decoding what the caller has decoded. */
  submit<K extends Command['kind']>(
    command: Extract<Command, { kind: K }>,
    candidates?: readonly (readonly CandidateTx[])[],
  ): Promise<CommandOutcome<K>>;
  /** After each batch of commands that changed the state. */
  readonly applied: Signal<void>;
  /** Hashes of transactions that entered the pool. */
  readonly admitted: Signal<readonly string[]>;
  /** A transaction that waited for others and was taken out by a rule. */
  readonly rejected: Signal<RejectedTx>;
  /** Each block that storage has confirmed, in order. */
  readonly confirmed: Signal<Round>;
  /** Rejects when the state can no longer be trusted; the node must stop. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}

export interface ApplierModules {
  readonly journal: Journal;
  readonly store: StateStore;
  readonly state: MempoolState;
  /** Computes the unicorn of a seed; slow for production parameters, so it may run elsewhere. */
  readonly unicorn: (seed: bigint) => Promise<Unicorn> | Unicorn;
  readonly observer?: MempoolObserver | undefined;
  readonly progress?: MempoolProgress | undefined;
}

export function createApplier({ journal, store, state, unicorn, observer, progress }: ApplierModules): Applier {
  const applied = createSignal<void>();
  const admitted = createSignal<readonly string[]>();
  const rejected = createSignal<RejectedTx>();
  const confirmed = createSignal<Round>();
  const failure = createDeferred<never>();
  failure.promise.catch(() => undefined);
  const known = new WeakMap<Uint8Array, readonly (readonly CandidateTx[])[]>();
  /** Outcomes of commands applied while somebody waits for one. */
  const outcomes = new Map<number, unknown>();
  const waiters = new Map<number, Deferred<unknown>>();
  let appending = 0;
  let reached: Replay | undefined;
  let subscription: Subscription | undefined;
  let entered = new Set<string>();
  let broken: unknown;

  async function deliver(entries: readonly JournalEntry[]): Promise<void> {
    let batch = store.batch();
    const done: { seq: number; outcome: unknown }[] = [];
    const stored: Round[] = [];
    for (const entry of entries) {
      const command = decodeCommand(entry.payload);
      const outcome = await apply(command, entry.payload, batch);
      done.push({ seq: entry.seq, outcome });
      if (command.kind !== 'block-stored') continue;
      // What is looked up on disk while applying must be there before the next command.
      await write(batch, entry.seq);
      batch = store.batch();
      if (outcome !== null) stored.push(outcome as Round);
    }
    const last = entries.at(-1)?.seq ?? state.seq;
    if (batch.size > 0 || state.seq !== last) await write(batch, last);
    for (const { seq, outcome } of done) settle(seq, outcome);
    tell();
    for (const round of stored) confirmed.emit(round);
    applied.emit();
    if (reached !== undefined) replayedTo(last, reached);
    if (stored.some((round) => round.height % COMPACT_EVERY === 0)) await compact();
  }

  async function apply(command: Command, payload: Uint8Array, batch: KvBatch): Promise<unknown> {
    switch (command.kind) {
      case 'transactions': {
        const groups = known.get(payload) ?? command.groups.map((group) => group.map(toCandidate));
        const outcomes = state.admit(groups, command.time, await knownCreates(groups), batch);
        for (const [i, group] of groups.entries()) {
          if (outcomes[i] === null) for (const { hash } of group) entered.add(hash);
        }
        return outcomes;
      }
      case 'cut-block': {
        const plan = state.planCut();
        if (plan === null) return null;
        return state.cutBlock(command, plan, await unicorn(plan.seed), batch);
      }
      case 'proof':
        return state.addProof(command, batch);
      case 'close-block':
        return state.closeBlock(command, batch);
      case 'block-stored': {
        const done = observer?.applyingBlock();
        const round = state.blockStored(command, batch);
        done?.();
        return round;
      }
    }
  }

  /** Tells of the transactions that the last commands let in and took out. */
  function tell(): void {
    if (entered.size > 0) {
      admitted.emit([...entered]);
      entered = new Set();
    }
    for (const one of state.takeRejected()) rejected.emit(one);
  }

  function replayedTo(last: number, replay: Replay): void {
    if (last < replay.seq) progress?.replaying(last - replay.from, replay.seq - replay.from);
    else replay.done.resolve();
  }

  async function knownCreates(groups: readonly (readonly CandidateTx[])[]): Promise<(hash: string) => boolean> {
    const creates = groups.flat().filter(({ tx }) => isCreate(tx));
    if (creates.length === 0) return () => false;
    const found = await store.getMany(creates.map(({ hash }) => keys.create(hash)));
    const hashes = new Set(creates.filter((_, i) => found[i] !== undefined).map(({ hash }) => hash));
    return (hash) => hashes.has(hash);
  }

  async function write(batch: KvBatch, seq: number, sync = false): Promise<void> {
    state.seal(seq, batch);
    await store.write(batch, { sync });
    state.written();
  }

  /** Makes the state durable by itself and lets the journal forget what is far behind it. */
  async function compact(): Promise<void> {
    await write(store.batch(), state.seq, true);
    if (state.seq > KEEP_COMMANDS) await journal.compact(state.seq - KEEP_COMMANDS);
  }

  function settle(seq: number, outcome: unknown): void {
    const waiter = waiters.get(seq);
    waiters.delete(seq);
    if (waiter !== undefined) waiter.resolve(outcome);
    else if (appending > 0) outcomes.set(seq, outcome);
  }

  /** Nothing is applied any more; whoever waits for an outcome is told why. */
  function end(error: unknown): void {
    broken = error;
    for (const waiter of waiters.values()) waiter.reject(error);
    waiters.clear();
    reached?.done.reject(error);
  }

  function fail(error: unknown): void {
    end(error);
    failure.reject(error);
  }

  /** A journal that cannot write will never write again: without it nothing can be promised, so the node must stop. */
  async function append(payload: Uint8Array): Promise<number> {
    try {
      return await journal.append(payload);
    } catch (error) {
      if (!isTesseraError(error, 'overloaded') && !isTesseraError(error, 'shutting_down')) fail(error);
      throw error;
    }
  }

  return {
    applied,
    admitted,
    rejected,
    confirmed,
    failed: failure.promise,
    async start() {
      if (state.seq > journal.head) {
        throw new TesseraError(
          'data_corrupt',
          `the journal ends at command ${journal.head}, but the mempool's state stands behind command ${state.seq}`,
        );
      }
      const done = createDeferred<void>();
      reached = { from: state.seq, seq: journal.head, done };
      if (journal.head === state.seq) done.resolve();
      subscription = journal.subscribe(state.seq + 1, deliver, fail);
      await done.promise;
    },
    async submit(command, candidates) {
      if (broken !== undefined) throw broken;
      const payload = encodeCommand(command);
      if (candidates !== undefined) known.set(payload, candidates);
      appending++;
      try {
        const seq = await append(payload);
        if (broken !== undefined) throw broken;
        let outcome = outcomes.get(seq);
        if (!outcomes.delete(seq)) {
          const waiter = createDeferred<unknown>();
          waiters.set(seq, waiter);
          outcome = await waiter.promise;
        }
        return outcome as CommandOutcome<typeof command.kind>;
      } finally {
        appending--;
        if (appending === 0) outcomes.clear();
      }
    },
    async stop() {
      await subscription?.stop();
      end(new TesseraError('shutting_down', 'the node is stopping'));
    },
  };
}

function toCandidate(bytes: Uint8Array): CandidateTx {
  return { hash: transactionHashOfBytes(bytes), bytes, tx: decodeTransaction(bytes) };
}
