/** Items are conserved by what the mempool admits and what storage keeps, tested on both at once (rule P4, decision B6). */

import { afterEach, describe, expect, it } from 'vitest';
import { itemAsset, tokenAsset, withFixedHash } from '../../src/chain/assets.js';
import {
  assemble,
  createItemFromSignature,
  createItemTransaction,
  signInputs,
  txOut,
  unsignedInput,
} from '../../src/chain/builders.js';
import { DEFAULT_GENESIS_HASH, U64_MAX } from '../../src/chain/constants.js';
import { parseGenesis } from '../../src/chain/genesis.js';
import { transactionHash } from '../../src/chain/hash.js';
import { createAssetScript } from '../../src/chain/script/builders.js';
import { assetSignable } from '../../src/chain/signable.js';
import { createdOutPoints, isCreate, outPointKey } from '../../src/chain/transaction.js';
import type { Asset, OutPoint, Transaction, TxOut } from '../../src/chain/types.js';
import { sign } from '../../src/crypto/ed25519.js';
import { account, genesisOut, pay } from '../support/mempool.js';
import { createPair, type Pair } from '../support/mempool-and-archive.js';
import { nextOf } from '../support/peers.js';
import { fc, test } from '../support/property.js';

const alice = account('alice');
const GENESIS = parseGenesis({ mempool_seed_utxo: { '000000': [{ address: alice.address, amount: 1_000 }] } });

const cleanups: (() => Promise<void>)[] = [];
async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}
afterEach(cleanUp);

async function createNetwork(): Promise<Pair> {
  const pair = await createPair({ genesis: GENESIS, miner: alice });
  cleanups.push(pair.close);
  return pair;
}

/** Submits, and waits for the block when the mempool admits it. */
async function submit({ mempool }: Pair, tx: Transaction): Promise<boolean> {
  const next = nextOf(mempool.blockConfirmed);
  try {
    await mempool.submit([tx]);
  } catch {
    return false;
  }
  await next;
  return true;
}

/** The verdict of storage on a block with this transaction. */
async function storageTakes({ blockOf, storageVerdict }: Pair, tx: Transaction): Promise<boolean> {
  return (await storageVerdict(blockOf([tx]))) === null;
}

/** A creation of anything, signed as its author likes. */
function creation(asset: Asset, address: string | null = alice.address, bNum = 0n): Transaction {
  const signable = assetSignable(asset);
  const script = createAssetScript(bNum, signable, sign(alice.key.seed, signable), alice.key.publicKey);
  return assemble({ inputs: [{ previousOut: null, script }], outputs: [txOut(asset, address)] });
}

function spend(inputs: readonly OutPoint[], outputs: readonly TxOut[], fees: readonly TxOut[] = []): Transaction {
  const keys = new Map(inputs.map((outPoint) => [outPointKey(outPoint), alice.key]));
  return { ...assemble({ inputs: signInputs(inputs.map(unsignedInput), outputs, keys), outputs }), fees };
}

describe('a counterfeit of a one-of-one item', () => {
  it('is refused by the mempool and by storage alike', async () => {
    const network = await createNetwork();
    const original = createItemTransaction({ bNum: 0n, amount: 1n, spec: 'Create', metadata: null }, alice.key);
    expect(await submit(network, original)).toBe(true);
    const counterfeit = creation(itemAsset(1_000_000n, transactionHash(original)));
    expect([await storageTakes(network, counterfeit), await submit(network, counterfeit)]).toEqual([false, false]);
    expect(network.mempool.balances([alice.address]).items).toEqual(new Map([[transactionHash(original), 1n]]));
  });
});

describe('what the mempool and storage say of a creation', () => {
  const honest = itemAsset(5n, null, 'm');
  const signature = sign(alice.key.seed, assetSignable(honest));
  const spec = { bNum: 0n, amount: 5n, spec: 'Create', metadata: 'm' } as const;
  const proof = { address: alice.address, publicKey: alice.key.publicKey, signature };
  const druidInfo = { druid: 'd', participants: 1n, expectations: [], genesisHash: null };

  const CASES: [name: string, accepted: boolean, tx: Transaction][] = [
    ['of a new item', true, creation(honest)],
    ['of the shared item', true, creation(itemAsset(5n, DEFAULT_GENESIS_HASH))],
    ['under the name of a transaction that does not exist', false, creation(itemAsset(5n, `g${'0'.repeat(31)}`))],
    ['under an empty name', false, creation(itemAsset(5n, ''))],
    ['under a name as long as a block', false, creation(itemAsset(5n, 'x'.repeat(100_000)))],
    ['with 800 bytes of metadata', true, creation(itemAsset(5n, null, 'é'.repeat(400)))],
    ['with 801 bytes of metadata', false, creation(itemAsset(5n, null, `${'é'.repeat(400)}a`))],
    ['for an address of wrong length', false, creation(honest, 'short')],
    ['for no address', false, creation(honest, null)],
    ['with a fee, which would mint', false, { ...creation(honest), fees: [pay(alice, 1n)] }],
    ['with DRUID info', false, { ...creation(honest), druidInfo }],
    ['of another amount than was signed', false, createItemFromSignature({ ...spec, amount: 6n }, proof)],
    [
      'with a signature over something else',
      false,
      createItemFromSignature(spec, { ...proof, signature: signature.map((byte) => byte ^ 1) }),
    ],
    ['with another script', false, { ...creation(honest), inputs: [{ previousOut: null, script: [] }] }],
  ];

  it.each(CASES)('%s is the same (accepted: %s)', async (_name, accepted, tx) => {
    const network = await createNetwork();
    // Storage first: what the mempool has admitted is in the chain, and a hash has one meaning.
    expect(await storageTakes(network, tx)).toBe(accepted);
    expect(await submit(network, tx)).toBe(accepted);
    expect(network.refusals).toEqual([]);
  });
});

