/**
 * Whatever chains, trades and lists are submitted, and whenever blocks are cut: everything admitted is in a block that
 * storage takes, behind what it spends; nothing is spent twice; and the journal leads to the same state again
 * (docs/adr/0018-chained-payments.md).
 */

import { describe, expect } from 'vitest';
import { parseGenesis } from '../../src/chain/genesis.js';
import { transactionHash } from '../../src/chain/hash.js';
import { createdOutPoints, outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import type { DruidInfo, OutPoint, Transaction } from '../../src/chain/types.js';
import type { Journal } from '../../src/journal/journal.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { loadMempoolState } from '../../src/mempool/state/load.js';
import { MempoolState } from '../../src/mempool/state/state.js';
import { openJournal } from '../support/journal.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, applierOf, pay, payment } from '../support/mempool.js';
import { createPair, type Pair, stateRulesOf } from '../support/mempool-and-archive.js';
import { fc, test } from '../support/property.js';

const alice = account('alice');
const OUTPUTS = 4;
const FUNDS = 1_000n;
const GENESIS = parseGenesis({
  mempool_seed_utxo: {
    '000000': Array.from({ length: OUTPUTS }, () => ({ address: alice.address, amount: Number(FUNDS) })),
  },
});

interface Coin {
  readonly outPoint: OutPoint;
  readonly amount: bigint;
}

const step = fc.record({
  kind: fc.constantFrom('pay', 'pay', 'pay', 'list', 'trade', 'half', 'other half', 'twice', 'reversed', 'cut'),
  pick: fc.nat(50),
  also: fc.nat(50),
  split: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Alice's money, by what the mempool has admitted. */
class Model {
  readonly coins: Coin[] = Array.from({ length: OUTPUTS }, (_, n) => ({
    outPoint: { tHash: '000000', n },
    amount: FUNDS,
  }));
  readonly gone: Coin[] = [];
  readonly admitted: Transaction[] = [];
  #versions = 1_000n;

  coin(pick: number): Coin | undefined {
    return this.coins[pick % Math.max(this.coins.length, 1)];
  }

  /** To herself, in one output or two. */
  pay({ outPoint, amount }: Coin, split: boolean, druidInfo: DruidInfo | null = null): Transaction {
    const outputs =
      split && amount > 1n ? [pay(alice, amount / 2n), pay(alice, amount - amount / 2n)] : [pay(alice, amount)];
    const tx = payment({ from: alice, inputs: [outPoint], outputs });
    this.#versions += 1n;
    return { ...tx, version: this.#versions, druidInfo };
  }

  take(tx: Transaction): void {
    this.admitted.push(tx);
    const spent = new Set(spentOutPoints(tx).map(outPointKey));
    for (const coin of this.coins.splice(0)) {
      (spent.has(outPointKey(coin.outPoint)) ? this.gone : this.coins).push(coin);
    }
    for (const { outPoint, txOut } of createdOutPoints(tx)) this.coins.push({ outPoint, amount: txOut.value.amount });
  }
}

const first = (tx: Transaction): Coin => ({
  outPoint: { tHash: transactionHash(tx), n: 0 },
  amount: tx.outputs[0]?.value.amount ?? 0n,
});

/** Does what steps say and expects the answer that each must get. */
class Script {
  readonly model = new Model();
  readonly #pair: Pair;
  /** `cuts`: blocks since; after two more it would be rejected (decision B13). */
  #half: { readonly tx: Transaction; readonly info: DruidInfo; cuts: number } | undefined;
  #trades = 0;

  constructor(pair: Pair) {
    this.#pair = pair;
  }

  async run({ kind, pick, also, split }: Step): Promise<void> {
    const { model } = this;
    const coin = model.coin(pick);
    if (kind === 'cut') return this.#cut();
    if (coin === undefined) return;
    const one = model.pay(coin, split);
    if (kind === 'pay') await this.#admit(one);
    if (kind === 'list')
      await this.#admit(one, model.pay(first(one), split), model.pay(model.coin(also) ?? coin, false));
    if (kind === 'reversed') expect(await this.#submit(model.pay(first(one), split), one)).toBe('unknown_input');
    if (kind === 'twice' && model.gone.length > 0) {
      const gone = model.gone[also % model.gone.length] as Coin;
      expect(['double_spend', 'unknown_input']).toContain(await this.#submit(model.pay(gone, split)));
    }
    if (kind === 'trade') await this.#trade(coin, split);
    if (kind === 'half') await this.#half1(coin, split);
    if (kind === 'other half') await this.#half2(coin, split);
  }

  async #cut(): Promise<void> {
    await this.#pair.cut();
    if (this.#half !== undefined && ++this.#half.cuts === 2) this.#half = undefined;
  }

  /** The whole set, with the parent of one half and the child of the other, in one list. */
  async #trade(coin: Coin, split: boolean): Promise<void> {
    const { model } = this;
    const info = this.#info();
    const parent = model.pay(coin, true);
    const half = model.pay(first(parent), split, info);
    const second = createdOutPoints(parent)[1];
    if (second === undefined) return;
    const other = model.pay({ outPoint: second.outPoint, amount: second.txOut.value.amount }, false, info);
    await this.#admit(parent, half, other, model.pay(first(half), false));
  }

  async #half1(coin: Coin, split: boolean): Promise<void> {
    if (this.#half !== undefined) return;
    const info = this.#info();
    const tx = this.model.pay(coin, split, info);
    expect(await this.#submit(tx)).toBeNull();
    this.#half = { tx, info, cuts: 0 };
  }

  /** The first half claims nothing: it may have lost its input. */
  async #half2(coin: Coin, split: boolean): Promise<void> {
    if (this.#half === undefined) return;
    const { tx, info } = this.#half;
    const other = this.model.pay(coin, split, info);
    this.#half = undefined;
    const inputs = new Set(this.model.coins.map(({ outPoint }) => outPointKey(outPoint)));
    const [key = ''] = spentOutPoints(tx).map(outPointKey);
    const isWhole = inputs.has(key) && key !== outPointKey(coin.outPoint);
    const answer = await this.#submit(other);
    if (!isWhole) expect(answer).not.toBeNull();
    else {
      expect(answer).toBeNull();
      this.model.take(tx);
      this.model.take(other);
    }
  }

  async #admit(...txs: Transaction[]): Promise<void> {
    const keys = txs.flatMap(spentOutPoints).map(outPointKey);
    if (new Set(keys).size < keys.length) {
      expect(await this.#submit(...txs)).toBe('double_spend');
      return;
    }
    expect(await this.#submit(...txs)).toBeNull();
    for (const tx of txs) this.model.take(tx);
  }

  #info(): DruidInfo {
    this.#trades += 1;
    return { druid: `trade ${this.#trades}`, participants: 2n, expectations: [], genesisHash: null };
  }

  async #submit(...txs: Transaction[]): Promise<string | null> {
    try {
      await this.#pair.mempool.submit(txs);
      return null;
    } catch (error) {
      if (isTesseraError(error)) return error.code;
      throw error;
    }
  }
}

/** Each transaction with the number of its block and its place there. */
function placesOf({ blocks }: Pair): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [height, { block }] of blocks.entries()) {
    for (const [i, hash] of block.transactions.entries()) {
      expect(places.has(hash)).toBe(false);
      places.set(hash, height * 100_000 + i);
    }
  }
  return places;
}

/** The digest that the journal alone leads to, by a state in memory and as it is loaded from its database. */
async function replayed(journal: Journal): Promise<readonly string[]> {
  const kv = new MemoryKv();
  const state = new MempoolState(stateRulesOf(GENESIS));
  const applier = applierOf(journal, kv, state);
  await applier.start();
  await applier.stop();
  const loaded = await loadMempoolState(kv, stateRulesOf(GENESIS), { hashKey: new Uint8Array(8).fill(7) });
  return [state.digest(), loaded.digest()];
}

describe('chains of transactions in the pool', () => {
  test.prop([fc.array(step, { minLength: 5, maxLength: 40 })], { numRuns: 15 })(
    'are all confirmed, in order, and replayed to the same digest (rules P2, P4)',
    async (steps) => {
      const journal = await openJournal(new MemoryKv());
      const pair = await createPair({ genesis: GENESIS, miner: account('miner'), onDemand: true, journal });
      try {
        await pair.cut();
        const script = new Script(pair);
        for (const one of steps) await script.run(one);
        const digest = pair.mempool.digest();
        expect(await replayed(journal)).toEqual([digest, digest]);
        await pair.cut();
        await pair.cut();
        expect(pair.refusals).toEqual([]);
        const places = placesOf(pair);
        for (const tx of script.model.admitted) {
          const place = places.get(transactionHash(tx));
          expect(place).toBeDefined();
          for (const { tHash } of spentOutPoints(tx)) expect(places.get(tHash)).toBeLessThan(place ?? 0);
        }
        const owned = script.model.coins.reduce((sum, { amount }) => sum + amount, 0n);
        expect(pair.mempool.balances([alice.address]).tokens).toBe(owned);
        expect(owned).toBe(FUNDS * BigInt(OUTPUTS));
        expect(await pair.archive.verify()).toMatchObject({ blocks: pair.archive.nextHeight });
      } finally {
        await pair.close();
      }
    },
  );
});
