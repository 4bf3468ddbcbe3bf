/** A wallet that spends its own change before a block has it (docs/adr/0023-own-change.md). */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { transactionHash } from '../../src/chain/hash.js';
import { outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import type { Transaction } from '../../src/chain/types.js';
import type { Kv } from '../../src/db/kv.js';
import { LevelKv } from '../../src/db/level-kv.js';
import { systemClock } from '../../src/lib/clock.js';
import { createDeferred } from '../../src/lib/deferred.js';
import type { OwnTransaction } from '../../src/wallet/payments/outgoing.js';
import { startOver } from '../../src/wallet/start-over.js';
import type { Wallet } from '../../src/wallet/wallet.js';
import { withWrite } from '../support/kv.js';
import {
  fund,
  NOBODY,
  newWallet,
  nextBlock,
  type OpenWallet,
  openWallet,
  paymentFromOutside,
  refreshOnce,
  removeFolders,
  tokens,
} from '../support/wallet-fixtures.js';

let open: OpenWallet;
let wallet: Wallet;

beforeEach(async () => {
  open = await newWallet();
  wallet = open.wallet;
});
afterEach(() => open.close());
afterAll(removeFolders);

const pay = (amount: bigint, address = NOBODY) => wallet.payments.pay({ address, amount, locktime: 0n });
const parentsOf = ({ transaction }: OwnTransaction) => spentOutPoints(transaction).map(({ tHash }) => tHash);
const applied = async (transactions: readonly Transaction[]) => wallet.chain.apply(nextBlock(wallet, transactions));
const ends = async () => (await wallet.outgoing.latest()).map(({ state, reason }) => [state, reason]);
const states = async () => (await wallet.outgoing.latest()).map(({ state }) => state);

async function reopen(): Promise<void> {
  await open.close();
  open = await openWallet(open.folder);
  wallet = open.wallet;
}

/** A transaction of somebody with the same keys, which spends what this one spends. */
function theftOf({ transaction }: OwnTransaction): Transaction {
  return { ...paymentFromOutside([tokens(NOBODY, 1n)]), inputs: transaction.inputs };
}

/** Every coin that is listed and every input in flight: none twice. */
async function expectNothingTwice(): Promise<void> {
  const inFlight = wallet.outgoing.inFlight();
  const spent = inFlight.flatMap(({ transaction }) => spentOutPoints(transaction).map(outPointKey));
  const listed = [...(await wallet.info({})).addresses.values()].flat().map(({ outPoint }) => outPointKey(outPoint));
  expect(new Set([...spent, ...listed]).size).toBe(spent.length + listed.length);
}

it('says what it holds while payments are being made: what they take counts until they are there', async () => {
  await fund(wallet, [1_000_000n]);
  const seen: (readonly [running: bigint, available: bigint])[] = [];
  wallet.settlement.changed.on(({ running, available }) => void seen.push([running, available]));
  const all = Promise.all(Array.from({ length: 50 }, () => pay(1n)));
  let isDone = false;
  void all.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    const { running, available, addresses } = await wallet.info({});
    const listed = [...addresses.values()].flat().reduce((sum, { value }) => sum + value.amount, 0n);
    expect(listed).toBe(running);
    seen.push([running, available]);
    await nextTurn();
  }
  await all;
  expect(seen.length).toBeGreaterThan(50);
  const low = seen.filter((totals) => totals.some((sum) => sum < 999_950n || sum > 1_000_000n));
  expect(low).toEqual([]);
});

