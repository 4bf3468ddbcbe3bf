/** Reading the value of a record (rule P3); a file of its own because it runs in browsers too. */

import { BincodeReader } from '../chain/bincode.js';
import { type ErrorCode, TesseraError } from '../lib/errors.js';

/** The value that `read` makes of the bytes, which it must use up. Throws `data_corrupt`, or `code`, whatever goes wrong. */
export function decodeRecord<T>(
  what: string,
  bytes: Uint8Array,
  read: (reader: BincodeReader) => T,
  code: ErrorCode = 'data_corrupt',
): T {
  try {
    const reader = new BincodeReader(bytes);
    const value = read(reader);
    reader.end();
    return value;
  } catch (cause) {
    throw new TesseraError(code, `a stored ${what} cannot be read: restore a backup of the data directory`, { cause });
  }
}

/** The item of a list whose index a byte of the record gives. */
export function readChoice<T>(reader: BincodeReader, choices: readonly T[]): T {
  const choice = choices[reader.u8()];
  if (choice === undefined) throw new RangeError('no such choice');
  return choice;
}