describe('the items of each class', () => {
  /** An attempt: honest or not, the checks decide. Numbers are taken modulo what is there. */
  const attempts = fc.array(
    fc.record({
      kind: fc.constantFrom('create', 'spend', 'spend', 'spend'),
      name: fc.constantFrom('new', 'shared', 'existing', 'foreign'),
      pick: fc.nat({ max: 50 }),
      also: fc.nat({ max: 50 }),
      amount: fc.oneof(fc.bigInt({ min: 0n, max: 4n }), fc.constantFrom(U64_MAX, 2n ** 63n)),
      split: fc.bigInt({ min: 0n, max: 3n }),
      cheat: fc.constantFrom('none', 'none', 'more', 'less', 'rename', 'nameless', 'metadata', 'fee', 'lost'),
    }),
    { minLength: 4, maxLength: 12 },
  );

  test.prop([attempts], { numRuns: 40 })('are those of its creations, whatever is tried (rule P4)', async (plan) => {
    await cleanUp();
    const network = await createNetwork();
    const unspent = new Map<string, { outPoint: OutPoint; value: Asset }>();
    const classes: string[] = [DEFAULT_GENESIS_HASH];
    const at = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(list.length, 1)];
    unspent.set(outPointKey(genesisOut(0)), { outPoint: genesisOut(0), value: tokenAsset(1_000n) });

    for (const [step, attempt] of plan.entries()) {
      const named = {
        new: null,
        shared: DEFAULT_GENESIS_HASH,
        existing: at(classes, attempt.pick) ?? null,
        foreign: 'x',
      };
      const build = (): Transaction => {
        if (attempt.kind === 'create') {
          return creation(
            itemAsset(attempt.amount, named[attempt.name as keyof typeof named]),
            alice.address,
            BigInt(step),
          );
        }
        const owned = [...unspent.values()];
        const chosen = [...new Set([at(owned, attempt.pick), at(owned, attempt.also)])].filter(
          (one) => one !== undefined,
        );
        const outputs = chosen.flatMap(({ value }): TxOut[] => {
          const part = value.amount > attempt.split && attempt.split > 0n ? attempt.split : 0n;
          const bare: Asset = value.kind === 'item' ? { ...value, metadata: null } : value;
          const rest = txOut({ ...bare, amount: value.amount - part }, alice.address);
          return part > 0n ? [rest, txOut({ ...bare, amount: part }, alice.address)] : [rest];
        });
        const inputs = chosen.map(({ outPoint }) => outPoint);
        const [first, ...others] = outputs;
        if (first === undefined) return spend(inputs, outputs);
        const { value } = first;
        const changed = (asset: Asset): Transaction => spend(inputs, [{ ...first, value: asset }, ...others]);
        if (attempt.cheat === 'more') return changed({ ...value, amount: value.amount + 1n });
        if (attempt.cheat === 'less')
          return changed({ ...value, amount: value.amount === 0n ? 0n : value.amount - 1n });
        if (attempt.cheat === 'lost') return spend(inputs, others);
        if (attempt.cheat === 'rename') return changed(itemAsset(value.amount, at(classes, attempt.also) ?? 'x'));
        if (attempt.cheat === 'nameless') return changed(itemAsset(value.amount, null));
        if (attempt.cheat === 'metadata') return changed(itemAsset(value.amount, 'x', 'm'));
        if (attempt.cheat === 'fee')
          return spend(inputs, outputs, [txOut(itemAsset(attempt.amount, null), alice.address)]);
        return spend(inputs, outputs);
      };
      const tx = build();
      if (!(await submit(network, tx))) continue;
      const hash = transactionHash(tx);
      if (isCreate(tx) && tx.outputs[0]?.value.kind === 'item' && tx.outputs[0].value.genesisHash === null)
        classes.push(hash);
      for (const { previousOut } of tx.inputs) if (previousOut !== null) unspent.delete(outPointKey(previousOut));
      for (const {
        outPoint,
        txOut: { value },
      } of createdOutPoints(tx, hash)) {
        unspent.set(outPointKey(outPoint), { outPoint, value: withFixedHash(value, outPoint) });
      }
    }

    expect(network.refusals).toEqual([]);
    const created = new Map<string, bigint>();
    for (const { block, transactions } of network.blocks) {
      for (const [i, tx] of transactions.entries()) {
        const value = tx.outputs[0]?.value;
        if (!isCreate(tx) || value?.kind !== 'item') continue;
        const name = value.genesisHash ?? block.transactions[i] ?? '';
        // Only the shared class may be created twice.
        expect(created.has(name) && name !== DEFAULT_GENESIS_HASH).toBe(false);
        created.set(name, (created.get(name) ?? 0n) + value.amount);
      }
    }
    const held = new Map<string, bigint>();
    for (const holdings of network.mempool.balances([alice.address]).addresses.values()) {
      for (const { value } of holdings) {
        if (value.kind === 'item')
          held.set(value.genesisHash ?? '', (held.get(value.genesisHash ?? '') ?? 0n) + value.amount);
      }
    }
    expect(held).toEqual(created);
    await network.close();
    cleanups.pop();
  });
});
