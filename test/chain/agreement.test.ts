/** What the mempool takes, storage takes, and the other way round; and no block that breaks a rule is stored (rule P4). */

import { describe, expect } from 'vitest';
import { itemAsset, tokenAsset, withFixedHash } from '../../src/chain/assets.js';
import { assemble, coinbaseTransaction, signInputs, txOut, unsignedInput } from '../../src/chain/builders.js';
import { DEFAULT_GENESIS_HASH } from '../../src/chain/constants.js';
import { parseGenesis } from '../../src/chain/genesis.js';
import { merkleRoot, transactionHash, txsHash } from '../../src/chain/hash.js';
import { createAssetScript } from '../../src/chain/script/builders.js';
import { assetSignable } from '../../src/chain/signable.js';
import { createdOutPoints, outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import type { Asset, DruidInfo, FullBlock, OutPoint, StackEntry, Transaction, TxOut } from '../../src/chain/types.js';
import { policyFault } from '../../src/chain/validation.js';
import { sign } from '../../src/crypto/ed25519.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { account } from '../support/mempool.js';
import { createPair, type Pair, remined } from '../support/mempool-and-archive.js';
import { fc, test } from '../support/property.js';

const alice = account('alice');
const bob = account('bob');
const OUTPUTS = 12;
const GENESIS = parseGenesis({
  mempool_seed_utxo: { '000000': Array.from({ length: OUTPUTS }, () => ({ address: alice.address, amount: 1_000 })) },
});

interface Coin {
  readonly outPoint: OutPoint;
  readonly value: Asset;
  /** The transactions of the pool that must be in a block before it can be spent, oldest first. */
  readonly behind?: readonly Transaction[];
}

const KINDS = ['pay', 'pay', 'chain', 'chain', 'fee', 'create', 'trade'] as const;
const CHEATS = [
  ...['none', 'none', 'none', 'none', 'more', 'less', 'unknown', 'spent', 'twice', 'foreign key', 'signature'],
  ...['counterfeit', 'metadata', 'nameless', 'nameless fee', 'half', 'participants', 'expects'],
] as const;

const attempt = fc.record({
  kind: fc.constantFrom(...KINDS),
  cheat: fc.constantFrom(...CHEATS),
  pick: fc.nat(100),
  also: fc.nat(100),
  amount: fc.bigInt({ min: 1n, max: 5n }),
});
type Attempt = typeof attempt extends fc.Arbitrary<infer T> ? T : never;

const steps = fc.array(fc.array(attempt, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 4 });

/** What alice owns, by the blocks that are stored. */
class Model {
  readonly coins = new Map<string, Coin>();
  readonly spent: Coin[] = [];
  /** Of payments in the pool. */
  waiting: Coin[] = [];
  readonly classes: string[] = [DEFAULT_GENESIS_HASH];
  #blocks = 0;

  follow(blocks: readonly FullBlock[]): void {
    this.waiting = [];
    for (const { block, transactions } of blocks.slice(this.#blocks)) {
      this.#blocks++;
      for (const outPoint of transactions.flatMap(spentOutPoints)) {
        const coin = this.coins.get(outPointKey(outPoint));
        if (coin !== undefined) this.spent.push(coin);
        this.coins.delete(outPointKey(outPoint));
      }
      for (const [i, tx] of transactions.entries()) this.#add(tx, block.transactions[i] ?? '');
    }
  }

  /** A payment is admitted that spends `coin`. */
  admitted(tx: Transaction, { behind = [] }: Coin): void {
    for (const { outPoint, txOut: out } of createdOutPoints(tx)) {
      const value = withFixedHash(out.value, outPoint);
      if (out.scriptPublicKey === alice.address) this.waiting.push({ outPoint, value, behind: [...behind, tx] });
    }
  }

  #add(tx: Transaction, hash: string): void {
    for (const { outPoint, txOut: out } of createdOutPoints(tx, hash)) {
      const value = withFixedHash(out.value, outPoint);
      if (value.kind === 'item' && !this.classes.includes(value.genesisHash ?? '')) this.classes.push(hash);
      if (out.scriptPublicKey === alice.address) this.coins.set(outPointKey(outPoint), { outPoint, value });
    }
  }
}

const at = <T>(list: readonly T[], index: number): T | undefined => list[index % Math.max(list.length, 1)];

function spend(inputs: readonly OutPoint[], outputs: readonly TxOut[], signer = alice): Transaction {
  const keys = new Map(inputs.map((outPoint) => [outPointKey(outPoint), signer.key]));
  return assemble({ inputs: signInputs(inputs.map(unsignedInput), outputs, keys), outputs });
}

function creation(asset: Asset, bNum: bigint): Transaction {
  const signable = assetSignable(asset);
  const script = createAssetScript(bNum, signable, sign(alice.key.seed, signable), alice.key.publicKey);
  return assemble({ inputs: [{ previousOut: null, script }], outputs: [txOut(asset, alice.address)] });
}

const withScripts = (tx: Transaction, change: (entry: StackEntry) => StackEntry): Transaction => ({
  ...tx,
  inputs: tx.inputs.map((input) => ({ ...input, script: input.script.map(change) })),
});
const flipSignature = (entry: StackEntry): StackEntry =>
  entry.kind === 'signature' ? { ...entry, bytes: entry.bytes.map((byte) => byte ^ 1) } : entry;
const raised = ({ value, ...rest }: TxOut, by: bigint): TxOut => ({
  ...rest,
  value: { ...value, amount: value.amount + by },
});

/** The transactions of an attempt: one, or the halves of a trade. `n` makes their hashes different from all others. */
function build(
  { kind, cheat, pick, amount }: Attempt,
  [first, second]: readonly (Coin | undefined)[],
  model: Model,
  n: number,
): Transaction[] {
  const named = (tx: Transaction, druidInfo: DruidInfo | null = null): Transaction => ({
    ...tx,
    version: BigInt(1_000 + n),
    druidInfo,
  });
  if (kind === 'create') {
    const name = cheat === 'counterfeit' ? (at(model.classes.slice(1), pick) ?? 'x') : null;
    const made = creation(itemAsset(amount, name, cheat === 'metadata' ? 'm'.repeat(801) : 'm'), BigInt(n));
    return [named(cheat === 'signature' ? withScripts(made, flipSignature) : made)];
  }
  if (first === undefined || second === undefined) return [];
  const one = payment(first, cheat, kind === 'fee' ? amount : 0n, model, pick);
  if (kind !== 'trade') return [named(one)];
  const count = cheat === 'half' ? 1 : 2;
  const info: DruidInfo = {
    druid: `trade ${n}`,
    participants: cheat === 'participants' ? 3n : 2n,
    expectations: cheat === 'expects' ? [{ from: 'nobody', to: bob.address, asset: tokenAsset(1n) }] : [],
    genesisHash: null,
  };
  return [one, payment(second, 'none', 0n, model, pick)].slice(0, count).map((tx) => named(tx, info));
}

function payment(
  { outPoint, value }: Coin,
  cheat: Attempt['cheat'],
  fee: bigint,
  model: Model,
  pick: number,
): Transaction {
  const bare: Asset = value.kind === 'item' ? { ...value, metadata: cheat === 'metadata' ? 'm' : null } : value;
  const held = value.amount > fee ? fee : 0n;
  const rest = txOut({ ...bare, amount: value.amount - held }, pick % 2 === 0 ? alice.address : bob.address);
  const fees = held > 0n ? [txOut({ ...bare, amount: held }, bob.address)] : [];
  const inputs: OutPoint[] = [outPoint];
  let output = rest;
  if (cheat === 'more') output = raised(rest, 1n);
  if (cheat === 'less') output = raised(rest, -1n);
  if (cheat === 'nameless') output = { ...rest, value: itemAsset(value.amount, null) };
  if (cheat === 'counterfeit') output = { ...rest, value: itemAsset(value.amount, at(model.classes, pick) ?? 'x') };
  if (cheat === 'unknown') inputs[0] = { tHash: `g${'0'.repeat(31)}`, n: pick };
  if (cheat === 'spent') inputs[0] = (at(model.spent, pick) ?? { outPoint }).outPoint;
  if (cheat === 'twice') inputs.push(outPoint);
  const tx = spend(inputs, [output], cheat === 'foreign key' ? bob : alice);
  const paid = { ...tx, fees: cheat === 'nameless fee' ? [txOut(itemAsset(1n, null), bob.address)] : fees };
  return cheat === 'signature' ? withScripts(paid, flipSignature) : paid;
}

/** Null: admitted. */
async function mempoolVerdict({ mempool }: Pair, transactions: readonly Transaction[]): Promise<string | null> {
  try {
    await mempool.submit(transactions);
    return null;
  } catch (error) {
    if (isTesseraError(error)) return error.code;
    throw error;
  }
}

/** A block with another list, put together as one would that means harm: with the right hashes and a proof of work. */
function relisted(full: FullBlock, transactions: readonly Transaction[]): FullBlock {
  const names = transactions.map(transactionHash);
  const header = { ...full.block.header, txsHash: txsHash(names), merkleRoot: merkleRoot(names) };
  return remined({ ...full, block: { header, transactions: names }, transactions }, rewardOf(full), alice);
}

/** What an attempt spends: a chain goes on with what waits, a trade may. */
function chosenCoins({ kind, pick, also }: Attempt, model: Model): readonly (Coin | undefined)[] {
  const owned = [...model.coins.values()];
  const open = kind === 'chain' || (kind === 'trade' && pick % 2 === 0) ? model.waiting : owned;
  return [at(open, pick), at(owned, also)];
}

const rewardOf = (full: FullBlock): bigint => full.miningTransaction.outputs[0]?.value.amount ?? 0n;

const VALID = 'an output of this block spent after it';
const isSpentIn = ({ transactions }: FullBlock, tx: Transaction): boolean =>
  transactions.flatMap(spentOutPoints).some(({ n, tHash }) => n === 0 && tHash === transactionHash(tx));

/** The block with one rule broken; or none, under the name `VALID`. */
function* mutations(full: FullBlock): Generator<[name: string, block: FullBlock]> {
  const { transactions } = full;
  const changed = (index: number, tx: Transaction): FullBlock => relisted(full, transactions.with(index, tx));
  const added = (tx: Transaction): FullBlock => relisted(full, [...transactions, tx]);
  yield ['a reward too large', remined(full, rewardOf(full) + 1n, alice)];
  yield ['tokens out of nothing', added(coinbaseTransaction(99n, 5n, alice.address))];
  yield ['an unknown input', added(spend([{ tHash: 'nothing', n: 0 }], [txOut(tokenAsset(5n), alice.address)]))];
  yield ['a counterfeit', added(creation(itemAsset(9n, `g${'1'.repeat(31)}`), 7n))];
  for (const [i, tx] of transactions.entries()) {
    const [output] = tx.outputs;
    if (output === undefined) continue;
    yield ['a transaction that is missing', { ...full, transactions: transactions.toSpliced(i, 1) }];
    yield ['a transaction twice', added(tx)];
    yield ['a signature that is wrong', changed(i, withScripts(tx, flipSignature))];
    yield ['an output that is larger', changed(i, { ...tx, outputs: tx.outputs.with(0, raised(output, 1n)) })];
    yield ['a fee out of nothing', changed(i, { ...tx, fees: [...tx.fees, txOut(tokenAsset(1n), bob.address)] })];
    if (tx.druidInfo !== null) yield ['half a trade', relisted(full, transactions.toSpliced(i, 1))];
    if (spentOutPoints(tx).length === 0) continue;
    yield ['an output spent twice', added({ ...tx, version: 7n, druidInfo: null })];
    if (output.scriptPublicKey !== alice.address || isSpentIn(full, tx)) continue;
    const child = spend([{ tHash: transactionHash(tx), n: 0 }], [{ ...output, scriptPublicKey: bob.address }]);
    yield [VALID, added(child)];
    yield ['an output spent before it is there', relisted(full, [child, ...transactions])];
    yield [
      'an output of this block spent in it twice',
      relisted(full, [...transactions, child, { ...child, version: 7n }]),
    ];
  }
}

describe('mempool and storage', () => {
  test.prop([steps], { numRuns: 10 })('agree about every transaction and every block', async (plan) => {
    const model = new Model();
    const faults: string[] = [];
    let broken = 0;
    const pair = await createPair({
      genesis: GENESIS,
      miner: alice,
      onDemand: true,
      async onBlock(block, { storageVerdict }) {
        if (block.block.header.bNum === 0n) return;
        for (const [name, mutation] of mutations(block)) {
          broken++;
          const isTaken = (await storageVerdict(mutation)) === null;
          if (isTaken !== (name === VALID)) faults.push(`block ${block.block.header.bNum} with ${name}`);
        }
      },
    });
    try {
      await pair.cut();
      let n = 0;
      for (const attempts of plan) {
        model.follow(pair.blocks);
        for (const one of attempts) {
          const coins = chosenCoins(one, model);
          const transactions = build(one, coins, model, n++);
          if (transactions.length === 0) continue;
          const { behind = [] } = one.kind === 'create' || one.cheat === 'spent' ? {} : (coins[0] ?? {});
          const stored = await pair.storageVerdict(pair.blockOf([...behind, ...transactions]));
          if (behind.length > 0)
            expect(await pair.storageVerdict(pair.blockOf([...transactions, ...behind]))).not.toBeNull();
          const admitted = await mempoolVerdict(pair, transactions);
          // Half a trade waits for the other, and two equal halves are one. What the pool has claimed is free for
          // storage. Zero is against policy alone.
          const halves = new Set(transactions.map(transactionHash)).size;
          const waits = one.kind === 'trade' && (halves === 1 || one.cheat === 'participants');
          if (waits || admitted === 'double_spend' || transactions.some((tx) => policyFault(tx, 1n) !== null)) continue;
          expect([one, admitted === null]).toEqual([one, stored === null]);
          const [tx] = transactions;
          if (admitted !== null || tx === undefined || one.kind === 'create' || one.kind === 'trade') continue;
          if (one.cheat !== 'spent' && coins[0] !== undefined) model.admitted(tx, coins[0]);
        }
        await pair.cut();
      }
      expect(pair.refusals).toEqual([]);
      expect(faults).toEqual([]);
      expect(broken).toBeGreaterThan(plan.length);
      expect(await pair.archive.verify()).toMatchObject({ blocks: pair.archive.nextHeight });
    } finally {
      await pair.close();
    }
  });
});
