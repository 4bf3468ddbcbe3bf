/**
 * What is noted of one node while it is attacked: how late its event loop is, its memory, files, processor time and
 * readiness.
 */

import { readdir, readFile, writeFile } from 'node:fs/promises';
import type { NodeRole } from '../../src/lib/roles.js';
import type { NodeProcess } from '../support/processes.js';

/** The worst of one node during one attack. */
export interface NodeFigures {
  readonly role: NodeRole;
  /** Milliseconds that its event loop was late, as it measures it itself (`tessera_event_loop_delay_seconds`). */
  readonly loopDelayMs: number;
  /** Milliseconds that /livez took, or the time until it was given up. */
  readonly livezMs: number;
  /** MiB of resident memory: the peak, by the kernel's account, and what it is above the memory before. */
  readonly peakMemory: number;
  readonly memoryGrowth: number;
  /** Open files and sockets at the worst look. */
  readonly descriptors: number;
  /** Seconds of looks at /readyz that did not find 200, each from the look before it. */
  readonly notReadySeconds: number;
  readonly cpuSeconds: number;
}

/** Milliseconds between two looks. */
const LOOK_EVERY_MS = 250;
/** Milliseconds after which a node that does not answer is noted as that. */
const GIVE_UP_MS = 10_000;
/** Milliseconds for the metrics. A page that is given up would take the worst delay with it: each begins a new account. */
const METRICS_MS = 60_000;
const KIB_PER_MIB = 1024;
/** Of the processor times in /proc. */
const TICKS_PER_SECOND = 100;
/** Written to `clear_refs` it makes the kernel's peak of memory begin anew. */
const RESET_PEAK = '5';

interface Account {
  readonly memory: number;
  readonly peakMemory: number;
  readonly cpuSeconds: number;
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export class NodeWatch {
  readonly #node: NodeProcess;
  readonly #before: Account;
  #last: Account;
  #loopDelayMs = 0;
  #livezMs = 0;
  #descriptors = 0;
  #notReadyMs = 0;
  #isOver = false;
  readonly #work: Promise<void>;

  private constructor(node: NodeProcess, before: Account) {
    this.#node = node;
    this.#before = before;
    this.#last = before;
    this.#work = this.#lookAgainAndAgain();
  }

  static async begin(node: NodeProcess): Promise<NodeWatch> {
    await writeFile(`/proc/${node.pid}/clear_refs`, RESET_PEAK);
    await loopDelayOf(node);
    return new NodeWatch(node, await accountOf(node.pid));
  }

  async stop(): Promise<NodeFigures> {
    this.#isOver = true;
    await this.#work;
    return {
      role: this.#node.role,
      loopDelayMs: Math.round(this.#loopDelayMs),
      livezMs: Math.round(this.#livezMs),
      peakMemory: Math.round(this.#last.peakMemory),
      memoryGrowth: Math.round(this.#last.peakMemory - this.#before.memory),
      descriptors: this.#descriptors,
      notReadySeconds: this.#notReadyMs / 1_000,
      cpuSeconds: this.#last.cpuSeconds - this.#before.cpuSeconds,
    };
  }

  async #lookAgainAndAgain(): Promise<void> {
    let lastLook = performance.now();
    for (;;) {
      const isLast = this.#isOver;
      const isReady = await this.#look();
      // The attack has stopped its own node, and is over.
      if (!this.#node.isRunning) return;
      const now = performance.now();
      if (!isReady) this.#notReadyMs += now - lastLook;
      lastLook = now;
      if (isLast) return;
      await sleep(LOOK_EVERY_MS);
    }
  }

  async #look(): Promise<boolean> {
    const begun = performance.now();
    const alive = await statusOf(`${this.#node.apiUrl}/livez`);
    if (!this.#node.isRunning) return false;
    this.#livezMs = Math.max(this.#livezMs, performance.now() - begun);
    const isReady = alive === 200 && (await statusOf(`${this.#node.apiUrl}/readyz`)) === 200;
    this.#loopDelayMs = Math.max(this.#loopDelayMs, await loopDelayOf(this.#node).catch(() => 0));
    const descriptors = await readdir(`/proc/${this.#node.pid}/fd`).catch(() => []);
    this.#descriptors = Math.max(this.#descriptors, descriptors.length);
    this.#last = await accountOf(this.#node.pid).catch(() => this.#last);
    return isReady;
  }
}

async function statusOf(url: string): Promise<number> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(GIVE_UP_MS) })).status;
  } catch {
    return 0;
  }
}

/** Milliseconds since it was last asked. */
async function loopDelayOf({ metricsUrl }: NodeProcess): Promise<number> {
  const page = await (await fetch(`${metricsUrl}/metrics`, { signal: AbortSignal.timeout(METRICS_MS) })).text();
  const [, seconds] = /^tessera_event_loop_delay_seconds\{.*quantile="1".*\} (\S+)$/m.exec(page) ?? [];
  if (seconds === undefined) throw new Error('the metrics do not tell how late the event loop is');
  return 1_000 * Number(seconds);
}

async function accountOf(pid: number): Promise<Account> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) / KIB_PER_MIB;
  // Behind the name in brackets, which may hold blanks: state, nine numbers, user time, system time.
  const stat = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ');
  // Of a process that is ending the kernel tells no memory any more.
  if (field('VmRSS') === 0) throw new Error(`process ${pid} has ended`);
  const cpuSeconds = (Number(stat[11]) + Number(stat[12])) / TICKS_PER_SECOND;
  return { memory: field('VmRSS'), peakMemory: field('VmHWM'), cpuSeconds };
}
