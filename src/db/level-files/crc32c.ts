/** CRC-32C as LevelDB stores it: the Castagnoli polynomial, rotated and shifted so that checksums of checksums are safe. */

/** The polynomial, bits reversed. */
const CASTAGNOLI = 0x82f63b78;
const MASK_DELTA = 0xa282ead8;

const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ CASTAGNOLI : crc >>> 1;
  return crc;
});

export function maskedCrc32c(bytes: Uint8Array): number {
  let crc = -1;
  for (let i = 0; i < bytes.length; i++) crc = (TABLE[(crc ^ (bytes[i] ?? 0)) & 0xff] ?? 0) ^ (crc >>> 8);
  crc = ~crc;
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;
}
