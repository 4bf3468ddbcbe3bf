/** Snappy, as LevelDB compresses the blocks of its tables. */

import { uncompressSync } from 'snappy';
import { asBuffer } from '../../lib/bytes.js';
import { VarintReader } from './varints.js';

/** Largest block that is accepted. */
const MAX_LENGTH = 64 * 1024 * 1024;

/** A `RangeError` says that the data is damaged. */
export function snappyDecode(input: Uint8Array): Uint8Array {
  if (new VarintReader(input).varint() > MAX_LENGTH) throw new RangeError('too long');
  try {
    return asBuffer(uncompressSync(asBuffer(input), { asBuffer: true }) as Buffer);
  } catch (cause) {
    throw new RangeError('cannot be uncompressed', { cause });
  }
}
