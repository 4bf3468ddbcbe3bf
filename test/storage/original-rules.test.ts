/** Blocks of original nodes in the archive: each rule that differs from ours, and what becomes of it after them (docs/chain.md#eras). */

import { describe, expect, it, onTestFinished } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { assemble, txOut } from '../../src/chain/builders.js';
import { eraAt } from '../../src/chain/eras.js';
import { type Genesis, issuanceTransactions, parseGenesis } from '../../src/chain/genesis.js';
import { blockHash, transactionHash } from '../../src/chain/hash.js';
import { parseBlock, parseTransaction } from '../../src/chain/json-read.js';
import { createAssetScript } from '../../src/chain/script/builders.js';
import { assetSignable } from '../../src/chain/signable.js';
import { createdOutput } from '../../src/chain/transaction.js';
import type { FullBlock, Transaction } from '../../src/chain/types.js';
import { keyPairFromSeed, sign } from '../../src/crypto/ed25519.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { outPointOfKey, UNSPENT } from '../../src/storage/archive/layout.js';
import { decodeFullBlock, encodeFullBlock } from '../support/full-block.js';
import { MemoryKv } from '../support/memory-kv.js';
import { createOriginalChain, originalGenesis, payment, realChain, spend } from '../support/original-chain.js';
import { ADDRESS, MINER } from '../support/storage/test-chain.js';

const ORIGINAL = { from: 0, made_by: 'original' };

async function archiveOf(genesis: Genesis) {
  const kv = new MemoryKv();
  onTestFinished(() => kv.close());
  const archive = await Archive.open({ rules: { genesis, activationHeight: 3 } }, { kv });
  return { archive, kv };
}

/** An archive with the blocks, each stored by the rules, and read again by `verify`. */
async function stored(genesis: Genesis, blocks: readonly FullBlock[]) {
  const made = await archiveOf(genesis);
  for (const block of blocks) await made.archive.store(block);
  await made.archive.verify();
  return made;
}

