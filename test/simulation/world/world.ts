/**
 * The world of a simulation: one time, one list of what happens next, and processes that it happens in. A step is one callback of one
 * process, with all promises that follow from it; then the next one is chosen, by time and luck. Nothing else runs, so the
 * same seed gives the same steps.
 */

import type { Clock, Timer } from '../../../src/lib/clock.js';
import { Luck } from './luck.js';

/** Start of the calendar of a world. */
export const EPOCH = Date.UTC(2026, 0, 1);
/** Milliseconds of a step that waits for nothing: at least, and at most where nodes are not busy. */
const LEAST_STEP_MS = 0.004;
export const MOST_STEP_MS = 0.03;
/** Milliseconds between two looks at the clock in one step, where nodes are busy: a piece of work takes time. */
const PIECE_MS = 0.01;
/** Milliseconds by which a timer may be late. */
const LATE_MS = 0.5;
/** Steps without which a second of a world cannot be: more are a loop that does not end. */
const MOST_STEPS_PER_SECOND = 400_000;

const realImmediate = setImmediate;

/** Something that happens later, in a process. */
interface Task extends Timer {
  readonly at: number;
  /** Decides between those of one moment. */
  readonly order: number;
  readonly owner: Process;
  run: (() => void) | undefined;
}

/** A process of a world: it can be killed, suspended, and have a clock of its own. */
export class Process {
  readonly name: string;
  readonly luck: Luck;
  readonly clock: Clock;
  /** Number of the process in its world. */
  readonly id: number;
  /** The machine that it runs on. */
  host = '';
  isAlive = true;
  /** What would have happened while it is suspended. */
  held: Task[] | undefined;
  /** Milliseconds by which its calendar is wrong, and how fast its clock goes. */
  offset = 0;
  rate = 1;
  lastImmediate = 0;
  /** When the last timer of a length ends: one that was set later ends later. */
  readonly lastTimers = new Map<number, number>();
  readonly #whenDead: (() => void)[] = [];
  #moment = 0;

  constructor(world: World, name: string, id: number) {
    this.name = name;
    this.id = id;
    this.luck = new Luck(`${world.seed}/${name}/${id}`);
    this.clock = {
      now: () => Math.floor(EPOCH + this.offset + world.now * this.rate),
      monotonic: () => {
        const now = world.now * this.rate;
        if (world.isBusy) this.#moment = Math.max(now, this.#moment + PIECE_MS);
        return world.isBusy ? this.#moment : now;
      },
      after: (ms, run) => world.timer(this, ms, run),
    };
  }

  /** Called once when it is killed. */
  onDeath(run: () => void): void {
    this.#whenDead.push(run);
  }

  /** Nothing of it happens any more. */
  kill(): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.held = undefined;
    for (const run of this.#whenDead.splice(0)) run();
  }
}

export class World {
  readonly seed: string;
  readonly luck: Luck;
  now = 0;
  steps = 0;
  /** The process whose step this is. */
  current: Process | undefined;
  /** Lines of what has happened that people read; each is part of the trace. */
  readonly lines: string[] = [];
  /** Called with what no process has caught. */
  onUncaught: (process: Process, error: unknown) => void = () => undefined;
  readonly #heap: Task[] = [];
  #order = 0;
  #processes = 0;
  #trace = 0;
  #traceHigh = 0;

  readonly #mostStepMs: number;

  /** `mostStepMs`: milliseconds of a step that waits for nothing, at most. */
  constructor(seed: string, mostStepMs = MOST_STEP_MS) {
    this.seed = seed;
    this.#mostStepMs = mostStepMs;
    this.luck = new Luck(`${seed}/world`);
  }

  /** True where other work comes between any two pieces of a node's work. */
  get isBusy(): boolean {
    return this.#mostStepMs > MOST_STEP_MS;
  }

  /** Stands for all steps so far: two runs of one seed have the same. */
  get trace(): string {
    return `${this.#traceHigh.toString(16)}.${this.#trace.toString(16)}`;
  }

