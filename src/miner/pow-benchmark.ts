/** Measures the nonce search against the bare hash loop under it: what splicing, comparing and looking at the flag cost. */

import { createSHA3 } from 'hash-wasm';
import { encodeHeader } from '../chain/codec.js';
import type { BlockHeader } from '../chain/types.js';
import { createNonceSearcher, NONCE_LENGTH, searchJobOf } from './nonce-search.js';

export interface NonceSearchRates {
  /** Hashes a second on one thread. */
  readonly search: number;
  readonly bare: number;
  /** `search / bare`; the aim is 0.9. */
  readonly ratio: number;
  /** Bytes hashed each time. */
  readonly headerBytes: number;
}

/** No hash is 0. */
const IMPOSSIBLE = Uint8Array.of(1, 0, 0, 0);

/** Runs both loops in turn, `rounds` times `hashes` each, and takes the best round of each: the quietest the machine was. */
export async function measureNonceSearch(
  header: BlockHeader,
  options: { readonly hashes: number; readonly rounds: number },
): Promise<NonceSearchRates> {
  const job = searchJobOf({ ...header, difficulty: IMPOSSIBLE });
  const search = await createNonceSearcher();
  const sha3 = await createSHA3(256);
  const flag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const bytes = Uint8Array.from(encodeHeader({ ...header, nonce: new Uint8Array(NONCE_LENGTH) }));
  const bareLoop = (): number => {
    for (let i = 0; i < options.hashes; i++) {
      sha3.init();
      sha3.update(bytes);
      sha3.digest('binary');
    }
    return options.hashes;
  };
  const searchLoop = (): number =>
    search(job, 0, (hashes) => Atomics.load(flag, 0) !== 0 || hashes >= options.hashes).hashes;
  let bare = 0;
  let searched = 0;
  for (let round = 0; round < options.rounds; round++) {
    bare = Math.max(bare, rateOf(bareLoop));
    searched = Math.max(searched, rateOf(searchLoop));
  }
  return { search: searched, bare, ratio: searched / bare, headerBytes: bytes.length };
}

function rateOf(loop: () => number): number {
  const start = performance.now();
  const hashes = loop();
  return (hashes * 1_000) / (performance.now() - start);
}
