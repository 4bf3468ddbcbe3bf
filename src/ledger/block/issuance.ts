/** What a block may create out of nothing: the transactions of the genesis file, the reward, issuances that fall due. */

import { encodeTransaction } from '../../chain/codec.js';
import { coinbaseFault } from '../../chain/coinbase.js';
import { U64_MAX } from '../../chain/constants.js';
import { issuanceTransactions } from '../../chain/genesis.js';
import { transactionHash } from '../../chain/hash.js';
import { blockReward } from '../../chain/reward.js';
import { isCoinbase } from '../../chain/transaction.js';
import type { FullBlock, Transaction } from '../../chain/types.js';
import { equalBytes } from '../../lib/bytes.js';
import { type ChainRules, type ChainTip, refused } from './rules.js';

/** The transactions of block 0 have the names and contents that the configuration says. Returns them by name. */
export function checkGenesis({ block, transactions }: FullBlock, { genesis }: ChainRules): [string, Transaction][] {
  const names = [...genesis.transactions.keys()];
  if (names.length !== block.transactions.length || names.some((name, i) => block.transactions[i] !== name)) {
    throw refused('genesis', 'block 0 does not list the transactions of the genesis file');
  }
  return names.map((hash, i) => {
    const transaction = transactions[i];
    const expected = genesis.transactions.get(hash);
    if (transaction === undefined || expected === undefined) {
      throw refused('genesis', `genesis transaction ${hash} is missing`);
    }
    if (!equalBytes(encodeTransaction(transaction), encodeTransaction(expected))) {
      throw refused('genesis', `genesis transaction ${hash} is not the one of the genesis file`);
    }
    return [hash, transaction];
  });
}

/** Raw units issued with the block; the mining transaction pays exactly the reward. */
export function checkSupply(full: FullBlock, tip: ChainTip, rules: ChainRules): bigint {
  const before = tip.next === 0 ? issuedBy(full.transactions) : tip.issued;
  const reward = blockReward(before);
  const wrong = coinbaseFault(full.miningTransaction, BigInt(tip.next), reward);
  if (wrong !== null) throw refused('mining-transaction', wrong.message);
  const issued = before + reward + (tip.next === 0 ? 0n : checkIssuances(full, rules));
  if (issued > U64_MAX) throw refused('issuance', 'more is issued than amounts can hold');
  return issued;
}

/** The issuances that fall due at this block, and no others, end the list. Returns what they issue. */
function checkIssuances({ block, transactions }: FullBlock, { genesis }: ChainRules): bigint {
  const due = issuanceTransactions(genesis, block.header.bNum);
  const ordinary = transactions.length - due.length;
  const last = block.transactions.slice(Math.max(ordinary, 0));
  if (ordinary < 0 || due.some((tx, i) => transactionHash(tx) !== last[i])) {
    throw refused('issuance', `the block does not end in the ${due.length} issuances that fall due`);
  }
  const stranger = transactions.slice(0, ordinary).findIndex(isCoinbase);
  if (stranger >= 0) {
    throw refused(
      'issuance',
      `transaction ${block.transactions[stranger]} issues tokens that the genesis file does not provide`,
    );
  }
  return issuedBy(due);
}

function issuedBy(transactions: readonly Transaction[]): bigint {
  let issued = 0n;
  for (const { outputs } of transactions) {
    for (const { value } of outputs) if (value.kind === 'token') issued += value.amount;
  }
  return issued;
}
