/**
 * Applies what the journal delivers, in its order, and answers whoever appended the command when it is durable and
 * applied. The state is written behind: a start applies again what the journal has beyond it.
 */

import type { Turn } from '../../chain/decode-in-pieces.js';
import { hasOriginals } from '../../chain/eras.js';
import { isCreate } from '../../chain/transaction.js';
import type { Unicorn } from '../../chain/unicorn.js';
import type { KvBatch } from '../../db/kv.js';
import {
  type Appended,
  type EntryId,
  isForgotten,
  type Journal,
  type JournalEntry,
  type Subscription,
} from '../../journal/journal.js';
import { createDeferred, type Deferred } from '../../lib/deferred.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import { failpoint } from '../../lib/failpoints.js';
import { Mutex } from '../../lib/mutex.js';
import { inPieces, type Pieces } from '../../lib/pieces.js';
import { Failure, type Service } from '../../lib/service.js';
import { SignalSource } from '../../lib/signal.js';
import { TimeSlices } from '../../lib/time-slices.js';
import { type HistogramHandle, type Metrics, startTimer } from '../../observability/metrics.js';
import type { SharedDigests } from '../replicas/shared-digests.js';
import { SharedJournal } from '../replicas/shared-journal.js';
import { type CandidateTx, type GroupOutcome, readCandidate } from './acceptance.js';
import { type AdoptedBlock, readAdoptedBlock } from './adoption.js';
import { type Command, decodeCommand, encodeCommand } from './commands.js';
import { keepConfirmed } from './final-statuses.js';
import { keys } from './layout.js';
import { Compaction, type CompactionModules } from './retention.js';
import { closedBlockPieces, type Round } from './round.js';
import type { MempoolState, RejectedTx } from './state.js';

export interface MempoolProgress {
  /** Called while the state is read, with the number of unspent outputs so far. */
  loading(outputs: number): void;
  /** Called while commands of the journal are applied again: commands done, commands to do. */
  replaying(done: number, total: number): void;
  /** Called while blocks of storage are taken in that this node lacks: blocks done, blocks to do. */
  adopting(done: number, total: number): void;
  adopted(): void;
  /** Progress of the adoption in words; undefined while none is under way. */
  readonly adoptingNow: string | undefined;
}

export interface ApplierModules extends CompactionModules {
  readonly journal: Journal;
  /** Computes the unicorn of a seed; slow for production parameters, so it may run elsewhere. */
  readonly unicorn: (seed: bigint) => Promise<Unicorn> | Unicorn;
  readonly metrics: Metrics;
  readonly progress?: MempoolProgress | undefined;
  /** Digests of a journal that several nodes share; without it digests in the journal are passed over. */
  readonly digests?: SharedDigests | undefined;
  /** The image of the unspent outputs; none is kept when it is left out. */
  readonly image?: { note(batch: KvBatch, seq: number): Pieces<void> } | undefined;
}

interface Submitted {
  readonly command: Command;
  readonly outcome: Deferred<unknown>;
  /** Groups of the command, as the caller has decoded them. */
  readonly groups: Groups | undefined;
}

type Groups = readonly (readonly CandidateTx[])[];

/** Replay from the last command in the state as it was read, to the journal's head at that time. */
interface Replay {
  readonly from: number;
  readonly to: number;
  readonly done: Deferred<void>;
}

export class Applier implements Service {
  /** Fires after each batch of commands that changed the state, and when commands are taken again. */
  readonly applied = new SignalSource<void>();
  readonly admitted = new SignalSource<readonly string[]>();
  /** Fires for a transaction that waited for others and was removed because of a rule. */
  readonly rejected = new SignalSource<RejectedTx>();
  /** Fires for each block that storage has confirmed, in order. */
  readonly confirmed = new SignalSource<Round>();
  /** Fires for each block of storage that this node has taken in instead of making it, in order. */
  readonly adopted = new SignalSource<AdoptedBlock>();
  readonly #modules: ApplierModules;
  readonly #blockApplySeconds: HistogramHandle;
  readonly #compaction: Compaction;
  readonly #shared: SharedJournal;
  /** Held while commands are applied, or the journal is cut. */
  readonly #working = new Mutex();
  readonly #failure = new Failure();
  /** Rejects when the state or the journal can no longer be trusted: the node must stop. */
  readonly failed = this.#failure.promise;
  readonly #turn: Turn;
  readonly #submitted = new Map<EntryId, Submitted>();
  readonly #overlap: OverlapFailpoints;
  #entered = new Set<string>();
  #replay: Replay | undefined;
  #subscription: Subscription | undefined;
  /** Why nothing is applied any more. */
  #ended: TesseraError | undefined;