describe('a chain of original nodes (docs/chain.md#eras)', () => {
  it('has headers of three layouts, each in its era', async () => {
    const genesis = originalGenesis([
      { ...ORIGINAL, header: 'oldest' },
      { ...ORIGINAL, from: 3, header: 'prime' },
      { ...ORIGINAL, from: 6 },
      { from: 8 },
    ]);
    const chain = createOriginalChain(genesis);
    for (let i = 0; i < 9; i++) chain.add([payment(i)]);
    const { archive } = await stored(genesis, chain.blocks);
    for (const [height, { block }] of chain.blocks.entries()) {
      expect((await archive.hashAt(height)) === blockHash(block.header)).toBe(true);
      const bytes = await archive.fullBlockBytes(height);
      expect(decodeFullBlock(bytes ?? new Uint8Array()).block.header.layout).toBe(block.header.layout);
    }
    const [first] = chain.blocks;
    expect(JSON.stringify((await archive.blockAt(0))?.json.toString())).not.toContain('timestamp');
    expect(first?.block.header.layout).toBe('oldest');
  });

  it('refuses a header of another layout, and one of another maker', async () => {
    const genesis = originalGenesis([ORIGINAL]);
    const chain = createOriginalChain(genesis);
    const { archive } = await archiveOf(genesis);
    const prime = chain.next([], { layout: 'prime' });
    await expect(archive.store(prime)).rejects.toMatchObject({ details: { rule: 'header' } });
    const { isOriginal: _, ...ours } = chain.next().block.header;
    const block = { ...chain.next(), block: { ...chain.next().block, header: ours } };
    await expect(archive.store(block)).rejects.toMatchObject({ details: { rule: 'header' } });
    await archive.store(chain.add());
  });

  it('signs the outpoint alone before a height, and the outputs after it', async () => {
    const genesis = originalGenesis([
      { ...ORIGINAL, signatures: 'outpoint' },
      { ...ORIGINAL, from: 2 },
    ]);
    const chain = createOriginalChain(genesis);
    chain.add();
    chain.add([payment(1, { signatures: 'outpoint' })]);
    const { archive } = await stored(genesis, chain.blocks);
    const older = chain.next([payment(2, { signatures: 'outpoint' })]);
    await expect(archive.store(older)).rejects.toMatchObject({ details: { rule: 'scripts' } });
    await archive.store(chain.add([payment(2)]));
  });

  it('divides the reward by its mempool nodes', async () => {
    const genesis = originalGenesis([{ ...ORIGINAL, mempool_nodes: 3 }]);
    const chain = createOriginalChain(genesis);
    const { archive } = await stored(genesis, [chain.add(), chain.add()]);
    const whole = createOriginalChain(genesis, { eras: [{ ...eraAt(genesis.eras, 0), mempoolNodes: 1 }] });
    whole.blocks.push(...chain.blocks);
    await expect(archive.store(whole.next())).rejects.toMatchObject({ details: { rule: 'mining-transaction' } });
  });

  it('puts fee i into the place of output i, and spends it there', async () => {
    const genesis = originalGenesis([ORIGINAL, { from: 4 }]);
    const chain = createOriginalChain(genesis);
    const paying = payment(0, { fees: [txOut(tokenAsset(7n), ADDRESS)] });
    const hash = transactionHash(paying);
    chain.add();
    chain.add([paying]);
    chain.add([spend([{ tHash: hash, n: 0 }], [txOut(tokenAsset(7n), MINER)])]);
    const { archive, kv } = await stored(genesis, chain.blocks);
    const left: string[] = [];
    for await (const [key] of kv.entries(UNSPENT)) left.push(outPointOfKey(key).tHash);
    expect(left.filter((one) => one === hash)).toHaveLength(1);
    const [read] = await archive.lookups.transactions([hash]);
    expect(createdOutput(read?.transaction ?? paying, 0)?.value.amount).toBe(7n);
    // After the original nodes a fee stands behind the outputs.
    chain.add();
    await archive.store(chain.blocks[3] as FullBlock);
    const later = payment(9, { fees: [txOut(tokenAsset(7n), ADDRESS)] });
    await archive.store(chain.add([later]));
    const after: number[] = [];
    for await (const [key] of kv.entries(UNSPENT)) {
      const { tHash, n } = outPointOfKey(key);
      if (tHash === transactionHash(later)) after.push(n);
    }
    expect(after.sort()).toEqual([0, 1, 2]);
    await archive.verify();
  });

  it('creates items for addresses of any length', async () => {
    const genesis = originalGenesis([ORIGINAL, { from: 2 }]);
    const chain = createOriginalChain(genesis);
    chain.add();
    const created = creation('a short address');
    chain.add([created]);
    const { archive } = await stored(genesis, chain.blocks);
    const after = chain.next([creation('another one')]);
    await expect(archive.store(after)).rejects.toMatchObject({ details: { rule: 'transactions' } });
  });

  it('has transactions of 1,800 inputs, and of more signatures than ours', async () => {
    const genesis = originalGenesis([ORIGINAL, { from: 13 }]);
    const chain = createOriginalChain(genesis);
    chain.add();
    for (let i = 0; i < 9; i++) {
      const outputs = Array.from({ length: 230 }, () => txOut(tokenAsset(4n), ADDRESS));
      chain.add([spend([{ tHash: '000000', n: i }], [...outputs, txOut(tokenAsset(80n), ADDRESS)])]);
    }
    const coins = chain.blocks
      .slice(1)
      .flatMap(({ transactions: [tx] }) =>
        tx === undefined ? [] : Array.from({ length: 230 }, (_, n) => ({ tHash: transactionHash(tx), n })),
      );
    const large = spend(coins, [txOut(tokenAsset(4n * BigInt(coins.length)), ADDRESS)]);
    const block = chain.add([large]);
    expect(encodeFullBlock(block).length).toBeGreaterThan(596_000);
    const { archive } = await stored(genesis, chain.blocks);
    expect(archive.nextHeight).toBe(11);
  });

  it('has issuances below block 100, whose number wraps', async () => {
    const issuances = [{ address: ADDRESS, amount: 500, block_height: 2 }];
    const genesis = originalGenesis([ORIGINAL], { initial_issuances: issuances });
    const chain = createOriginalChain(genesis);
    chain.add();
    chain.add();
    const block = chain.add();
    const [issued] = issuanceTransactions(genesis, 2n);
    expect(issued?.outputs[0]?.locktime).toBe(2n);
    expect(issued?.inputs[0]?.script).toEqual([{ kind: 'num', value: 2n ** 64n - 98n }]);
    expect(block.block.transactions).toHaveLength(1);
    await stored(genesis, chain.blocks);
    const file = { mempool_seed_utxo: { '000000': [] }, initial_issuances: issuances };
    expect(() => parseGenesis(file)).toThrow('must be at least 100');
  });

  it('looks at form and amount of a coinbase only', async () => {
    const genesis = originalGenesis([ORIGINAL, { from: 2 }]);
    const chain = createOriginalChain(genesis);
    const [own] = chain.next().miningTransaction.outputs;
    const odd = { outputs: [{ ...(own ?? txOut(tokenAsset(0n), '')), locktime: 7n, scriptPublicKey: 'short' }] };
    chain.add([], {}, odd);
    chain.add();
    const { archive } = await stored(genesis, chain.blocks);
    await archive.store(chain.add());
  });
});

