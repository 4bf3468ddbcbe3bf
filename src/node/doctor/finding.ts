/** The findings of `tessera doctor`, one line each. */

import { errorMessage, isTesseraError } from '../../lib/errors.js';

export type Verdict = 'ok' | 'warn' | 'fail';

export interface Finding {
  /** Name of the check: `folder`, `peer 10.0.0.7:12300`. */
  readonly check: string;
  readonly verdict: Verdict;
  readonly found: string;
  readonly advice?: string;
}

/** A part of the examination; `name` is the check of its finding when it does not finish in time. */
export interface Examination {
  readonly name: string;
  run(signal: AbortSignal): Promise<readonly Finding[]>;
}

export const ok = (check: string, found: string): Finding => ({ check, verdict: 'ok', found });
export const warn = (check: string, found: string, advice: string): Finding => ({
  check,
  verdict: 'warn',
  found,
  advice,
});
export const fail = (check: string, found: string, advice: string): Finding => ({
  check,
  verdict: 'fail',
  found,
  advice,
});

/** Code and message of an error: `data_lost: the log is missing`. */
export function reasonOf(error: unknown): string {
  return isTesseraError(error) ? `${error.code}: ${error.message}` : errorMessage(error);
}
