/** The seed and the witness in the header of a block of original nodes, as far as they can be made again (docs/chain.md#unicorn). */

import type { Era } from '../../chain/eras.js';
import type { Block } from '../../chain/types.js';
import { createUnicorn, encodeSocketAddresses, seedValueOf, unicornSeed } from '../../chain/unicorn.js';
import { fromUtf8 } from '../../lib/bytes.js';
import { type BlockFault, blockFault, type ChainTip } from './rules.js';

/** Most iterations of sloth that are checked in every block; a thousand take a good part of a second. */
const CHEAP_ITERATIONS = 8;
/** With more iterations, one block in so many is checked. */
const SAMPLED = 1_000;
const OTHER_SEED = blockFault(
  'unicorn',
  'the seed is not that of its round; if a miner has joined, run tessera import',
);
const SEED_VALUE = /^(\d{1,78})-(\d{1,400})$/;

/** Fault of the witness, and of the seed where the network has one miner. */
export function unicornFault({ header, transactions }: Block, tip: ChainTip, era: Era): BlockFault | null {
  const { unicorn } = era;
  if (unicorn === null) return null;
  const [, seed] = SEED_VALUE.exec(fromUtf8(header.seedValue)) ?? [];
  if (seed === undefined) return blockFault('unicorn', 'the header has no seed and witness');
  const isCheap = unicorn.iterations <= CHEAP_ITERATIONS || tip.next % SAMPLED === 0;
  if (isCheap && fromUtf8(seedValueOf(createUnicorn(BigInt(seed), unicorn))) !== fromUtf8(header.seedValue)) {
    return blockFault('unicorn', 'the witness in the header does not follow from its seed');
  }
  // With several miners a seed depends on proofs that lost, which no block carries.
  if (unicorn.miners.length !== 1 || (tip.next > 0 && tip.coinbase === undefined)) return null;
  const participants = encodeSocketAddresses(tip.next === 0 ? [] : unicorn.miners);
  const made = unicornSeed({ transactions, participants, winners: tip.coinbase === undefined ? [] : [tip.coinbase] });
  return made === BigInt(seed) ? null : OTHER_SEED;
}
