/** CRC-32C as LevelDB stores it: rotated and shifted, so that checksums of checksums are safe. */

import { crc32c } from '@node-rs/crc32';
import { asBuffer } from '../../lib/bytes.js';

const MASK_DELTA = 0xa282ead8;

export function maskedCrc32c(bytes: Uint8Array): number {
  return masked(nextCrc32c(bytes, 0));
}

/** The checksum of what `before` is the checksum of, and `bytes` behind it; not masked. */
export function nextCrc32c(bytes: Uint8Array, before: number): number {
  return crc32c(asBuffer(bytes), before);
}

function masked(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;
}
