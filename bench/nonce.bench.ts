/** Measures the nonce search against the bare hash loop under it: what splicing, comparing and looking at the flag cost. */

import { createSHA3 } from 'hash-wasm';
import { encodeHeader } from '../src/chain/codec.js';
import type { BlockHeader } from '../src/chain/types.js';
import { NONCE_LENGTH, NonceSearcher, searchJobOf } from '../src/miner/nonce-search.js';
import { printRow, printSection } from './report.js';

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
  const searcher = await NonceSearcher.create();
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
    searcher.search(job, 0, (hashes) => Atomics.load(flag, 0) !== 0 || hashes >= options.hashes).hashes;
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

/** A header as miners get it, with a seed value of the usual length. */
function exampleHeader(): BlockHeader {
  return {
    version: 6,
    bits: 0n,
    nonce: new Uint8Array(),
    miningTxHash: `g${'1'.repeat(31)}`,
    bNum: 5n,
    timestamp: 1_700_000_000n,
    difficulty: IMPOSSIBLE,
    seedValue: new Uint8Array(236).fill(0x35),
    previousHash: `b${'2'.repeat(64)}`,
    merkleRoot: '3'.repeat(64),
    txsHash: '4'.repeat(64),
  };
}

export async function nonceBench(): Promise<void> {
  printSection('Nonce search on one thread, against the bare hash of the same header');
  const rates = await measureNonceSearch(exampleHeader(), { hashes: 200_000, rounds: 5 });
  printRow({ name: `bare hash of ${rates.headerBytes} bytes`, value: rates.bare, unit: 'H/s' });
  printRow({ name: 'nonce search', value: rates.search, unit: 'H/s', against: ['bare', rates.bare] });
}
