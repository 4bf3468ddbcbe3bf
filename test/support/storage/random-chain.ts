/**
 * Valid chains made by choices from outside: payments between a few keys, of tokens and items, with fees, locked outputs and
 * outputs that nobody can spend; creations of items, trades, and transactions that spend what their own block makes.
 */

import { addressOf } from '../../../src/chain/address.js';
import { tokenAsset } from '../../../src/chain/assets.js';
import { assembleSigned, createItemTransaction, txOut, unsignedInput } from '../../../src/chain/builders.js';
import { parseGenesis } from '../../../src/chain/genesis.js';
import { transactionHash } from '../../../src/chain/hash.js';
import { createdOutPoints, outPointKey } from '../../../src/chain/transaction.js';
import type { Asset, DruidInfo, FullBlock, OutPoint, Transaction, TxOut } from '../../../src/chain/types.js';
import { keyPairFromSeed } from '../../../src/crypto/ed25519.js';
import type { ChainRules } from '../../../src/ledger/block/rules.js';
import { createTestChain } from './test-chain.js';

const KEYS = [11, 12, 13].map((seed) => keyPairFromSeed(new Uint8Array(32).fill(seed)));
/** The addresses of the keys; the last one is nobody's, and only receives. */
const ADDRESSES = [...KEYS.map(({ publicKey }) => addressOf(publicKey)), 'f'.repeat(32)];

const funds = KEYS.flatMap((_, i) =>
  [5_000, 700, 90].map((amount) => ({ address: ADDRESSES[i] ?? '', amount, locktime: 0 })),
);
const GENESIS = parseGenesis({
  mempool_seed_utxo: { '000000': [{ address: ADDRESSES[0] ?? '', amount: 1_000, locktime: 0 }], tea: funds },
  mempool_genesis_tx_in: 'tea',
  initial_issuances: [],
});
export const RANDOM_RULES: ChainRules = { genesis: GENESIS, activationHeight: 3 };

/** Numbers that decide; whatever they are, the chain is valid. */
export type Choices = readonly (readonly (readonly number[])[])[];

interface Coin {
  readonly outPoint: OutPoint;
  readonly txOut: TxOut;
  readonly key: number;
}

/** A chain with one block for each of the choices, and block 0 before them. */
export function randomChain(choices: Choices): FullBlock[] {
  const chain = createTestChain(0, GENESIS);
  const maker = new Maker();
  maker.take(GENESIS.transactions);
  chain.add();
  for (const block of choices) {
    const height = chain.blocks.length;
    const transactions = block.flatMap((numbers) => maker.make(numbers, height));
    chain.add(transactions);
  }
  return chain.blocks;
}

class Maker {
  #coins: Coin[] = [];

  make(numbers: readonly number[], height: number): Transaction[] {
    const [what = 0, ...rest] = numbers;
    const made =
      what % 5 === 0
        ? [this.#creation(rest, height)]
        : what % 5 === 1
          ? this.#trade(rest, height)
          : this.#payment(rest, height);
    this.take(made.map((tx) => [transactionHash(tx), tx]));
    return made;
  }

  /** Notes what a transaction spends and makes. */
  take(transactions: Iterable<readonly [string, Transaction | undefined]>): void {
    for (const [hash, tx] of transactions) {
      if (tx === undefined) continue;
      const spent = new Set(tx.inputs.flatMap(({ previousOut }) => (previousOut ? [outPointKey(previousOut)] : [])));
      this.#coins = this.#coins.filter(({ outPoint }) => !spent.has(outPointKey(outPoint)));
      for (const { outPoint, txOut: made } of createdOutPoints(tx, hash)) {
        const key = ADDRESSES.indexOf(made.scriptPublicKey ?? '');
        if (key >= 0 && key < KEYS.length) this.#coins.push({ outPoint, txOut: made, key });
      }
    }
  }

  #creation([key = 0, amount = 0, spec = 0, text = 0]: readonly number[], height: number): Transaction {
    const signer = KEYS[key % KEYS.length] ?? KEYS[0];
    if (signer === undefined) throw new Error('no keys');
    // The number of the block tells creations apart, and so does the amount.
    const item = {
      bNum: BigInt(height * 1_000 + this.#coins.length + text),
      amount: BigInt(1 + (amount % 50)),
      spec: spec % 2 === 0 ? ('Create' as const) : ('Default' as const),
      metadata: null,
    };
    return createItemTransaction(item, signer);
  }

  #trade(numbers: readonly number[], height: number): Transaction[] {
    const druid = `trade ${(numbers[0] ?? 0) % 2}`;
    const info = { druid, participants: 2n, expectations: [], genesisHash: null };
    const first = this.#payment(numbers, height, info)[0];
    if (first === undefined) return [];
    const kept = this.#coins;
    this.take([[transactionHash(first), first]]);
    const second = this.#payment([...numbers].reverse(), height, info)[0];
    this.#coins = kept;
    if (second !== undefined) return [first, second];
    return [{ ...first, druidInfo: null }];
  }

  /** Nothing when there is nothing to spend. */
  #payment(
    [which = 0, count = 0, to = 0, share = 0, form = 0]: readonly number[],
    height: number,
    druidInfo: DruidInfo | null = null,
  ): Transaction[] {
    const coins = this.#coins.filter(({ txOut: coin }) => coin.locktime < BigInt(height));
    const first = coins[which % Math.max(coins.length, 1)];
    if (first === undefined) return [];
    const others = coins.filter((coin) => coin !== first);
    const spent = [first, ...others.slice(0, count % 3)];
    const outputs = spent.flatMap((coin, i) => split(coin, to + i, share + i, form, height));
    const fee = form % 4 === 1 ? feeOf(spent, outputs) : undefined;
    const keys = new Map(
      spent.flatMap(({ outPoint, key }) => {
        const signer = KEYS[key];
        return signer === undefined ? [] : [[outPointKey(outPoint), signer] as const];
      }),
    );
    const inputs = spent.map(({ outPoint }) => unsignedInput(outPoint));
    const made = fee === undefined ? outputs : outputs.slice(1);
    if (made.length === 0) return [];
    return [assembleSigned({ inputs, outputs: made, druidInfo, ...(fee && { fee }) }, keys)];
  }
}

/** What a coin becomes: a part for somebody, and the rest for its owner. */
function split(
  { outPoint, txOut: { value }, key }: Coin,
  to: number,
  share: number,
  form: number,
  height: number,
): TxOut[] {
  const part = (value.amount * BigInt(share % 101)) / 100n;
  const rest = value.amount - part;
  const asset = (amount: bigint): Asset =>
    value.kind === 'token'
      ? tokenAsset(amount)
      : { kind: 'item', amount, genesisHash: value.genesisHash ?? outPoint.tHash, metadata: null };
  const locktime = form % 4 === 2 ? BigInt(height + 2) : 0n;
  const receiver = form % 8 === 3 ? null : (ADDRESSES[to % ADDRESSES.length] ?? null);
  return [txOut(asset(part), receiver, locktime), txOut(asset(rest), ADDRESSES[key] ?? null)];
}

/** The first output as a fee. */
function feeOf(_spent: readonly Coin[], [first]: readonly TxOut[]) {
  if (first === undefined || first.scriptPublicKey === null || first.value.kind === 'item') return undefined;
  return { address: first.scriptPublicKey, asset: first.value };
}
