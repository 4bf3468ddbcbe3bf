/** Rules that a genesis file does not know (`find` in docs/chain.md#eras), as the blocks show them. */

import { blockReward } from '../../chain/coinbase.js';
import { type Era, eraAt } from '../../chain/eras.js';
import { pay2pkhParts } from '../../chain/script/builders.js';
import { outPointSignable } from '../../chain/signable.js';
import type { FullBlock, Transaction } from '../../chain/types.js';
import type { ChainTip } from '../../ledger/block/rules.js';
import { unicornFault } from '../../ledger/block/unicorn.js';

/** Most mempool nodes that a reward is divided by. */
const MOST_NODES = 100;
const OTHER_MINERS = 'seeds that the addresses of the miners do not give';
const UNKNOWN_SEEDS = 'seeds and witnesses that the settings do not give';

/**
 * The eras by which the next block may be valid. Whether it is, the rules say afterwards: a source that lies here is refused
 * there, or has made a chain by other rules of original nodes. `issued`: raw units before its coinbase. `found`: what is
 * new, in words.
 */
export function findRules(eras: readonly Era[], full: FullBlock, tip: ChainTip, issued: bigint) {
  const era = eraAt(eras, tip.next);
  if (era.find.length === 0) return { eras, found: [] };
  const seen: Partial<Era>[] = [];
  if (era.find.includes('header')) seen.push({ header: full.block.header.layout ?? 'current' });
  if (era.find.includes('mempool_nodes')) seen.push(dividedBy(full, issued));
  if (era.find.includes('signatures')) seen.push(signedAs(full.transactions, era));
  if (era.find.includes('miners')) seen.push(seededBy(full, tip, era));
  const now: Era = Object.assign({ ...era }, ...seen);
  if (Object.entries(now).every(([name, rule]) => era[name as keyof Era] === rule)) return { eras, found: [] };
  const found = wordsOf(era, now).map((words) => `from block ${tip.next}: ${words}`);
  // An era begins only when a rule was found; else the old one goes on.
  const from = found.length === 0 ? era.from : tip.next;
  const others = eras.filter((one) => one.from !== from);
  return { eras: [...others, { ...now, from }].sort((a, b) => a.from - b.from), found };
}

function wordsOf(before: Era, { header, mempoolNodes, signatures, unicorn }: Era): string[] {
  return [
    ...(header === before.header ? [] : [`headers in the layout "${header}"`]),
    ...(mempoolNodes === before.mempoolNodes ? [] : [`rewards divided by ${mempoolNodes}`]),
    ...(signatures === before.signatures ? [] : [`signatures over the ${signatures}`]),
    ...(unicorn === before.unicorn ? [] : [unicorn === null ? UNKNOWN_SEEDS : OTHER_MINERS]),
  ];
}

function dividedBy({ miningTransaction }: FullBlock, issued: bigint): Partial<Era> {
  const [output] = miningTransaction.outputs;
  for (let mempoolNodes = 1; mempoolNodes <= MOST_NODES; mempoolNodes++) {
    if (blockReward(issued, { mempoolNodes }) === output?.value.amount) return { mempoolNodes };
  }
  return {};
}

/** Since the first signature over the outputs there was no other. */
function signedAs(transactions: readonly Transaction[], { find }: Era): Partial<Era> {
  for (const { inputs } of transactions) {
    for (const { previousOut, script } of inputs) {
      const parts = previousOut === null ? undefined : pay2pkhParts(script);
      if (previousOut === null || parts === undefined) continue;
      if (parts.data === outPointSignable(previousOut)) return { signatures: 'outpoint' };
      return { signatures: 'outputs', find: find.filter((name) => name !== 'signatures') };
    }
  }
  return {};
}

/** Where a miner was known to others by another address, the seeds stay unchecked; with other parameters the witnesses too. */
function seededBy({ block }: FullBlock, tip: ChainTip, era: Era): Partial<Era> {
  if (era.unicorn === null || unicornFault(block, tip, era) === null) return {};
  const unicorn = { ...era.unicorn, miners: [] };
  return { unicorn: unicornFault(block, tip, { ...era, unicorn }) === null ? unicorn : null };
}
