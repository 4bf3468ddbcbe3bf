/**
 * Servers that take part in a benchmark, each a process of its own, so that what is measured is theirs alone: the load
 * generator costs them nothing but the processor.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once as onceEvent } from 'node:events';
import { fileURLToPath } from 'node:url';
import { load } from './load.js';

/** The checkout that this file is in. */
export const HERE = new URL('../', import.meta.url);

/** A module of the compiled program, as it is run: tsx wraps every closure, which costs as much as a good part of the work. */
export const compiled = <T>(path: string): Promise<T> => import(new URL(`dist/${path}`, HERE).href);

/** What a server tells its parent, and the words that it obeys (`obey`). */
interface Reading {
  /** µs of processor time of the whole process between `start` and `stop`. */
  readonly cpu: number;
}
type Word = 'start' | 'stop' | 'exit';

export interface Slice {
  /** Answers a second. */
  readonly rate: number;
  /** µs of processor time of the server for each answer. */
  readonly cpu: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/** Milliseconds in which a server that is at rest is looked at, how much it may work in them, and how often it is tried. */
const REST_MS = 250;
const REST_CPU_MS = 15;
const MAX_RESTS = 240;

export class Contestant {
  readonly name: string;
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(name: string, url: string, child: ChildProcess) {
    this.name = name;
    this.url = url;
    this.#child = child;
  }

  /** Starts `bench/FILE` of a checkout with its arguments; it must call `obey`. */
  static async start(name: string, file: string, args: readonly string[], checkout = HERE): Promise<Contestant> {
    const path = fileURLToPath(new URL(`bench/${file}`, checkout));
    const child = fork(path, [...args], { execArgv: ['--import', 'tsx'], cwd: fileURLToPath(checkout) });
    const [{ url }] = (await onceEvent(child, 'message')) as [{ readonly url: string }];
    return new Contestant(name, url, child);
  }

  /** Sends the requests that `next` gives, over so many connections. Throws when one is not answered with `status`. */
  async slice(next: () => Buffer | undefined, connections: number, status: number): Promise<Slice> {
    this.startCounting();
    const { answers, statuses, rate, p50, p99 } = await load({ url: this.url, connections, next });
    const cpu = await this.counted();
    if (statuses.get(status) !== answers) throw new Error(`${this.name} answered ${JSON.stringify([...statuses])}`);
    return { rate, cpu: cpu / answers, p50, p99 };
  }

  /** Resolves when it has nothing left to do: a node still works on its first block after it has begun to answer. */
  async rest(): Promise<void> {
    for (let i = 0; i < MAX_RESTS; i++) {
      this.startCounting();
      await new Promise((resolve) => setTimeout(resolve, REST_MS));
      if ((await this.counted()) < 1_000 * REST_CPU_MS) return;
    }
  }

  async end(): Promise<void> {
    const gone = onceEvent(this.#child, 'exit');
    this.#tell('exit');
    await gone;
  }

  startCounting(): void {
    this.#tell('start');
  }

  /** µs of processor time since `startCounting`. */
  async counted(): Promise<number> {
    const answer = onceEvent(this.#child, 'message');
    this.#tell('stop');
    const [{ cpu }] = (await answer) as [Reading];
    return cpu;
  }

  #tell(word: Word): void {
    this.#child.send(word);
  }
}

/** For the server: tells its URL, and from then on does what it is told. */
export function obey(url: string, close: () => Promise<unknown>): void {
  process.send?.({ url });
  let from = process.cpuUsage();
  process.on('message', (word: Word) => {
    if (word === 'start') from = process.cpuUsage();
    if (word === 'stop') {
      const { user, system } = process.cpuUsage(from);
      process.send?.({ cpu: user + system } satisfies Reading);
    }
    if (word === 'exit') void close().finally(() => process.exit(0));
  });
}
