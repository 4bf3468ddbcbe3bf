/** CRC-32C as LevelDB stores it: rotated and shifted, so that checksums of checksums are safe. */

import { crc32c } from '@node-rs/crc32';
import { asBuffer } from '../../lib/bytes.js';

const MASK_DELTA = 0xa282ead8;

export function maskedCrc32c(bytes: Uint8Array): number {
  const crc = crc32c(asBuffer(bytes));
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;
}
