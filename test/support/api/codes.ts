/** The catalogue of error codes, for tests. */

import { ERROR_CODES } from '../../../src/lib/errors.js';

export function isErrorCode(code: unknown): boolean {
  return typeof code === 'string' && Object.hasOwn(ERROR_CODES, code);
}
