/** What can be fuzzed, and how a finding looks. */

import { isTesseraError } from '../../src/lib/errors.js';
import type { Dice } from './dice.js';

export interface FuzzTarget {
  readonly name: string;
  /** A sound input: what changes begin with. */
  seed(dice: Dice): Uint8Array;
  /** A change that keeps the form, so that it gets past the first check; used for some of the changes. */
  change?(input: Uint8Array, dice: Dice): Uint8Array;
  /** Throws when the input gets what it must not get; gives a word for how it ended, for the table of the run. */
  run(input: Uint8Array): string | Promise<string>;
  /** Throws when something is left over from all the runs. */
  close?(): Promise<void>;
}

/** Fails the run. */
export function mustBe(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(what);
}

/** The value, or the code of the documented error that came instead; any other error is a finding. */
export async function documented<T>(
  work: () => T | Promise<T>,
  codes: readonly string[],
): Promise<{ readonly value: T } | { readonly code: string }> {
  try {
    return { value: await work() };
  } catch (error) {
    if (isTesseraError(error) && codes.includes(error.code)) return { code: error.code };
    throw error;
  }
}
