/** The history against a model of the chain: its movements add up to the balance, and each is there once. */

import { join } from 'node:path';
import { afterAll, describe, expect } from 'vitest';
import { coinbaseTransaction } from '../../src/chain/builders.js';
import { transactionHash } from '../../src/chain/hash.js';
import { createdOutPoints, outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import type { OutPoint, Transaction, TxOut } from '../../src/chain/types.js';
import { prefixRange } from '../../src/db/keys.js';
import { LevelKv } from '../../src/db/level-kv.js';
import { utf8 } from '../../src/lib/bytes.js';
import { systemClock } from '../../src/lib/clock.js';
import { isTesseraError } from '../../src/lib/errors.js';
import type { ToldBlock } from '../../src/wallet/block-check.js';
import { META_KEY, PREFIX } from '../../src/wallet/layout.js';
import { readMeta } from '../../src/wallet/meta.js';
import type { WalletMovement } from '../../src/wallet/service.js';
import { startOver } from '../../src/wallet/start-over.js';
import type { Wallet } from '../../src/wallet/wallet.js';
import { fc, test } from '../support/property.js';
import {
  block,
  NOBODY,
  newWallet,
  type OpenWallet,
  openWallet,
  paymentFromOutside,
  refreshOnce,
  removeFolders,
  tokens,
} from '../support/wallet-fixtures.js';

afterAll(removeFolders);

/** Walks of 40 steps on average. */
const RUNS = Number(process.env.PROPERTY_RUNS ?? 6);

const Amount = fc.integer({ min: 1, max: 90 });
const Step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('deposit' as const), amount: Amount, pick: fc.nat() }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('pay' as const), amount: Amount, to: fc.nat({ max: 2 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reject' as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('elsewhere' as const), pick: fc.nat(), keep: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('copy' as const),
      pick: fc.nat(),
      told: fc.boolean(),
      ahead: fc.nat({ max: 3 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('mine' as const),
      told: fc.integer({ min: 0, max: 6 }),
      take: fc.integer({ min: 0, max: 3 }),
      reward: fc.boolean(),
      ahead: fc.nat({ max: 5 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('refresh' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('import' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('sweep' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('older' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('rebuild' as const),
      hours: fc.constantFrom(0, 12),
      replays: fc.boolean(),
    }),
  },
);
type Step = typeof Step extends fc.Arbitrary<infer T> ? T : never;

async function allMovements(wallet: Wallet, limit = 1_000): Promise<WalletMovement[]> {
  const all: WalletMovement[] = [];
  for (let cursor: number | null | undefined; cursor !== null; ) {
    const query = { limit, newestFirst: false, ...(cursor === undefined ? {} : { cursor }) };
    const page = await wallet.history.movements(query);
    all.push(...page.movements);
    cursor = page.next;
  }
  return all;
}

/** Makes the folder one of a version that kept no history. */
async function forgetHistory(folder: string): Promise<void> {
  const kv = await LevelKv.open(join(folder, 'db'), { createIfMissing: false });
  const batch = kv.batch();
  for (const prefix of [PREFIX.movement, PREFIX.movementOf]) {
    for await (const [key] of kv.entries(prefixRange(prefix))) batch.del(key);
  }
  const { movements: _, ...meta } = await readMeta(kv);
  await kv.write(batch.put(META_KEY, utf8(JSON.stringify(meta))), { sync: true });
  await kv.close();
}

/** Makes the wallet forget what the chain has told it (docs/operations.md#rebuilding). */
async function forgetChain(folder: string, hours: number): Promise<void> {
  const kv = await LevelKv.open(join(folder, 'db'), { createIfMissing: false });
  await startOver(kv, systemClock.now() + 1, hours);
  await kv.close();
}

/** The chain as it really is. */
class Chain {
  readonly utxos = new Map<string, readonly [OutPoint, TxOut]>();
  /** Heights of transactions. */
  readonly heights = new Map<string, number>();
  readonly blocks: ToldBlock[] = [];
  pool: Transaction[] = [];
  height = -1;
  tip: string | null = null;

  mine(transactions: readonly Transaction[], rewardTo: string = NOBODY) {
    this.height += 1;
    const mining = coinbaseTransaction(BigInt(this.height), 7n, rewardTo);
    const made = block(this.height, transactions, { previous: this.tip, mining });
    this.tip = made.hash;
    this.blocks.push(made);
    for (const transaction of [...transactions, mining]) {
      for (const outPoint of spentOutPoints(transaction)) this.utxos.delete(outPointKey(outPoint));
      for (const { outPoint, txOut } of createdOutPoints(transaction)) {
        this.utxos.set(outPointKey(outPoint), [outPoint, txOut]);
      }
      this.heights.set(transactionHash(transaction), this.height);
    }
    return made;
  }

  has(transaction: Transaction): boolean {
    return spentOutPoints(transaction).every((outPoint) => this.utxos.has(outPointKey(outPoint)));
  }

  at(addresses: readonly string[]) {
    const wanted = new Set(addresses);
    return [...this.utxos.values()].filter(([, { scriptPublicKey: to }]) => to !== null && wanted.has(to));
  }
}

/** A wallet that follows the chain, and misses blocks now and then. */
class Run {
  readonly chain = new Chain();
  readonly other: OpenWallet;
  readonly #foreign: string;
  /** Own transactions of which a copy was mined. */
  readonly #copied = new Set<string>();
  open: OpenWallet;
  missed = false;
  #isImported = false;

  private constructor(open: OpenWallet, other: OpenWallet, foreign: string) {
    this.open = open;
    this.other = other;
    this.#foreign = foreign;
  }

  static async start(): Promise<Run> {
    const other = await newWallet();
    return new Run(await newWallet(), other, await other.wallet.newAddress());
  }

  get wallet(): Wallet {
    return this.open.wallet;
  }

  async do(step: Step): Promise<void> {
    const { chain, wallet } = this;
    switch (step.kind) {
      case 'deposit': {
        const to = step.pick % 3 === 0 ? this.#foreign : await wallet.newAddress();
        chain.pool.push(paymentFromOutside([tokens(to, BigInt(step.amount))]));
        return;
      }
      case 'pay':
        return this.#pay(BigInt(step.amount), [NOBODY, this.#foreign, await wallet.newAddress()][step.to] ?? NOBODY);
      case 'reject': {
        const flying = this.missed ? [] : wallet.outgoing.inFlight();
        const one = flying[step.pick % Math.max(flying.length, 1)];
        if (one) await wallet.settlement.markRejected(one.hash, 'the model says so');
        return;
      }
      case 'elsewhere':
        return this.#spendElsewhere(step.pick, step.keep);
      case 'copy': {
        const flying = wallet.outgoing.inFlight().filter(({ transaction }) => chain.has(transaction));
        const one = flying[step.pick % Math.max(flying.length, 1)];
        if (one) this.#copied.add(one.hash);
        if (one) await this.#mine([{ ...one.transaction, version: one.transaction.version + 1n }], step);
        return;
      }
      case 'mine': {
        const flying = wallet.outgoing.inFlight().map(({ transaction }) => transaction);
        const ready = flying.filter((transaction) => chain.has(transaction)).slice(0, step.take);
        const reward = step.reward ? await wallet.chain.rewardAddress() : NOBODY;
        const how = { told: step.told > 1, ahead: step.ahead };
        return this.#mine([...chain.pool.splice(0), ...ready], how, reward);
      }
      case 'refresh':
        return this.#refresh();
      case 'import': {
        if (this.missed || this.#isImported || chain.height < 0) return;
        this.#isImported = true;
        await wallet.importKeyPairs(await this.other.wallet.exportKeyPairs()).catch(() => undefined);
        await refreshOnce(wallet, [this.#foreign], chain.at([this.#foreign]), chain.height);
        return;
      }
      case 'sweep':
        if (this.#isImported) await wallet.coverage.sweep();
        return;
      case 'restart': {
        const before = await allMovements(wallet);
        await this.#restart();
        expect(await allMovements(this.wallet)).toEqual(before);
        return;
      }
      case 'older': {
        if (this.missed) return;
        const before = wallet.coins.totals().running;
        await this.#restart(forgetHistory);
        expect(this.wallet.coins.totals().running).toBe(before);
        return;
      }
      case 'rebuild': {
        if (this.missed || chain.height < 0) return;
        const before = wallet.coins.totals().running;
        await this.#restart((folder) => forgetChain(folder, step.hours));
        await this.check();
        for (const one of step.replays ? chain.blocks : []) {
          expect(await this.wallet.chain.apply(one)).toBe('applied');
          await this.check();
        }
        await this.#refresh();
        expect(this.wallet.coins.totals().running).toBe(before);
      }
    }
  }

  async #restart(between: (folder: string) => Promise<void> = async () => {}): Promise<void> {
    const { folder } = this.open;
    await this.open.close();
    await between(folder);
    this.open = await openWallet(folder);
  }

  async check(): Promise<void> {
    const movements = await allMovements(this.wallet);
    expect(movements.map(({ number }) => number)).toEqual(
      [...movements.map(({ number }) => number)].sort((a, b) => a - b),
    );
    const sum = movements.reduce((total, { net }) => total + net, 0n);
    expect(sum).toBe(this.wallet.coins.totals().running);
    const once = movements.filter(({ kind }) => kind !== 'import' && kind !== 'unexplained').map(({ hash }) => hash);
    expect(new Set(once).size).toBe(once.length);
    for (const { hash, copyHash, height } of movements) {
      if (height !== null) expect(height).toBe(this.chain.heights.get(copyHash ?? hash ?? ''));
    }
    expect(await allMovements(this.wallet, 3)).toEqual(movements);
  }

  async end(): Promise<void> {
    await this.open.close();
    await this.other.close();
  }

  async #pay(amount: bigint, address: string): Promise<void> {
    try {
      await this.wallet.payments.pay({ address, amount, locktime: 0n });
    } catch (error) {
      expect(isTesseraError(error, 'insufficient_funds')).toBe(true);
    }
  }

  /** Another wallet with the same keys spends a coin; `keep`: and pays some of it back. */
  async #spendElsewhere(pick: number, keep: boolean): Promise<void> {
    const taken = new Set(
      this.wallet.outgoing
        .inFlight()
        .flatMap(({ transaction }) => spentOutPoints(transaction))
        .map(outPointKey),
    );
    const free = this.chain
      .at([...this.wallet.keys.addresses.keys()])
      .filter(([outPoint]) => !taken.has(outPointKey(outPoint)));
    const [previousOut, { value }] = free[pick % Math.max(free.length, 1)] ?? [null, tokens(NOBODY, 0n)];
    if (previousOut === null || value.amount < 2n) return;
    const back = keep ? [tokens(await this.wallet.newAddress(), 1n)] : [];
    const outputs = [tokens(NOBODY, value.amount - (keep ? 1n : 0n)), ...back];
    await this.#mine([{ ...paymentFromOutside(outputs), inputs: [{ previousOut, script: [] }] }], {
      told: true,
      ahead: 0,
    });
  }

  /** `ahead`: a refresh of some addresses has come before the block. */
  async #mine(
    transactions: readonly Transaction[],
    { told, ahead }: { readonly told: boolean; readonly ahead: number },
    reward?: string,
  ): Promise<void> {
    const made = this.chain.mine(transactions, reward);
    this.missed = this.missed || !told;
    if (!this.missed && ahead > 0) {
      const some = this.wallet.keys.watched().filter((_, i) => i % ahead === 0);
      await refreshOnce(this.wallet, some, this.chain.at(some), this.chain.height);
    }
    if (!this.missed) expect(await this.wallet.chain.apply(made)).toBe('applied');
  }

  /** As `ChainFollower` catches up: statuses, outputs, then what became of payments. */
  async #refresh(): Promise<void> {
    const { chain, wallet } = this;
    if (chain.height < 0) return;
    for (let asked = -1; asked !== wallet.keys.watched().length; ) {
      asked = wallet.keys.watched().length;
      await refreshOnce(wallet, wallet.keys.watched(), chain.at(wallet.keys.watched()), chain.height);
    }
    for (const { hash } of wallet.outgoing.inFlight()) {
      if (chain.heights.has(hash)) await wallet.settlement.markConfirmed(hash);
      else if (this.#copied.has(hash)) await wallet.settlement.markConfirmed(hash, { asCopy: true });
    }
    await wallet.chain.advanceTo({ height: chain.height, hash: chain.tip });
    this.missed = false;
  }
}

describe('the history of a wallet (docs/wallet.md#history)', () => {
  test.prop([fc.array(Step, { minLength: 20, maxLength: 60, size: 'max' })], { numRuns: RUNS })(
    'adds up to the balance after any sequence of movements, and has each once',
    async (steps) => {
      const run = await Run.start();
      for (const amount of [40, 60, 90, 120]) await run.do({ kind: 'deposit', amount, pick: 1 });
      await run.do({ kind: 'mine', told: 9, take: 0, reward: false, ahead: 0 });
      for (const step of steps) {
        await run.do(step);
        if (!run.missed) await run.check();
      }
      await run.end();
    },
  );
});
