/**
 * Verifies signatures and runs scripts beside the event loop. Checks of one turn of the loop travel together: batches
 * are four times as fast. The main thread takes its share of the signatures; workers get scripts and unusual keys. The
 * outcome depends on the check alone, so a check that many transactions carry runs once.
 */

import { p2shAddress } from '../../chain/address.js';
import { runCheck, type ScriptCheck } from '../../chain/validation.js';
import { signatureCost, verificationCost } from '../../crypto/unusual-keys.js';
import { toLatin1 } from '../../lib/bytes.js';
import { createDeferred, type Deferred } from '../../lib/deferred.js';
import { TesseraError } from '../../lib/errors.js';
import { FairQueue } from '../../lib/fair-queue.js';
import { RecentMap } from '../../lib/recent-map.js';
import { encodeChecks } from './verify-batch.js';
import { type VerifyThread, VerifyThreads, type VerifyThreadsModules } from './verify-threads.js';

/** Signatures of one batch. Larger batches gain nothing and delay the first answer. */
const MAX_SIGNATURES = 64;
const MAX_SCRIPTS = 4;
/** Number of signatures that makes a message to an idle worker worthwhile. */
const WORTH_A_MESSAGE = 4;
/** Number of signatures that makes a message to a busy worker worthwhile, so that it never waits for the main thread. */
const WORTH_QUEUEING = 16;
/** Batches at one worker: the one that runs and the next. */
const MAX_BATCHES = 2;
/** Signatures that the main thread verifies in one turn of the loop: under a millisecond. */
const MAIN_THREAD_SHARE = 16;

/** Signatures that the main thread looks at for its share, those with a known verdict included. */
const MAIN_THREAD_LOOKS = 64;
/** Sender of checks that are verified before anybody waits for them: they are left to the threads, where there are some. */
export const AHEAD = 'ahead';
/** Verdicts that are surely remembered, of scripts and of signatures each: up to 10 MiB per kind. */
const REMEMBERED = 20_000;

interface Job {
  left: number;
  readonly done: Deferred<boolean>;
  settled: boolean;
}

interface Task {
  readonly check: ScriptCheck;
  readonly job: Job;
  /** Name under which the verdict is remembered: all that the verdict depends on. */
  readonly name: string;
  /** True when nobody waits for the verdict. */
  readonly isAhead: boolean;
}

export interface VerifierOptions {
  /**
   * Number of worker threads, of 13 MiB each. They start with the first script, or when more signatures wait than the
   * main thread takes in a turn. With 0 the main thread verifies all signatures, and one worker runs scripts.
   */
  readonly threads: number;
}

