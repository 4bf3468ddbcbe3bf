/** What the mempool puts into a block at most, storage takes; what is more, it does not (docs/chain.md#blocks). */

import { expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { assemble, signInputs, txOut, unsignedInput } from '../../src/chain/builders.js';
import { BLOCK_SIZE_IN_TX } from '../../src/chain/constants.js';
import { parseGenesis } from '../../src/chain/genesis.js';
import { outPointKey } from '../../src/chain/transaction.js';
import type { Transaction } from '../../src/chain/types.js';
import { account } from '../support/mempool.js';
import { createPair } from '../support/mempool-and-archive.js';

const LARGE = 5_000;
const alice = account('alice');

const genesisWith = (outputs: number, blockRules = {}) =>
  parseGenesis({
    mempool_seed_utxo: { '000000': Array.from({ length: outputs }, () => ({ address: alice.address, amount: 1_000 })) },
    // Blocks are cut by hand here.
    block_rules: { start: 'interval', ...blockRules },
  });

function payment(n: number): Transaction {
  const outPoint = { tHash: '000000', n };
  const outputs = [txOut(tokenAsset(1_000n), alice.address)];
  const keys = new Map([[outPointKey(outPoint), alice.key]]);
  return assemble({ inputs: signInputs([unsignedInput(outPoint)], outputs, keys), outputs });
}

it.each([
  { name: '2,000', most: BLOCK_SIZE_IN_TX, blockRules: {} },
  { name: 'as many as the genesis file says, such as 3', most: 3, blockRules: { max_transactions: 3 } },
])('a block has $name single transactions at most, whoever makes it', async (limits) => {
  const { most, blockRules } = limits;
  const genesis = genesisWith(most + 1, blockRules);
  const pair = await createPair({ genesis, miner: alice, onDemand: true });
  try {
    await pair.cut();
    const payments = Array.from({ length: most + 1 }, (_, n) => payment(n));
    expect(await pair.storageVerdict(pair.blockOf(payments))).toBe('size');
    await pair.mempool.submit(payments);
    expect((await pair.cut()).transactions).toHaveLength(most);
    expect((await pair.cut()).transactions).toHaveLength(1);
    expect(pair.refusals).toEqual([]);
  } finally {
    await pair.close();
  }
});

it('a block of 5,000 transactions is cut, mined, checked and stored where the genesis file allows it', {
  timeout: 300_000,
}, async () => {
  const genesis = genesisWith(LARGE, { max_transactions: LARGE });
  const pair = await createPair({ genesis, miner: alice, onDemand: true, poolSize: LARGE });
  try {
    await pair.cut();
    const payments = Array.from({ length: LARGE }, (_, n) => payment(n));
    for (let from = 0; from < LARGE; from += 1_000) await pair.mempool.submit(payments.slice(from, from + 1_000));
    expect((await pair.cut()).transactions).toHaveLength(LARGE);
    expect(pair.refusals).toEqual([]);
  } finally {
    await pair.close();
  }
});
