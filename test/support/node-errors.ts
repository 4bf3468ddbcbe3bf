/** Errors as the client library throws them. */

import { type ErrorCode, NoAnswer, TesseraError } from '../../src/sdk/client.js';

/** No answer came, and the node may have acted. */
export const lostAnswer = (): NoAnswer => new NoAnswer('http://node', new Error('gone'));

export function refusal(code: ErrorCode, message: string, status: number): TesseraError {
  return new TesseraError(code, message, { details: { status } });
}