export class Verifier {
  readonly #count: number;
  readonly #threads: VerifyThreads;
  readonly #batches = new Map<number, readonly Task[]>();
  /** Threads whose last batch was of scripts: the next one is of signatures. */
  readonly #ranScripts = new WeakSet<VerifyThread>();
  readonly #ran = { worker: 0, main: 0 };
  /** Verdicts by kind and name. A kind of its own keeps the many cheap signatures from displacing scripts. */
  readonly #verdicts = {
    signature: new RecentMap<boolean>(REMEMBERED),
    script: new RecentMap<boolean>(REMEMBERED),
  };
  readonly #signatures = new FairQueue<Task>();
  readonly #scripts = new FairQueue<Task>();
  #scheduled = false;
  #closed = false;
  #nextBatch = 1;

  constructor({ threads }: VerifierOptions, modules: VerifyThreadsModules = {}) {
    this.#count = threads;
    this.#threads = new VerifyThreads(
      {
        ready: () => this.#schedule(),
        outcomes: (batch, outcomes) => this.#onOutcomes(batch, outcomes),
        lost: (batches, error) => this.#onLost(batches, error),
      },
      modules,
    );
  }

  /** The reason why no script can be checked now; null when it can. Signatures go on. */
  get problem(): string | null {
    return this.#threads.problem;
  }

  /** Number of checks run so far, by place. */
  get ran(): { readonly worker: number; readonly main: number } {
    return this.#ran;
  }

  /** True when every check holds; after a failure the others are not run. Senders take turns. Throws `shutting_down` once closed. */
  verify(checks: readonly ScriptCheck[], sender = ''): Promise<boolean> {
    if (this.#closed) return Promise.reject(closedError());
    if (checks.length === 0) return Promise.resolve(true);
    const job: Job = { left: checks.length, done: createDeferred<boolean>(), settled: false };
    const isAhead = sender === AHEAD;
    if (isAhead) this.#dropKnownAhead();
    for (const check of checks) {
      const queue = isDear(check) ? this.#scripts : this.#signatures;
      const task = { check, job, name: nameOf(check), isAhead };
      if (!this.#isKnown(task)) queue.push(sender, task);
    }
    this.#schedule();
    return job.done.promise;
  }

  /** Takes out checks ahead that the main thread has verified in their turn, because the threads were slow. */
  #dropKnownAhead(): void {
    const isDone = (task: Task): boolean => task.isAhead && this.#isKnown(task);
    while (this.#signatures.shift(isDone) !== undefined);
  }

  async close(): Promise<void> {
    this.#closed = true;
    const waiting = [this.#signatures, this.#scripts].flatMap((queue) => queue.take(queue.length));
    for (const { job } of [...waiting, ...[...this.#batches.values()].flat()]) job.done.reject(closedError());
    this.#batches.clear();
    await this.#threads.close();
  }

  #onOutcomes(batch: number, outcomes: Uint8Array): void {
    this.#ran.worker += outcomes.length;
    for (const [i, task] of (this.#batches.get(batch) ?? []).entries()) this.#decide(task, outcomes[i] === 1);
    this.#batches.delete(batch);
    this.#schedule();
  }

  #onLost(batches: readonly number[], error: TesseraError): void {
    for (const batch of batches) {
      for (const { job } of this.#batches.get(batch) ?? []) job.done.reject(error);
      this.#batches.delete(batch);
    }
  }

  #decide({ check, job, name }: Task, holds: boolean): void {
    this.#verdicts[check.kind].set(name, holds);
    settle(job, holds);
  }

  #isKnown({ check, job, name }: Task): boolean {
    const verdict = this.#verdicts[check.kind].get(name);
    if (verdict !== undefined && !job.settled) settle(job, verdict);
    return verdict !== undefined;
  }

  #unknown(tasks: readonly Task[]): Task[] {
    return tasks.filter((task) => !this.#isKnown(task));
  }

  #schedule(): void {
    if (this.#scheduled || this.#signatures.length + this.#scripts.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#feedThreads();
      this.#takeShare();
    });
  }

  #feedThreads(): void {
    if (this.#scripts.length > 0) this.#startThreads(Math.max(1, this.#count));
    else if (this.#signatures.length > MAIN_THREAD_SHARE) this.#startThreads(this.#count);
    for (let depth = 0; depth < MAX_BATCHES; depth++) {
      const enough = depth === 0 ? WORTH_A_MESSAGE : WORTH_QUEUEING;
      for (const thread of this.#threads.ready) {
        if (thread.batches.size === depth) this.#post(thread, this.#takeBatch(thread, enough));
      }
    }
  }

  #startThreads(count: number): void {
    while (this.#threads.size < count) this.#threads.add();
  }

  /** Takes a batch of scripts and of signatures in turn, so that neither waits for the whole queue of the other. */
  #takeBatch(thread: VerifyThread, enough: number): readonly Task[] {
    const hasSignatures = this.#signatures.length >= enough;
    if (this.#scripts.length > 0 && !(this.#ranScripts.has(thread) && hasSignatures)) {
      this.#ranScripts.add(thread);
      return this.#takeScripts();
    }
    if (!hasSignatures) return [];
    this.#ranScripts.delete(thread);
    // Half of the signatures goes to the worker; the main thread takes the rest, as it would wait for the answers anyway.
    const half = Math.ceil(this.#signatures.length / 2);
    return this.#unknown(open(this.#signatures.take(Math.min(MAX_SIGNATURES, half))));
  }

  #takeScripts(): readonly Task[] {
    while (this.#scripts.length > 0) {
      const tasks = this.#unknown(open(this.#scripts.take(MAX_SCRIPTS)));
      if (tasks.length > 0) return tasks;
    }
    return [];
  }

  #post(thread: VerifyThread, tasks: readonly Task[]): void {
    if (tasks.length === 0) return;
    const bytes = encodeChecks(tasks.map(({ check }) => check));
    const id = this.#nextBatch++;
    this.#batches.set(id, tasks);
    thread.post(id, bytes);
  }

  /** Verifies a few signatures on the main thread; others wait for the next turn, so that requests are read in between. */
  #takeShare(): void {
    const end = this.#ran.main + MAIN_THREAD_SHARE;
    const isMine = this.#threads.ready.size === 0 ? undefined : ({ isAhead }: Task) => !isAhead;
    for (let looks = 0; looks < MAIN_THREAD_LOOKS && this.#ran.main < end; looks++) {
      const task = this.#signatures.shift(isMine);
      // Checks left to a thread wait for its answer, which schedules the next turn.
      if (task === undefined) return;
      if (task.job.settled || this.#isKnown(task)) continue;
      this.#ran.main++;
      this.#decide(task, runCheck(task.check));
    }
    if (this.#signatures.length > 0) this.#schedule();
  }
}

/** Name of a check: a script's address; a signature's bytes, key and text as one string, which takes half the memory of three. */
function nameOf(check: ScriptCheck): string {
  if (check.kind === 'script') return p2shAddress(check.script);
  return toLatin1(check.signature) + toLatin1(check.publicKey) + check.message;
}

/** True for checks that may take milliseconds: a script, or a signature that needs unusual verification. */
function isDear(check: ScriptCheck): boolean {
  return check.kind === 'script' || signatureCost(check.signature) > 1 || verificationCost(check.publicKey) > 1;
}

function open(tasks: readonly Task[]): readonly Task[] {
  return tasks.filter(({ job }) => !job.settled);
}

function settle(job: Job, holds: boolean): void {
  job.left--;
  if (job.settled || (holds && job.left > 0)) return;
  job.settled = true;
  job.done.resolve(holds);
}

function closedError(): TesseraError {
  return new TesseraError('shutting_down', 'the verifier is closed');
}
