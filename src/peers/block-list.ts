/** The attachment of the `blocks` message: encoded blocks with everything in them, `u32 le length ‖ FullBlock` for each. */

import { asBuffer, concatBytes } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';

const LENGTH_BYTES = 4;

/** The attachment of a `blocks` message. */
export function joinBlocks(blocks: readonly Uint8Array[]): Uint8Array {
  return concatBytes(
    ...blocks.flatMap((block) => {
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt32LE(block.length);
      return [length, block];
    }),
  );
}

/** The blocks of an attachment. Throws `protocol_violation` when it does not hold exactly `count`. */
export function splitBlocks(attachment: Uint8Array, count: number): Uint8Array[] {
  const buffer = asBuffer(attachment);
  const blocks: Uint8Array[] = [];
  let at = 0;
  while (at < buffer.length) {
    const start = at + LENGTH_BYTES;
    const end = start <= buffer.length ? start + buffer.readUInt32LE(at) : Number.POSITIVE_INFINITY;
    if (end > buffer.length) throw new TesseraError('protocol_violation', 'a block in the answer is cut');
    blocks.push(attachment.subarray(start, end));
    at = end;
  }
  if (blocks.length !== count) {
    throw new TesseraError('protocol_violation', `the answer holds ${blocks.length} blocks and says ${count}`);
  }
  return blocks;
}