describe('what a payment spends (decision V29)', () => {
  it('is the change of the one before, in a row and at once', async () => {
    await fund(wallet, [100n]);
    const made = [await pay(10n), await pay(10n)];
    made.push(...(await Promise.all([pay(10n), pay(10n), pay(10n)])));
    made.slice(1).forEach((one, i) => void expect(parentsOf(one)).toEqual([made[i]?.hash]));
    expect(wallet.coins.totals()).toEqual({ running: 50n, available: 50n, locked: 0n, unconfirmed: 50n });
    await applied(made.map(({ transaction }) => transaction));
    expect(await states()).toEqual(new Array(5).fill('confirmed'));
    expect(wallet.coins.totals()).toEqual({ running: 50n, available: 50n, locked: 0n, unconfirmed: 0n });
  });

  it('is what blocks have, as long as that suffices', async () => {
    await fund(wallet, [100n, 50n]);
    const first = await pay(30n);
    const second = await pay(60n);
    expect(parentsOf(second)).not.toContain(first.hash);
    expect(new Set(parentsOf(await pay(55n)))).toEqual(new Set([first.hash, second.hash]));
  });

  it('is both when one of them does not suffice', async () => {
    await fund(wallet, [100n, 20n]);
    const first = await pay(90n, await wallet.newAddress());
    const second = await pay(115n);
    expect(parentsOf(second)).toContain(first.hash);
    expect(wallet.coins.totals()).toMatchObject({ running: 5n, available: 5n });
  });

  it('is an item that was just made, and its change', async () => {
    const item = await wallet.payments.createItem({ spec: 'Create', amount: 5n, metadata: null });
    const order = { address: NOBODY, amount: 2n, genesisHash: item.hash, locktime: 0n };
    const [first, second] = [await wallet.payments.pay(order), await wallet.payments.pay(order)];
    expect([parentsOf(first), parentsOf(second)]).toEqual([[item.hash], [first.hash]]);
    await applied([item, first, second].map(({ transaction }) => transaction));
    expect((await wallet.info({})).items).toEqual(new Map([[item.hash, 1n]]));
  });

  it('is not an output of its own whose locktime has not come', async () => {
    await fund(wallet, [100n]);
    await wallet.payments.pay({ address: await wallet.newAddress(), amount: 60n, locktime: 3n });
    expect(wallet.coins.totals()).toMatchObject({ running: 100n, available: 40n, locked: 60n });
    await expect(pay(41n)).rejects.toMatchObject({
      message: 'the payment needs 41 raw units: available 40, locked 60, short of 1',
    });
  });

  it('waits for the block when the operator wants it to', async () => {
    const patient = await newWallet({ spendOwnChange: false });
    onTestFinished(() => patient.close());
    await fund(patient.wallet, [100n]);
    const order = (amount: bigint) => patient.wallet.payments.pay({ address: NOBODY, amount, locktime: 0n });
    const { transaction } = await order(30n);
    expect(patient.wallet.coins.totals()).toMatchObject({ running: 70n, available: 0n, locked: 70n });
    await expect(order(1n)).rejects.toMatchObject({
      message:
        'the payment needs 1 raw units: available 0, locked 70, 70 of it until a block has own payments, short of 1',
    });
    await patient.wallet.chain.apply(nextBlock(patient.wallet, [transaction]));
    await order(70n);
  });
});

