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

const TOO_MANY = BLOCK_SIZE_IN_TX + 1;
const alice = account('alice');
const genesis = parseGenesis({
  mempool_seed_utxo: { '000000': Array.from({ length: TOO_MANY }, () => ({ address: alice.address, amount: 1_000 })) },
});

function payment(n: number): Transaction {
  const outPoint = { tHash: '000000', n };
  const outputs = [txOut(tokenAsset(1_000n), alice.address)];
  const keys = new Map([[outPointKey(outPoint), alice.key]]);
  return assemble({ inputs: signInputs([unsignedInput(outPoint)], outputs, keys), outputs });
}

it('a block has 2,000 single transactions at most, whoever makes it', { timeout: 120_000 }, async () => {
  const pair = await createPair({ genesis, miner: alice, onDemand: true });
  try {
    await pair.cut();
    const payments = Array.from({ length: TOO_MANY }, (_, n) => payment(n));
    expect(await pair.storageVerdict(pair.blockOf(payments))).toBe('size');
    await pair.mempool.submit(payments);
    expect((await pair.cut()).transactions).toHaveLength(BLOCK_SIZE_IN_TX);
    expect((await pair.cut()).transactions).toHaveLength(1);
    expect(pair.refusals).toEqual([]);
  } finally {
    await pair.close();
  }
});
