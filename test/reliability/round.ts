/** One fault and the judgement behind it. */

import { errorMessage } from '../../src/lib/errors.js';
import type { Chance } from './chance.js';
import type { FourNodes } from './four-nodes.js';

export interface Round {
  /** The chapter of the campaign that it belongs to. */
  readonly part: string;
  readonly name: string;
  /** On nodes whose disks and clocks can be made to fail. */
  readonly needsFaulty?: boolean;
  /**
   * Does the damage while the nodes are written to, and starts again what it has ended, as docs/operations.md says. Resolves
   * with what came of it, in a few words; throws when something was not as it must be.
   */
  run(four: FourNodes, chance: Chance): Promise<string>;
}

export interface Outcome {
  readonly part: string;
  readonly name: string;
  readonly result: 'passed' | 'failed';
  /** What came of it, or what is wrong. */
  readonly detail: string;
  readonly seconds: number;
}

/** Runs one round and judges. */
export async function runRound({ part, name, run }: Round, four: FourNodes, chance: Chance): Promise<Outcome> {
  const begun = performance.now();
  const faults: string[] = [];
  let detail = '';
  four.write();
  try {
    detail = await run(four, chance);
  } catch (error) {
    faults.push(errorMessage(error));
  }
  faults.push(...(await four.judge()));
  const seconds = (performance.now() - begun) / 1_000;
  const result = faults.length === 0 ? 'passed' : 'failed';
  return { part, name, result, detail: faults.length === 0 ? detail : faults.join('; '), seconds };
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
