/** Issuance in a block: the transactions of the genesis file, the reward, issuances that fall due. */

import { encodeTransaction } from '../../chain/codec.js';
import { blockReward, coinbaseFault } from '../../chain/coinbase.js';
import { U64_MAX } from '../../chain/constants.js';
import { eraAt } from '../../chain/eras.js';
import { issuanceTransactions } from '../../chain/genesis.js';
import { transactionHash } from '../../chain/hash.js';
import { isCoinbase } from '../../chain/transaction.js';
import type { FullBlock, Transaction } from '../../chain/types.js';
import { equalBytes } from '../../lib/bytes.js';
import { type BlockFault, blockFault, type ChainRules, type ChainTip } from './rules.js';

/** The transactions of block 0 have the names and contents of the genesis file. */
export function genesisFault({ block, transactions }: FullBlock, { genesis }: ChainRules): BlockFault | null {
  const expected = [...genesis.transactions];
  const isListed = expected.length === block.transactions.length;
  if (!isListed || expected.some(([name], i) => block.transactions[i] !== name)) {
    return blockFault('genesis', 'block 0 does not list the transactions of the genesis file');
  }
  for (const [i, [name, transaction]] of expected.entries()) {
    const brought = transactions[i];
    if (brought === undefined) return blockFault('genesis', `genesis transaction ${name} is missing`);
    if (!equalBytes(encodeTransaction(brought), encodeTransaction(transaction))) {
      return blockFault('genesis', `genesis transaction ${name} is not the one of the genesis file`);
    }
  }
  return null;
}

/** Raw units issued up to this block and with it, if it meets the rules. */
export function issuedAfter(full: FullBlock, tip: ChainTip, { genesis }: ChainRules): bigint {
  const before = issuedBefore(full, tip);
  const due = tip.next === 0 ? [] : issuanceTransactions(genesis, full.block.header.bNum);
  return before + blockReward(before, eraAt(genesis.eras, tip.next)) + issuedBy(due);
}

/** The coinbase pays exactly the reward, and nothing is issued but what the genesis file provides. */
export function supplyFault(full: FullBlock, tip: ChainTip, rules: ChainRules): BlockFault | null {
  const era = eraAt(rules.genesis.eras, tip.next);
  const wrong = coinbaseFault(full.miningTransaction, BigInt(tip.next), blockReward(issuedBefore(full, tip), era), era);
  if (wrong !== null) return blockFault('mining-transaction', wrong.message);
  const unfounded = tip.next === 0 ? null : issuancesFault(full, rules);
  if (unfounded !== null) return unfounded;
  const isTooMuch = issuedAfter(full, tip, rules) > U64_MAX;
  return isTooMuch ? blockFault('issuance', 'more is issued than amounts can hold') : null;
}

/** The issuances that fall due at this block, and no others, end the list. */
function issuancesFault({ block, transactions }: FullBlock, { genesis }: ChainRules): BlockFault | null {
  const due = issuanceTransactions(genesis, block.header.bNum);
  const ordinary = transactions.length - due.length;
  const last = block.transactions.slice(Math.max(ordinary, 0));
  if (ordinary < 0 || due.some((tx, i) => transactionHash(tx) !== last[i])) {
    return blockFault('issuance', `the block does not end in the ${due.length} issuances that fall due`);
  }
  const stranger = transactions.slice(0, ordinary).findIndex(isCoinbase);
  if (stranger < 0) return null;
  const name = block.transactions[stranger];
  return blockFault('issuance', `transaction ${name} issues tokens that the genesis file does not provide`);
}

function issuedBefore({ transactions }: FullBlock, tip: ChainTip): bigint {
  return tip.next === 0 ? issuedBy(transactions) : tip.issued;
}

function issuedBy(transactions: readonly Transaction[]): bigint {
  let issued = 0n;
  for (const { outputs } of transactions) {
    for (const { value } of outputs) if (value.kind === 'token') issued += value.amount;
  }
  return issued;
}