  process(name: string): Process {
    return new Process(this, name, this.#processes++);
  }

  /** Adds a line that people read. */
  note(line: string): void {
    this.lines.push(`${(this.now / 1_000).toFixed(3).padStart(9)} ${line}`);
    for (let i = 0; i < line.length; i++) this.#mix(line.charCodeAt(i));
  }

  /** Adds facts to the trace. */
  mark(fact: number): void {
    this.#mix(fact);
  }

  /** Calls `run` in a process after so many milliseconds of the world. */
  later(owner: Process, ms: number, run: () => void): Timer {
    return this.#add(owner, this.now + ms, run);
  }

  at(owner: Process, time: number, run: () => void): Timer {
    return this.#add(owner, Math.max(this.now, time), run);
  }

  /** A timer of a process, by its own clock. Those of one length end in the order in which they were set. */
  timer(owner: Process, ms: number, run: () => void): Timer {
    const length = Number.isFinite(ms) ? Math.max(ms, 0) : 0;
    const due = this.now + length / owner.rate + this.luck.between(0, LATE_MS);
    const at = Math.max(due, owner.lastTimers.get(length) ?? 0);
    if (owner.lastTimers.size > 500) owner.lastTimers.clear();
    owner.lastTimers.set(length, at);
    return this.#add(owner, at, run);
  }

  /** `setImmediate` of a process. */
  immediate(owner: Process, run: () => void): Timer {
    const soon = this.now + this.luck.between(LEAST_STEP_MS, this.#mostStepMs);
    owner.lastImmediate = Math.max(owner.lastImmediate + LEAST_STEP_MS, soon);
    return this.#add(owner, owner.lastImmediate, run);
  }

  /** Stops a process for a while; its clock goes on, as that of a machine does. */
  suspend(process: Process): void {
    process.held ??= [];
  }

  resume(process: Process): void {
    const held = process.held ?? [];
    process.held = undefined;
    for (const task of held) this.#push({ ...task, at: this.now, order: this.#order++ }, task);
  }

  /** Goes on until `isDone` says so, which is asked after each step, or until the given time; false then. */
  async run(until: number, isDone: () => boolean = () => false): Promise<boolean> {
    let second = 0;
    let steps = 0;
    for (;;) {
      if (isDone()) return true;
      const next = this.#heap[0];
      if (next === undefined || next.at > until) {
        this.now = Math.max(this.now, until);
        return false;
      }
      this.#pop();
      if (next.run === undefined || !next.owner.isAlive) continue;
      if (next.owner.held !== undefined) {
        next.owner.held.push(next);
        continue;
      }
      this.now = Math.max(this.now, next.at);
      if (Math.floor(this.now / 1_000) !== second) {
        second = Math.floor(this.now / 1_000);
        steps = 0;
      }
      if (++steps > MOST_STEPS_PER_SECOND) throw new Error(`${next.owner.name} never rests at ${this.now} ms`);
      await this.#step(next);
    }
  }

  async #step(task: Task): Promise<void> {
    this.steps++;
    this.#mix(task.owner.id);
    this.#mix(Math.floor(task.at * 1_000));
    this.current = task.owner;
    const { run } = task;
    task.run = undefined;
    try {
      run?.();
    } catch (error) {
      this.onUncaught(task.owner, error);
    }
    // What waits as promises has run when the loop of the real process comes round.
    await new Promise<void>((resolve) => void realImmediate(resolve));
    this.current = undefined;
  }

  #mix(fact: number): void {
    this.#trace = (Math.imul(this.#trace ^ fact, 0x0100_0193) + 0x9e37) >>> 0;
    this.#traceHigh = (Math.imul(this.#traceHigh, 31) + this.#trace) >>> 0;
  }

  #add(owner: Process, at: number, run: () => void): Timer {
    const task: Task = {
      at,
      order: this.#order++,
      owner,
      run,
      cancel() {
        task.run = undefined;
      },
    };
    this.#push(task);
    return task;
  }

  /** Adds a task; one that stands for another is cancelled with that. */
  #push(task: Task, original?: Task): void {
    if (original !== undefined) {
      task.run = () => {
        const { run } = original;
        original.run = undefined;
        run?.();
      };
    }
    const heap = this.#heap;
    let i = heap.push(task) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const above = heap[parent] as Task;
      if (isBefore(above, task)) break;
      heap[i] = above;
      i = parent;
    }
    heap[i] = task;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Task, heap[child] as Task)) child++;
      if (isBefore(last, heap[child] as Task)) break;
      heap[i] = heap[child] as Task;
      i = child;
    }
    heap[i] = last;
  }
}

function isBefore(a: Task, b: Task): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
