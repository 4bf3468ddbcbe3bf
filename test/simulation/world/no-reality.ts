/**
 * Takes the real time, the real randomness and the threads of Node.js away from everything in this process, as long as a world runs: what asks
 * for them gets those of the process of the world whose step it is. Outside of steps they are as ever.
 */

import { EventEmitter } from 'node:events';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import type { Timer } from '../../../src/lib/clock.js';
import { NonceSearcher } from '../../../src/miner/nonce-search.js';
import type { PowTask } from '../../../src/miner/pow-worker.js';
import type { Process, World } from './world.js';

const require = createRequire(import.meta.url);
const timers = require('node:timers');
const timersPromises = require('node:timers/promises');
const crypto = require('node:crypto');
const workerThreads = require('node:worker_threads');

/** Milliseconds in which a thread of a miner finds a nonce: at most. */
const SEARCH_MS = 400;

const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  clearImmediate: globalThis.clearImmediate,
  Date: globalThis.Date,
  now: performance.now.bind(performance),
  random: Math.random,
};

let world: World | undefined;
let isInstalled = false;

/** The handle of a timer, as Node.js gives it. */
class Handle {
  timer: Timer | undefined;
  unref(): this {
    return this;
  }
  ref(): this {
    return this;
  }
  hasRef(): boolean {
    return false;
  }
  [Symbol.toPrimitive](): number {
    return 0;
  }
}

type Callback = (...args: unknown[]) => void;

function stepOf(): { readonly world: World; readonly process: Process } | undefined {
  return world?.current === undefined ? undefined : { world, process: world.current };
}

function setTimeoutOf(run: Callback, ms = 0, ...args: unknown[]): unknown {
  const step = stepOf();
  if (step === undefined) return real.setTimeout(run, ms, ...args);
  const handle = new Handle();
  handle.timer = step.world.timer(step.process, ms, () => run(...args));
  return handle;
}

function setIntervalOf(run: Callback, ms = 1, ...args: unknown[]): unknown {
  const step = stepOf();
  if (step === undefined) return real.setInterval(run, ms, ...args);
  const handle = new Handle();
  const again = (): void => {
    handle.timer = step.world.timer(step.process, Math.max(ms, 1), () => {
      again();
      run(...args);
    });
  };
  again();
  return handle;
}

function setImmediateOf(run: Callback, ...args: unknown[]): unknown {
  const step = stepOf();
  if (step === undefined) return real.setImmediate(run, ...args);
  const handle = new Handle();
  handle.timer = step.world.immediate(step.process, () => run(...args));
  return handle;
}

function clear(handle: unknown, really: (handle: never) => void): void {
  if (handle instanceof Handle) handle.timer?.cancel();
  else really(handle as never);
}

class WorldDate extends real.Date {
  constructor(...args: unknown[]) {
    if (args.length === 0) super(WorldDate.now());
    else super(...(args as [number]));
  }

  static override now(): number {
    return stepOf()?.process.clock.now() ?? real.Date.now();
  }
}

/** Stands for the threads of a miner, which search for nonces. */
class SearchThread extends EventEmitter {
  readonly #step = stepOf();
  #isOver = false;

  constructor(url: URL) {
    super();
    if (!String(url).includes('pow-worker')) throw new Error(`no thread in a world runs ${url}`);
    this.#soon(1, () => this.emit('message', { ready: true }));
  }

  postMessage({ job, search }: PowTask): void {
    const { nonce } = searcher.search(search, this.#step?.process.luck.below(0xffff) ?? 0, () => false);
    this.#soon(SEARCH_MS, () => this.emit('message', { job, nonce }));
  }

  async terminate(): Promise<number> {
    this.#isOver = true;
    return 0;
  }

  #soon(ms: number, run: () => void): void {
    const step = this.#step;
    if (step === undefined) throw new Error('a thread was made outside of the steps of a world');
    step.world.later(step.process, step.process.luck.between(0, ms), () => this.#isOver || run());
  }
}

const searcher = await NonceSearcher.create();

/** From now on the steps of this world have its time and its randomness. */
export function enter(entered: World): void {
  world = entered;
  if (isInstalled) return;
  isInstalled = true;
  const replaced = {
    setTimeout: setTimeoutOf,
    setInterval: setIntervalOf,
    setImmediate: setImmediateOf,
    clearTimeout: (handle: unknown) => clear(handle, real.clearTimeout),
    clearInterval: (handle: unknown) => clear(handle, real.clearInterval),
    clearImmediate: (handle: unknown) => clear(handle, real.clearImmediate),
  };
  Object.assign(globalThis, replaced, { Date: WorldDate });
  Object.assign(timers, replaced);
  timersPromises.setImmediate = (value: unknown) => new Promise((resolve) => void setImmediateOf(() => resolve(value)));
  timersPromises.setTimeout = (ms: number, value: unknown) =>
    new Promise((resolve) => void setTimeoutOf(() => resolve(value), ms));
  performance.now = () => stepOf()?.process.clock.monotonic() ?? real.now();
  Math.random = () => stepOf()?.process.luck.next() ?? real.random();
  const { randomBytes } = crypto;
  crypto.randomBytes = (length: number) => {
    const step = stepOf();
    return step === undefined ? randomBytes(length) : Buffer.from(step.process.luck.bytes(length));
  };
  workerThreads.Worker = SearchThread;
  syncBuiltinESMExports();
}
