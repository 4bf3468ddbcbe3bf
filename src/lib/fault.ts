/** The verdict of a rule: `null`, or a `Fault`. Rules never throw; a caller that cannot go on throws the fault. */

import { type ErrorCode, TesseraError } from './errors.js';

export interface Fault {
  readonly code: ErrorCode;
  /** Text for the person who reads it, as a sentence. */
  readonly message: string;
}

/** Result of a rule: its fault, or null when the rule holds. */
export type Verdict = Fault | null;

/** A fault of the given code. */
export function fault(code: ErrorCode, message: string): Fault {
  return { code, message };
}

/** Tells a fault from the result of a rule that otherwise returns something, such as an index. */
export function isFault(value: object): value is Fault {
  return 'code' in value && 'message' in value;
}

/** Throws the fault as a `TesseraError`; does nothing when the rule holds. */
export function assertSound(verdict: Verdict): void {
  if (verdict !== null) throw new TesseraError(verdict.code, verdict.message);
}
