/** The search for a nonce, in a worker thread (`pow-worker.ts`) or inline. Every searcher has its own range. */

import { createSHA3, type IHasher } from 'hash-wasm';
import { encodeHashedHeader } from '../chain/codec.js';
import { targetBytes } from '../chain/pow.js';
import type { BlockHeader } from '../chain/types.js';
import { TesseraError } from '../lib/errors.js';

/** Bytes of a nonce: 2 for the range, 6 for the counter. The chain accepts 1 to 32. */
export const NONCE_LENGTH = 8;
/** Bytes of a nonce as original nodes have them: 1 for the range, 3 for the counter. */
export const ORIGINAL_NONCE_LENGTH = 4;
/** Number of ranges that searchers can have. */
export const MAX_RANGES = 0x1_0000;
/** Hashes between two checks of the stop flag: half a millisecond. */
const HASHES_PER_CHECK = 1_024;

/** A search, in a form that can be sent to a thread. */
export interface SearchJob {
  /** Bytes of the header, the coinbase in it, and `nonceLength` bytes for the nonce. */
  readonly header: Uint8Array;
  readonly nonceOffset: number;
  readonly nonceLength: number;
  /** The largest valid hash, 32 bytes, big-endian. */
  readonly target: Uint8Array;
}

/** The job for a header whose coinbase is set. Throws `invalid_request` when its difficulty is malformed. */
export function searchJobOf(header: BlockHeader, nonceLength = NONCE_LENGTH): SearchJob {
  const target = targetBytes(header.difficulty);
  if (target === undefined) {
    throw new TesseraError('invalid_request', `a difficulty has 0 or 4 bytes, not ${header.difficulty.length}`);
  }
  const bytes = encodeHashedHeader({ ...header, nonce: new Uint8Array(nonceLength) });
  // The nonce is where another nonce changes the first byte. So only the codec knows the layout.
  const other = encodeHashedHeader({ ...header, nonce: new Uint8Array(nonceLength).fill(0xff) });
  return { header: bytes, nonceOffset: bytes.findIndex((byte, i) => byte !== other[i]), nonceLength, target };
}

/** Searches in one range, one search at a time. */
export class NonceSearcher {
  readonly #sha3: IHasher;

  private constructor(sha3: IHasher) {
    this.#sha3 = sha3;
  }

  static async create(): Promise<NonceSearcher> {
    return new NonceSearcher(await createSHA3(256));
  }

  /** Searches until a nonce is found or `isStopped` says so: then it is undefined. */
  search(job: SearchJob, range: number, isStopped: (hashes: number) => boolean) {
    const sha3 = this.#sha3;
    const header = Uint8Array.from(job.header);
    const nonce = header.subarray(job.nonceOffset, job.nonceOffset + job.nonceLength);
    // The range takes a quarter of the bytes.
    const rangeLength = nonce.length / 4;
    for (let i = 0; i < rangeLength; i++) nonce[i] = range >>> (8 * i);
    const { target } = job;
    let hashes = 0;
    while (!isStopped(hashes)) {
      for (let i = 0; i < HASHES_PER_CHECK; i++) {
        sha3.init();
        sha3.update(header);
        if (isAtMost(sha3.digest('binary'), target)) return { nonce: nonce.slice(), hashes: hashes + i + 1 };
        count(nonce, rangeLength);
      }
      hashes += HASHES_PER_CHECK;
    }
    return { nonce: undefined, hashes };
  }
}

/** Compares two hashes of 32 bytes, big-endian. Usually the first byte decides. */
function isAtMost(hash: Uint8Array, target: Uint8Array): boolean {
  for (let i = 0; i < hash.length; i++) {
    const difference = (hash[i] ?? 0) - (target[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return true;
}

/** Counts up to the next nonce of the range: the counter is little-endian, after the bytes of the range. */
function count(nonce: Uint8Array, rangeLength: number): void {
  for (let i = rangeLength; i < nonce.length; i++) {
    const next = ((nonce[i] ?? 0) + 1) & 0xff;
    nonce[i] = next;
    if (next !== 0) return;
  }
}
