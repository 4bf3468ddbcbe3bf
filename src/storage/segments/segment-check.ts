/** Compares the bytes of a closed segment with its name, which has the digest of its records. */

import { createHash } from 'node:crypto';
import { closedName, rangeOf } from './names.js';
import { footerLength, type Range, type ReadSegment, readFooter } from './scan.js';

const READ_BYTES = 1024 * 1024;

/** True when the segment has the digest of its name and a sound footer. */
export async function isSegment(name: string, size: number, read: ReadSegment): Promise<boolean> {
  const check = new SegmentCheck(name, size);
  for (let at = 0; at < size; at += READ_BYTES) check.update(await read(at, Math.min(READ_BYTES, size - at)));
  return check.isRight();
}

/** Compares the bytes of a closed segment with its name as they arrive. */
export class SegmentCheck {
  readonly #name: string;
  readonly #size: number;
  readonly #range: Range;
  /** Offset of the footer, where the records end. */
  readonly #end: number;
  readonly #hash = createHash('sha256');
  readonly #footer: Uint8Array[] = [];
  #length = 0;

  constructor(name: string, size: number) {
    this.#name = name;
    this.#size = size;
    this.#range = rangeOf(name) ?? { first: 0, last: -1 };
    this.#end = size - footerLength(this.#range.last - this.#range.first + 1);
  }

  update(chunk: Uint8Array): void {
    const left = Math.min(Math.max(this.#end - this.#length, 0), chunk.length);
    this.#length += chunk.length;
    if (this.#end < 0 || this.#length > this.#size) return;
    this.#hash.update(chunk.subarray(0, left));
    if (left < chunk.length) this.#footer.push(chunk.slice(left));
  }

  async isRight(): Promise<boolean> {
    if (this.#end < 0 || this.#length !== this.#size) return false;
    const bytes = Buffer.concat(this.#footer);
    const read: ReadSegment = async (offset, length) => bytes.subarray(offset - this.#end, offset - this.#end + length);
    const footer = await readFooter(read, this.#range, this.#size);
    return footer?.digest.equals(this.#hash.digest()) === true && closedName(footer) === this.#name;
  }
}
