/** Payments to admit: a genesis with many outputs of one key, and one signed transaction for each of them. */

import { addressOf } from '../src/chain/address.js';
import { tokenAsset } from '../src/chain/assets.js';
import { DEFAULT_BLOCK_RULES } from '../src/chain/block-rules.js';
import { assembleSigned, txOut, unsignedInput } from '../src/chain/builders.js';
import { transactionHash } from '../src/chain/hash.js';
import { outPointKey } from '../src/chain/transaction.js';
import type { OutPoint, Transaction, TxOut } from '../src/chain/types.js';
import { type KeyPair, keyPairFromSeed } from '../src/crypto/ed25519.js';
import { sha3Bytes } from '../src/crypto/sha3.js';
import { toHex } from '../src/lib/bytes.js';
import { stringifyExact } from '../src/lib/json.js';

/** Different keys, as in real life: a verifier that caches keys must not look faster than it is. */
const KEYS = 1_000;
const AMOUNT = 1_000n;
/** Spent outputs that are forgotten at once. */
const COINS_DROPPED = 10_000;
const keys = Array.from({ length: KEYS }, (_, i) => keyPairFromSeed(sha3Bytes(`bench key ${i}`)));
const keyOf = (i: number) => keys[i % KEYS] ?? keyPairFromSeed(sha3Bytes(''));

/** The text of a genesis file with `count` outputs, and further members. */
export function benchGenesis(count: number, members: object = {}): string {
  const outputs = Array.from({ length: count }, (_, i) => ({
    public_key: toHex(keyOf(i).publicKey),
    amount: Number(AMOUNT),
    locktime: 0,
  }));
  return stringifyExact({ mempool_seed_utxo: { [GENESIS_HASH]: outputs }, ...members });
}

/** Members of a genesis: no block is cut before its interval is over, however many transactions wait. */
export const NO_BLOCKS = { block_rules: { start: 'interval' } };

/** The hash of the transaction that these outputs belong to. */
export const GENESIS_HASH = '000000';

/** Rules of a state that has these outputs, but for its genesis. */
export const BENCH_RULES = {
  issuances: new Map(),
  block: DEFAULT_BLOCK_RULES,
  partitionSize: 10,
  asertActivationHeight: 1_000,
  eras: [],
  druidLifetime: 1_000,
};

/** The same outputs without a file. */
export function benchOutputs(count: number): TxOut[] {
  const addresses = keys.map(({ publicKey }) => addressOf(publicKey));
  return Array.from({ length: count }, (_, i) => txOut(tokenAsset(AMOUNT), addresses[i % KEYS] ?? ''));
}

interface Coin {
  readonly outPoint: OutPoint;
  readonly amount: bigint;
  readonly key: KeyPair;
}

/** Payments without end: each spends the oldest output, of the genesis file first, and pays two new ones. */
export class PaymentChain {
  readonly #genesisOutputs: number;
  /** Made by payments and not spent, the oldest at `#next`. */
  #coins: Coin[] = [];
  #next = 0;
  #made = 0;

  constructor(genesisOutputs: number) {
    this.#genesisOutputs = genesisOutputs;
  }

  make(): { readonly hash: string; readonly transaction: Transaction } {
    const { outPoint, amount, key } = this.#take();
    const to = keyOf(++this.#made);
    const paid = amount / 2n;
    const outputs = [
      txOut(tokenAsset(paid), addressOf(to.publicKey)),
      txOut(tokenAsset(amount - paid), addressOf(key.publicKey)),
    ];
    const signers = new Map([[outPointKey(outPoint), key]]);
    const transaction = assembleSigned({ inputs: [unsignedInput(outPoint)], outputs }, signers);
    const hash = transactionHash(transaction);
    this.#coins.push(
      { outPoint: { tHash: hash, n: 0 }, amount: paid, key: to },
      { outPoint: { tHash: hash, n: 1 }, amount: amount - paid, key },
    );
    return { hash, transaction };
  }

  #take(): Coin {
    const n = this.#made;
    if (n < this.#genesisOutputs) return { outPoint: { tHash: GENESIS_HASH, n }, amount: AMOUNT, key: keyOf(n) };
    const coin = this.#coins[this.#next++];
    if (coin === undefined || coin.amount < 2n)
      throw new Error('the genesis file has too few outputs for so many payments');
    if (this.#next === COINS_DROPPED) {
      this.#coins = this.#coins.slice(this.#next);
      this.#next = 0;
    }
    return coin;
  }
}

/** Signed payments of the outputs `from` up to `from + count`: one input, two outputs. */
export function benchPayments(from: number, count: number): Transaction[] {
  return Array.from({ length: count }, (_, k) => {
    const n = from + k;
    const key = keyOf(n);
    const outPoint = { tHash: GENESIS_HASH, n };
    const outputs = [
      txOut(tokenAsset(400n), addressOf(keyOf(n + 1).publicKey)),
      txOut(tokenAsset(600n), addressOf(key.publicKey)),
    ];
    return assembleSigned({ inputs: [unsignedInput(outPoint)], outputs }, new Map([[outPointKey(outPoint), key]]));
  });
}
