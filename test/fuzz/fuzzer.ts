/**
 * Runs a target with inputs that it was not made for: the kept ones, sound ones, and changes of both. An input that reaches
 * code that none before it has reached is changed further. A finding is made as small as it can be and thrown.
 */

import { errorMessage } from '../../src/lib/errors.js';
import { readCorpus } from './corpus.js';
import { Coverage } from './coverage.js';
import { Dice } from './dice.js';
import { mutate } from './mutate.js';
import type { FuzzTarget } from './target.js';

export interface FuzzOptions {
  readonly runs: number;
  readonly seed: number;
  /** Ends earlier when so many milliseconds are over. */
  readonly maxMs?: number;
}

export interface FuzzReport {
  /** Inputs that were made up. */
  readonly runs: number;
  /** How inputs ended → how many. */
  readonly endings: ReadonlyMap<string, number>;
  /** Inputs that reached new code. */
  readonly interesting: number;
  /** Functions of `src/` reached. */
  readonly functions: number;
  readonly seconds: number;
  /** Milliseconds of the slowest input. */
  readonly slowestMs: number;
}

/** An input that got what it must not get. */
export class Finding extends Error {
  readonly input: Uint8Array;

  constructor(target: string, input: Uint8Array, cause: unknown) {
    super(`${target}: ${errorMessage(cause)}, by ${Buffer.from(input).toString('hex').slice(0, 2_000)}`, { cause });
    this.name = 'Finding';
    this.input = input;
  }
}

/** Inputs between two looks at the coverage, which cost a few milliseconds each. */
const BATCH = 64;
/** Interesting inputs that are kept in memory. */
const MAX_POOL = 2_000;
/** One input in so many is sound as it is. */
const SOUND_ONE_IN = 8;
/** One changed input in so many begins with a new one, the others with one that led to new code. */
const FRESH_ONE_IN = 2;
/** Tries to make a finding smaller. */
const MAX_SHRINKS = 400;

export async function fuzz(
  target: FuzzTarget,
  { runs, seed, maxMs = Number.POSITIVE_INFINITY }: FuzzOptions,
): Promise<FuzzReport> {
  return new FuzzRun(target, new Dice(seed)).go(runs, performance.now() + maxMs);
}

class FuzzRun {
  readonly #target: FuzzTarget;
  readonly #dice: Dice;
  readonly #coverage = new Coverage();
  readonly #pool: Uint8Array[] = [];
  readonly #endings = new Map<string, number>();
  #slowestMs = 0;

  constructor(target: FuzzTarget, dice: Dice) {
    this.#target = target;
    this.#dice = dice;
  }

  async go(runs: number, deadline: number): Promise<FuzzReport> {
    const begun = performance.now();
    for (const { bytes } of readCorpus(this.#target.name)) {
      await this.#try(bytes);
      this.#pool.push(bytes);
    }
    this.#coverage.hasNews(true);
    let done = 0;
    for (let size = 0; done < runs && performance.now() < deadline; done += size) {
      size = Math.min(BATCH, runs - done);
      await this.#batch(size);
    }
    return {
      runs: done,
      endings: this.#endings,
      interesting: this.#pool.length,
      functions: this.#coverage.size,
      seconds: (performance.now() - begun) / 1_000,
      slowestMs: this.#slowestMs,
    };
  }

  async #batch(size: number): Promise<void> {
    const inputs = Array.from({ length: size }, () => this.#next());
    for (const input of inputs) await this.#try(input);
    if (!this.#coverage.hasNews(false)) return;
    // Which of them it was is found by running them again, one by one.
    for (const input of inputs) {
      await this.#try(input);
      if (this.#coverage.hasNews(true)) this.#keep(input);
    }
  }

  #keep(input: Uint8Array): void {
    if (this.#pool.length < MAX_POOL) this.#pool.push(input);
    else this.#pool[this.#dice.below(MAX_POOL)] = input;
  }

  #next(): Uint8Array {
    if (this.#pool.length === 0 || this.#dice.oneIn(SOUND_ONE_IN)) return this.#target.seed(this.#dice);
    const base = this.#dice.oneIn(FRESH_ONE_IN) ? this.#target.seed(this.#dice) : this.#dice.pick(this.#pool);
    if (this.#target.change !== undefined && this.#dice.oneIn(2)) return this.#target.change(base, this.#dice);
    return mutate(base, this.#dice.pick(this.#pool), this.#dice);
  }

  async #try(input: Uint8Array): Promise<void> {
    const begun = performance.now();
    let ending: string;
    try {
      ending = await this.#target.run(input);
    } catch (error) {
      const [small, cause] = await this.#shrink(input, error);
      throw new Finding(this.#target.name, small, cause);
    }
    this.#slowestMs = Math.max(this.#slowestMs, performance.now() - begun);
    this.#endings.set(ending, (this.#endings.get(ending) ?? 0) + 1);
  }

  /** A smaller input that fails too, and how. */
  async #shrink(input: Uint8Array, error: unknown): Promise<[Uint8Array, unknown]> {
    let [small, cause] = [input, error];
    let tries = 0;
    for (let size = Math.ceil(small.length / 2); size >= 1; size = Math.floor(size / 2)) {
      for (let at = 0; at < small.length && tries < MAX_SHRINKS; tries++) {
        const shorter = Buffer.concat([small.subarray(0, at), small.subarray(at + size)]);
        const failure = await this.#failureOf(shorter);
        if (failure === undefined) at += size;
        else [small, cause] = [shorter, failure];
      }
    }
    return [small, cause];
  }

  async #failureOf(input: Uint8Array): Promise<unknown> {
    try {
      await this.#target.run(input);
      return undefined;
    } catch (error) {
      return error;
    }
  }
}