describe('not enough funds', () => {
  it('is said in the same words to one and to twenty, also among payments that can be made', async () => {
    await fund(wallet, [100n]);
    const alone = await pay(101n).catch((error: Error) => error.message);
    const twenty = Array.from({ length: 20 }, () => pay(101n).catch((error: Error) => error.message));
    expect(new Set(await Promise.all(twenty))).toEqual(new Set([alone]));
    const results = await Promise.allSettled([pay(60n), ...Array.from({ length: 20 }, () => pay(60n)), pay(40n)]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', ...new Array(20).fill('rejected'), 'fulfilled']);
    const reasons = results.flatMap((one) => (one.status === 'rejected' ? [(one.reason as Error).message] : []));
    expect(new Set(reasons)).toEqual(new Set(['the payment needs 60 raw units: available 40, locked 0, short of 20']));
  });

  it('is said without waiting for payments that are being written', async () => {
    const gate = createDeferred<void>();
    let isHeld = false;
    const held = await newWallet({
      wrap: (kv) =>
        withWrite(kv, async (batch, options) => {
          if (isHeld) await gate.promise;
          await kv.write(batch, options);
        }),
    });
    onTestFinished(() => held.close());
    await fund(held.wallet, [100n]);
    isHeld = true;
    const order = (amount: bigint) => held.wallet.payments.pay({ address: NOBODY, amount, locktime: 0n });
    const first = order(10n);
    await expect(order(91n)).rejects.toMatchObject({ code: 'insufficient_funds' });
    gate.resolve();
    await first;
  });
});

describe('the end of a payment', () => {
  it('takes along what spends its change when it is refused; inputs come back once (decision V13)', async () => {
    await fund(wallet, [100n, 20n]);
    const first = await pay(90n, await wallet.newAddress());
    const second = await pay(115n);
    const third = await pay(5n);
    const ended: string[] = [];
    wallet.settlement.settled.on(({ hash }) => ended.push(hash));
    await wallet.settlement.markRejected(first.hash, 'a rule');
    const because = (hash: string) => `it spends an output of ${hash}, which will never exist`;
    expect(await ends()).toEqual([
      ['rejected', 'a rule'],
      ['rejected', because(first.hash)],
      ['rejected', because(first.hash)],
    ]);
    expect(ended).toEqual([first.hash, second.hash, third.hash]);
    expect(wallet.coins.totals()).toEqual({ running: 120n, available: 120n, locked: 0n, unconfirmed: 0n });
    await reopen();
    expect(wallet.coins.totals()).toEqual({ running: 120n, available: 120n, locked: 0n, unconfirmed: 0n });
    expect(wallet.outgoing.inFlight()).toEqual([]);
    await expectNothingTwice();
  });

  it('leaves its parent alone: the change is there again', async () => {
    await fund(wallet, [100n]);
    const first = await pay(10n);
    const second = await pay(10n);
    await wallet.settlement.markRejected(second.hash, 'a rule');
    expect(wallet.coins.totals()).toEqual({ running: 90n, available: 90n, locked: 0n, unconfirmed: 90n });
    await reopen();
    expect(wallet.coins.totals()).toEqual({ running: 90n, available: 90n, locked: 0n, unconfirmed: 90n });
    expect(parentsOf(await pay(10n))).toEqual([first.hash]);
  });

  it('takes along what spends its change when a block has its inputs in another transaction', async () => {
    await fund(wallet, [100n, 20n]);
    const first = await pay(90n, await wallet.newAddress());
    const second = await pay(115n);
    await applied([theftOf(first)]);
    expect(await states()).toEqual(['rejected', 'rejected']);
    expect(second.transaction.inputs).toHaveLength(3);
    expect(wallet.coins.totals()).toMatchObject({ running: 20n, available: 20n });
    await reopen();
    expect(wallet.coins.totals()).toMatchObject({ running: 20n, available: 20n });
  });

  it.each([true, false])(
    'takes along what spends its change when a copy with another version is in the chain (block seen: %s)',
    async (isSeen) => {
      await fund(wallet, [100n]);
      const first = await pay(10n);
      await pay(20n);
      const copy = { ...first.transaction, version: 7n };
      if (isSeen) await applied([copy]);
      else {
        const [, change] = first.transaction.outputs;
        if (change === undefined) throw new Error('no change');
        const point = { height: 1, hash: null };
        await refreshOnce(
          wallet,
          [...wallet.keys.addresses.keys()],
          [[{ tHash: transactionHash(copy), n: 1 }, change]],
          1,
        );
        await wallet.settlement.markConfirmed(first.hash, { asCopy: true });
        await wallet.chain.advanceTo(point);
      }
      expect(await states()).toEqual(['confirmed', 'rejected']);
      expect(wallet.coins.totals()).toEqual({ running: 90n, available: 90n, locked: 0n, unconfirmed: 0n });
    },
  );
});

describe('a chain that is only partly in blocks', () => {
  it('is settled block by block, over restarts', async () => {
    await fund(wallet, [100n]);
    const made = [await pay(10n), await pay(10n), await pay(10n)];
    for (const { transaction } of made) {
      await reopen();
      await applied([transaction]);
      expect(wallet.coins.totals()).toMatchObject({ running: 70n, available: 70n });
      await expectNothingTwice();
    }
    expect(wallet.coins.totals().unconfirmed).toBe(0n);
    expect(await states()).toEqual(['confirmed', 'confirmed', 'confirmed']);
  });

  it('gives the change of what is in a block back as such when what spends it is refused', async () => {
    await fund(wallet, [100n]);
    const first = await pay(10n);
    const second = await pay(10n);
    await applied([first.transaction]);
    await wallet.settlement.markRejected(second.hash, 'a rule');
    expect(wallet.coins.totals()).toEqual({ running: 90n, available: 90n, locked: 0n, unconfirmed: 0n });
    await reopen();
    expect(wallet.coins.totals()).toEqual({ running: 90n, available: 90n, locked: 0n, unconfirmed: 0n });
  });

  it('is settled by a refresh that shows what is left of it', async () => {
    await fund(wallet, [100n]);
    const made = [await pay(10n), await pay(10n)];
    const change = made[1]?.transaction.outputs[1];
    if (change === undefined) throw new Error('no change');
    await refreshOnce(wallet, [...wallet.keys.addresses.keys()], [[{ tHash: made[1]?.hash ?? '', n: 1 }, change]], 1);
    for (const { hash } of made) await wallet.settlement.markConfirmed(hash);
    await wallet.chain.advanceTo({ height: 1, hash: null });
    expect(wallet.coins.totals()).toEqual({ running: 80n, available: 80n, locked: 0n, unconfirmed: 0n });
    expect(await states()).toEqual(['confirmed', 'confirmed']);
  });

  it('starts over as a whole on a chain that has lost its blocks', async () => {
    await fund(wallet, [100n]);
    const made = [await pay(10n), await pay(10n)];
    await applied(made.map(({ transaction }) => transaction));
    await open.close();
    const kv = await LevelKv.open(`${open.folder}/db`, { createIfMissing: false });
    await startOver(kv, systemClock.now());
    await kv.close();
    open = await openWallet(open.folder);
    wallet = open.wallet;
    expect(wallet.outgoing.takeQueued()?.hash).toBe(made[0]?.hash);
    expect(wallet.outgoing.takeQueued()).toBeUndefined();
    // Its input is no output of the chain, so that it does not come back as one.
    await wallet.settlement.markRejected(made[1]?.hash ?? '', 'a rule');
    expect(wallet.coins.totals()).toMatchObject({ running: 90n, unconfirmed: 90n });
  });
});

describe('a payment that is being made', () => {
  it('fails with the one whose change it spends when that could not be written, and takes nothing', async () => {
    let broken = false;
    const gate = createDeferred<void>();
    const reached = createDeferred<void>();
    const wrap = (kv: Kv): Kv =>
      withWrite(kv, async (batch, options) => {
        if (!broken) return kv.write(batch, options);
        broken = false;
        reached.resolve();
        await gate.promise;
        throw new Error('disk full');
      });
    const fragile = await newWallet({ wrap });
    onTestFinished(() => fragile.close());
    await fund(fragile.wallet, [100n]);
    const order = (amount: bigint) => fragile.wallet.payments.pay({ address: NOBODY, amount, locktime: 0n });
    broken = true;
    const first = order(10n).catch((error: unknown) => error);
    await reached.promise;
    const second = order(10n).catch((error: unknown) => error);
    // The second spends the change of the first, and is staged behind the write that fails.
    while (fragile.wallet.outgoing.inFlight().length < 2) await new Promise((resolve) => setImmediate(resolve));
    gate.resolve();
    expect([await first, await second]).toMatchObject([
      { code: 'wallet_write_failed' },
      { code: 'wallet_write_failed' },
    ]);
    expect(fragile.wallet.coins.totals()).toEqual({ running: 100n, available: 100n, locked: 0n, unconfirmed: 0n });
    expect(fragile.wallet.outgoing.takeQueued()).toBeUndefined();
    const third = await order(10n);
    await fragile.close();
    const again = await openWallet(fragile.folder);
    onTestFinished(() => again.close());
    expect(again.wallet.outgoing.inFlight().map(({ hash }) => hash)).toEqual([third.hash]);
    expect(again.wallet.coins.totals()).toMatchObject({ running: 90n, available: 90n });
  });

  it('takes other coins when a block has spent the ones that it had taken', async () => {
    await fund(wallet, [100n, 70n]);
    const [mine] = [...(await wallet.info({})).addresses.values()].flat().filter(({ value }) => value.amount === 70n);
    if (mine === undefined) throw new Error('no coin');
    const theft = { ...paymentFromOutside([tokens(NOBODY, 1n)]), inputs: [{ previousOut: mine.outPoint, script: [] }] };
    const paid = pay(60n);
    const block = nextBlock(wallet, [theft]);
    const [{ transaction }] = await Promise.all([paid, wallet.chain.apply(block)]);
    if (spentOutPoints(transaction).some((outPoint) => outPointKey(outPoint) === outPointKey(mine.outPoint))) {
      // The block came later: it has shown that the payment is none.
      expect(await states()).toEqual(['rejected']);
    } else expect(wallet.coins.totals()).toMatchObject({ running: 40n, available: 40n });
    await expectNothingTwice();
  });
});
