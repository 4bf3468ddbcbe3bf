/**
 * The verdict of a rule: `null` when it holds, or a `Fault` that names what is wrong. Rules return verdicts and never throw
 * them; whoever cannot go on throws the fault as an error.
 */

import { type ErrorCode, TesseraError } from './errors.js';

export interface Fault {
  readonly code: ErrorCode;
  /** A sentence for the person who reads it. */
  readonly message: string;
}

/** What a rule returns. */
export type Verdict = Fault | null;

/** A fault of the given code. */
export function fault(code: ErrorCode, message: string): Fault {
  return { code, message };
}

/** True for the fault of a rule that otherwise gives something: a place, an admission. */
export function isFault(value: object): value is Fault {
  return 'code' in value && 'message' in value;
}

/** Throws the fault as a `TesseraError`; does nothing when the rule holds. */
export function assertSound(verdict: Verdict): void {
  if (verdict !== null) throw new TesseraError(verdict.code, verdict.message);
}