describe('the unicorn of original nodes (docs/chain.md#unicorn)', () => {
  const settings = { modulus: String(2n ** 521n - 1n), iterations: 2 };

  it('gives all 42 seeds and witnesses of a chain of one miner', async () => {
    const { genesis, blocks } = real('one-miner', { ...settings, miners: ['127.0.0.1:12340'] });
    const { archive } = await stored(genesis, blocks);
    expect(archive.nextHeight).toBe(42);
  });

  it('refuses a seed of other miners, and a witness that is not its own', async () => {
    const other = real('one-miner', { ...settings, miners: ['127.0.0.1:12341'] });
    await expect(stored(other.genesis, other.blocks)).rejects.toMatchObject({ details: { rule: 'unicorn' } });
    const slower = real('two-mempool-nodes', { ...settings, iterations: 3 }, 2);
    await expect(stored(slower.genesis, slower.blocks)).rejects.toMatchObject({ details: { rule: 'unicorn' } });
  });

  it('gives the witnesses of a chain of two miners, whose seeds depend on what is in no block', async () => {
    const miners = ['127.0.0.1:12340', '127.0.0.1:12341'];
    const { genesis, blocks } = real('two-mempool-nodes', { ...settings, miners }, 2);
    expect((await stored(genesis, blocks)).archive.nextHeight).toBe(75);
  });
});

function real(name: 'one-miner' | 'two-mempool-nodes', unicorn: object, nodes = 1) {
  const { blocks, transactions } = realChain(name);
  const found = new Map(transactions.map(([key, data]) => [key, parseTransaction(data)]));
  const whole = blocks.map(([, data]): FullBlock => {
    const block = parseBlock((data as { block: unknown }).block);
    const take = (hash: string): Transaction => found.get(hash) ?? assemble({ inputs: [], outputs: [] });
    return {
      block: { ...block, header: { ...block.header, isOriginal: true } },
      transactions: block.transactions.map(take),
      miningTransaction: take(block.header.miningTxHash),
    };
  });
  const [first] = whole;
  const file = {
    mempool_seed_utxo: {},
    eras: [{ ...ORIGINAL, mempool_nodes: nodes, unicorn }],
  };
  const genesis = parseGenesis(file);
  const named = new Map(first?.block.transactions.map((hash, i) => [hash, first.transactions[i] as Transaction]));
  const initialIssuance = [...named.values()]
    .flatMap(({ outputs }) => outputs)
    .reduce((sum, { value }) => sum + value.amount, 0n);
  return { blocks: whole, genesis: { ...genesis, transactions: named, initialIssuance } };
}

function creation(address: string): Transaction {
  const value = { kind: 'item' as const, amount: 5n, genesisHash: null, metadata: null };
  const { seed, publicKey } = keyPairFromSeed(new Uint8Array(32).fill(3));
  const signable = assetSignable(value);
  const script = createAssetScript(1n, signable, sign(seed, signable), publicKey);
  return assemble({ inputs: [{ previousOut: null, script }], outputs: [txOut(value, address)] });
}