  constructor(modules: ApplierModules) {
    const { journal, store, state, clock, metrics, digests } = modules;
    this.#modules = modules;
    this.#overlap = new OverlapFailpoints(state);
    const slices = new TimeSlices(clock);
    this.#turn = () => slices.turn();
    this.#compaction = new Compaction(modules, {
      alone: (work) => this.#working.run(work),
      fail: (error) => this.#fail(error),
    });
    this.#shared = new SharedJournal({ journal, store, state, clock, digests });
    this.#blockApplySeconds = metrics.histogram('tessera_mempool_block_apply_duration_seconds');
    this.#failure.follow(store);
    store.resumed.on(() => this.applied.emit());
  }

  /** Applies everything that is durable already; resolves when the state stands at the journal's head. */
  async start(): Promise<void> {
    const { seq } = this.#modules.state;
    const { head } = this.#modules.journal;
    await this.#shared.load(this.#turn);
    this.#compaction.begin(this.#shared.standing);
    if (this.#ended !== undefined) throw this.#ended;
    const done = createDeferred<void>();
    if (head === seq) done.resolve();
    else this.#replay = { from: seq, to: head, done };
    this.#subscription = this.#modules.journal.subscribe(
      seq + 1,
      (entries) => this.#working.run(() => this.#deliver(entries)),
      (error) => this.#fail(error),
    );
    await done.promise;
    this.#compaction.start();
  }

  async stop(): Promise<void> {
    this.#compaction.stop();
    this.#modules.store.stop();
    await this.#subscription?.stop();
    await this.#working.run(() => this.#modules.store.flush()).catch(() => undefined);
    this.#end(new TesseraError('shutting_down', 'the node is stopping'));
  }

  /** Runs work while no command is applied: the state is that after a command, and is written. */
  readonly betweenCommands = <T>(work: () => Promise<T>): Promise<T> =>
    this.#working.run(async () => {
      await this.#modules.store.flush();
      return work();
    });

  /** Why no command is taken for now; null when commands are taken. */
  get problem(): string | null {
    return this.#modules.store.problem;
  }

  /** Appends and applies a command. `groups` spares decoding what the caller has decoded. */
  async submit<K extends Command['kind']>(
    command: Extract<Command, { kind: K }>,
    groups?: Groups,
  ): Promise<CommandOutcome<K>> {
    if (this.#ended !== undefined) throw this.#ended;
    if (this.#modules.store.problem !== null) throw new TesseraError('write_failed', this.#modules.store.problem);
    const { id, durable } = this.#append(encodeCommand(command));
    const outcome = createDeferred<unknown>();
    // When the write fails nobody waits for the outcome.
    outcome.promise.catch(() => undefined);
    const submitted = { command, outcome, groups };
    this.#submitted.set(id, submitted);
    try {
      await durable;
    } catch (error) {
      // The id may already belong to another command.
      if (this.#submitted.get(id) === submitted) this.#submitted.delete(id);
      if (isTesseraError(error, 'database_failed')) throw notWritten(error);
      if (isTesseraError(error, 'mempool_unreachable') || isTesseraError(error, 'shutting_down')) throw error;
      this.#fail(error);
      throw whyEnded(error, { mayBeTaken: true });
    }
    return (await this.#shared.outcome(outcome.promise)) as CommandOutcome<K>;
  }

  /** A damaged journal takes nothing more: without it nothing can be promised, so the node must stop. */
  #append(payload: Uint8Array): Appended {
    try {
      return this.#modules.journal.append(payload);
    } catch (error) {
      if (isTesseraError(error, 'overloaded') || isTesseraError(error, 'shutting_down')) throw error;
      this.#fail(error);
      throw whyEnded(error);
    }
  }

  async #deliver(entries: readonly JournalEntry[]): Promise<void> {
    const state = this.#modules.state;
    let batch = this.#modules.store.batch();
    const outcomes: [id: EntryId, outcome: unknown][] = [];
    const stored: Round[] = [];
    const adopted: AdoptedBlock[] = [];
    for (const entry of entries) {
      const command = this.#submitted.get(entry.id)?.command ?? decodeCommand(entry.payload);
      const outcome = await this.#overlap.during(command.kind, () => this.#apply(command, entry, batch, adopted));
      outcomes.push([entry.id, outcome]);
      this.#shared.applied(command, entry.seq, batch);
      if (command.kind !== 'block-stored' && command.kind !== 'block-adopted') continue;
      // Later commands look up records of this one in the store, so they must be written before the next command.
      await this.#write(batch, entry);
      batch = this.#modules.store.batch();
      if (command.kind === 'block-stored' && outcome !== null) stored.push(outcome as Round);
    }
    const last = entries.at(-1);
    if (last === undefined) return;
    if (batch.size > 0 || state.seq !== last.seq) await this.#write(batch, last);
    for (const [id, outcome] of outcomes) this.#settle(id, outcome);
    this.#emitChanges(stored, adopted);
    this.#reportReplay(last.seq);
    await this.#compaction.afterCommands(entries, this.#shared.standing, { stored, adopted });
  }

  async #apply(command: Command, { id, seq }: JournalEntry, batch: KvBatch, adopted: AdoptedBlock[]): Promise<unknown> {
    const state = this.#modules.state;
    state.begin(seq, batch);
    switch (command.kind) {
      case 'transactions': {
        const all = this.#submitted.get(id)?.groups ?? command.groups.map((group) => group.map(readCandidate));
        const groups = await this.#shared.withoutIncluded(all, { isOwn: this.#submitted.has(id) });
        const isInChain = await knownHashes(this.#modules.store, groups, state.rules);
        const context = { time: command.time, isInChain };
        const outcomes = await inPieces(state.accept(groups, context, batch), this.#turn);
        const entered = groups.filter((_, i) => outcomes[i] === null).flat();
        for (const { hash } of entered) this.#entered.add(hash);
        return outcomes;
      }
      case 'cut-block': {
        if (!state.isDue(command)) {
          await this.#shared.passCut(command, batch);
          return null;
        }
        await inPieces(state.dropUnlawful(command.time, batch), this.#turn);
        const plan = await inPieces(state.planCut(), this.#turn);
        if (plan === null) return null;
        const unicorn = await this.#modules.unicorn(plan.seed);
        return inPieces(state.cutBlock(command, plan, unicorn, batch), this.#turn);
      }
      case 'proof':
        return state.addProof(command, batch);
      case 'close-block': {
        const closed = state.closeBlock(command, batch);
        // The block is assembled here, so that nobody waits for that later.
        if (closed !== null) await inPieces(closedBlockPieces(closed), this.#turn);
        return closed;
      }
      case 'block-stored': {
        const stopTimer = startTimer(this.#blockApplySeconds, this.#modules.clock);
        const round = await inPieces(state.blockStored(command, batch), this.#turn);
        stopTimer();
        await this.#shared.passBlock(command.height, null, batch);
        return round;
      }
      case 'block-adopted': {
        const block = await readAdoptedBlock(command.block, command.facts, this.#turn);
        const isNext = await inPieces(state.adoptBlock(block, batch), this.#turn);
        if (isNext) adopted.push(block);
        await this.#shared.passBlock(block.height, block.time, batch);
        return isNext;
      }
      case 'digest':
        this.#shared.compare(command, batch);
        return null;
    }
  }

  /** Writes the changes of commands soon; at once beside a cluster, which may be restored from a copy that lacks these commands. */
  async #write(batch: KvBatch, { seq, id }: JournalEntry): Promise<void> {
    await keepConfirmed(this.#modules.state.statuses, this.#modules.store, batch);
    await inPieces(this.#modules.state.statuses.list(batch), this.#turn);
    if (this.#modules.image !== undefined) await inPieces(this.#modules.image.note(batch, seq), this.#turn);
    this.#modules.state.seal(seq, batch, { id: String(id), cluster: this.#modules.journal.cluster });
    const isShared = this.#modules.journal.cluster !== undefined;
    const isTaken = await (isShared
      ? this.#modules.store.write(batch, { sync: false })
      : this.#modules.store.writeSoon(batch));
    // New commands wait until the held records are written.
    if (!isTaken && this.#replay !== undefined) await this.#modules.store.drained();
    this.#modules.state.written();
    this.#overlap.written();
  }

  #settle(id: EntryId, outcome: unknown): void {
    this.#submitted.get(id)?.outcome.resolve(outcome);
    this.#submitted.delete(id);
  }

  /** Emits which transactions the last commands admitted and removed, and the blocks that are now stored. */
  #emitChanges(stored: readonly Round[], adopted: readonly AdoptedBlock[]): void {
    if (this.#entered.size > 0) {
      this.admitted.emit([...this.#entered]);
      this.#entered = new Set();
    }
    for (const rejected of this.#modules.state.statuses.takeRejected()) this.rejected.emit(rejected);
    for (const round of stored) this.confirmed.emit(round);
    for (const block of adopted) this.adopted.emit(block);
    this.applied.emit();
  }

  #reportReplay(last: number): void {
    if (this.#replay === undefined) return;
    const { from, to, done } = this.#replay;
    if (last < to) {
      this.#modules.progress?.replaying(last - from, to - from);
      return;
    }
    done.resolve();
    this.#replay = undefined;
  }

  #end(error: unknown): void {
    this.#ended ??= whyEnded(error);
    for (const { outcome } of this.#submitted.values()) outcome.reject(whyEnded(error, { mayBeTaken: true }));
    this.#submitted.clear();
    this.#replay?.done.reject(error);
  }

  #fail(error: unknown): void {
    this.#end(error);
    this.#failure.report(error);
  }
}

interface Outcomes {
  readonly transactions: readonly GroupOutcome[];
  readonly 'cut-block': Round | null;
  readonly proof: boolean;
  readonly 'close-block': Round | null;
  readonly 'block-stored': Round | null;
  /** False when the block was no longer the next one. */
  readonly 'block-adopted': boolean;
  readonly digest: null;
}

export type CommandOutcome<K extends Command['kind']> = Outcomes[K];

/** Error for clients once nothing is applied any more. A command in the journal may still be applied, by others or after a restart. */
function whyEnded(cause: unknown, { mayBeTaken = false } = {}): TesseraError {
  const options = { cause, details: { mayBeTaken } };
  if (isTesseraError(cause, 'shutting_down')) return new TesseraError(cause.code, cause.message, options);
  const text = isForgotten(cause)
    ? 'this node was away for too long, and comes to another state; try again'
    : 'this mempool node cannot go on, and its log says why; try again at another one';
  return new TesseraError('mempool_unreachable', text, options);
}

/** Why a command is not in the journal. */
function notWritten(cause: TesseraError): TesseraError {
  const text = `the node cannot write to its disk, and nothing was taken: ${cause.message}`;
  return new TesseraError('write_failed', text, { cause });
}

export class OverlapFailpoints {
  readonly #state: Pick<MempoolState, 'rounds'>;
  #unwritten: Command['kind'][] = [];

  constructor(state: Pick<MempoolState, 'rounds'>) {
    this.#state = state;
  }

  async during<T>(kind: Command['kind'], apply: () => Promise<T>): Promise<T> {
    const before = this.#state.rounds.length;
    const outcome = await apply();
    if (outcome && Math.max(before, this.#state.rounds.length) > 1) {
      this.#unwritten.push(kind);
      pass(kind, 'applied');
    }
    return outcome;
  }

  written(): void {
    for (const kind of this.#unwritten.splice(0)) pass(kind, 'written');
  }
}

function pass(kind: Command['kind'], moment: 'applied' | 'written'): void {
  if (kind === 'cut-block') failpoint('overlap.cut', moment);
  if (kind === 'close-block') failpoint('overlap.closed', moment);
  if (kind === 'block-stored') failpoint('overlap.stored', moment);
  if (kind === 'block-adopted') failpoint('overlap.adopted', moment);
}

/**
 * Tells which of these transactions are in the chain, of those that may not come again (decision B6): creations of items; and in a chain that original
 * nodes began also what is in their blocks, which let what it spends be created again.
 */
async function knownHashes(
  store: Pick<ApplierModules['store'], 'getMany'>,
  groups: readonly (readonly CandidateTx[])[],
  { eras }: MempoolState['rules'],
): Promise<(hash: string) => boolean> {
  const all = hasOriginals(eras);
  const asked = groups.flat().filter(({ tx }) => all || isCreate(tx));
  if (asked.length === 0) return () => false;
  const found = await store.getMany(asked.map(({ hash }) => keys.known(hash)));
  const hashes = new Set(asked.filter((_, i) => found[i] !== undefined).map(({ hash }) => hash));
  return (hash) => hashes.has(hash);
}

/** True for a state that an earlier version made: it has no names of blocks of original nodes, also none of block 0. */
export async function lacksNames(
  { rules, head }: MempoolState,
  store: Pick<ApplierModules['store'], 'getMany'>,
): Promise<boolean> {
  if (!hasOriginals(rules.eras) || head.height < 0) return false;
  const names = rules.genesis.slice(0, 1).map(({ hash }) => keys.known(hash));
  return (await store.getMany(names)).includes(undefined);
}
