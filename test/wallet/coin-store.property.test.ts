import { afterAll, describe, expect, it } from 'vitest';
import { transactionHash } from '../../src/chain/hash.js';
import { createdOutPoints, outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import type { OutPoint, Transaction, TxOut } from '../../src/chain/types.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { fc, test } from '../support/property.js';
import {
  block,
  NOBODY,
  newWallet,
  openWallet,
  paymentFromOutside,
  refreshOnce,
  removeFolders,
  tokens,
} from '../support/wallet-fixtures.js';

afterAll(removeFolders);

/** Change counts from its block on; `wallet-model.ts` has the wallet that spends it before. */
const OPTIONS = { spendOwnChange: false };

const Step = fc.oneof(
  fc.record({
    kind: fc.constant('deposit' as const),
    amount: fc.integer({ min: 1, max: 50 }),
    lock: fc.integer({ min: 0, max: 4 }),
  }),
  fc.record({ kind: fc.constant('pay' as const), amount: fc.integer({ min: 1, max: 60 }), own: fc.boolean() }),
  fc.record({ kind: fc.constant('reject' as const), pick: fc.nat() }),
  fc.record({ kind: fc.constant('steal' as const), pick: fc.nat() }),
  fc.record({ kind: fc.constant('mine' as const), told: fc.boolean(), take: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ kind: fc.constant('refresh' as const), pick: fc.nat() }),
  fc.constant({ kind: 'restart' as const }),
);

/** The chain as it really is, and what the wallet has on its way. */
interface Model {
  readonly utxos: Map<string, readonly [OutPoint, TxOut]>;
  readonly flying: Map<string, Transaction>;
  /** Hash of the last block. */
  tip: string | null;
  /** Waits for the next block. */
  pool: Transaction[];
  height: number;
}

describe('coins against a model (decisions V12, V13)', () => {
  test.prop([fc.array(Step, { minLength: 5, maxLength: 40, size: 'max' })], { numRuns: 15 })(
    'agrees with the chain after any sequence of payments, blocks, refreshes and restarts',
    async (steps) => {
      let open = await newWallet(OPTIONS);
      const own = [await open.wallet.newAddress(), await open.wallet.newAddress(), await open.wallet.newAddress()];
      const model: Model = { utxos: new Map(), flying: new Map(), pool: [], height: -1, tip: null };
      /** Addresses whose blocks the wallet has missed. */
      let missed = false;

      const isMine = ({ scriptPublicKey: to }: TxOut): boolean => to !== null && open.wallet.keys.owns(to);
      const takenByFlying = (): Set<string> =>
        new Set([...model.flying.values()].flatMap(spentOutPoints).map(outPointKey));

      const refreshAll = async (): Promise<void> => {
        const confirmed = [...model.flying].filter(([, transaction]) =>
          spentOutPoints(transaction).some((outPoint) => !model.utxos.has(outPointKey(outPoint))),
        );
        await refreshOnce(open.wallet, [...open.wallet.keys.addresses.keys()], [...model.utxos.values()], model.height);
        for (const [hash] of confirmed) {
          await open.wallet.settlement.markConfirmed(hash);
          model.flying.delete(hash);
        }
        await open.wallet.chain.advanceTo({ height: model.height, hash: model.tip });
        missed = false;
      };

      const mine = async (transactions: readonly Transaction[], told: boolean): Promise<void> => {
        model.height += 1;
        const { full, hash } = block(model.height, transactions, { previous: model.tip });
        model.tip = hash;
        for (const transaction of transactions) {
          for (const outPoint of spentOutPoints(transaction)) model.utxos.delete(outPointKey(outPoint));
          for (const { outPoint, txOut } of createdOutPoints(transaction)) {
            if (isMine(txOut)) model.utxos.set(outPointKey(outPoint), [outPoint, txOut]);
          }
        }
        if (!told || missed) {
          missed = true;
          return;
        }
        expect(await open.wallet.chain.apply({ full, hash })).toBe('applied');
        for (const transaction of transactions) model.flying.delete(transactionHash(transaction));
      };

      const run = async (step: typeof Step extends fc.Arbitrary<infer T> ? T : never): Promise<void> => {
        const free = [...model.utxos].filter(([key]) => !takenByFlying().has(key));
        if (step.kind === 'deposit') {
          const address = own[step.amount % own.length] ?? '';
          model.pool.push(
            paymentFromOutside([tokens(address, BigInt(step.amount), BigInt(Math.max(model.height, 0) + step.lock))]),
          );
        } else if (step.kind === 'pay') {
          const address = step.own ? (own[0] ?? '') : NOBODY;
          try {
            const made = await open.wallet.payments.pay({ address, amount: BigInt(step.amount), locktime: 0n });
            for (const outPoint of spentOutPoints(made.transaction)) {
              expect(takenByFlying().has(outPointKey(outPoint))).toBe(false);
            }
            model.flying.set(made.hash, made.transaction);
          } catch (error) {
            expect(isTesseraError(error, 'insufficient_funds')).toBe(true);
          }
        } else if (step.kind === 'reject' && !missed && model.flying.size > 0) {
          const hash = [...model.flying.keys()][step.pick % model.flying.size] ?? '';
          await open.wallet.settlement.markRejected(hash, 'the model says so');
          model.flying.delete(hash);
        } else if (step.kind === 'steal' && free.length > 0) {
          const [, [previousOut]] = free[step.pick % free.length] ?? [...model.utxos][0] ?? ['', [{ tHash: '', n: 0 }]];
          const theft = { ...paymentFromOutside([tokens(NOBODY, 1n)]), inputs: [{ previousOut, script: [] }] };
          await mine([theft], true);
        } else if (step.kind === 'mine') {
          const valid = [...model.flying.values()].filter((transaction) =>
            spentOutPoints(transaction).every((outPoint) => model.utxos.has(outPointKey(outPoint))),
          );
          await mine([...model.pool.splice(0), ...valid.slice(0, step.take)], step.told);
        } else if (step.kind === 'refresh' && !missed && model.height >= 0) {
          const address = own[step.pick % own.length] ?? '';
          const before = open.wallet.coins.totals();
          for (let i = 0; i < 2; i++) {
            await refreshOnce(open.wallet, [address], [...model.utxos.values()], model.height);
          }
          expect(open.wallet.coins.totals()).toEqual(before);
        } else if (step.kind === 'restart') {
          const before = [open.wallet.coins.totals(), await open.wallet.info({}), await open.wallet.outgoing.latest()];
          await open.close();
          open = await openWallet(open.folder, OPTIONS);
          expect([open.wallet.coins.totals(), await open.wallet.info({}), await open.wallet.outgoing.latest()]).toEqual(
            before,
          );
        }
      };

      for (const step of steps) {
        await run(step);
        if (missed && step.kind === 'refresh') await refreshAll();
        if (missed) continue;
        const taken = takenByFlying();
        const unspent = [...model.utxos].filter(([key]) => !taken.has(key)).map(([, [, txOut]]) => txOut);
        const coming = [...model.flying.values()].flatMap(({ outputs }) => outputs).filter(isMine);
        const sum = (list: readonly TxOut[]): bigint => list.reduce((total, { value }) => total + value.amount, 0n);
        const spendable = unspent.filter(({ locktime }) => locktime <= BigInt(Math.max(model.height, 0)));
        const totals = open.wallet.coins.totals();
        expect(totals.running).toBe(sum(unspent) + sum(coming));
        expect(totals.available).toBe(sum(spendable));
        expect(totals.locked).toBe(totals.running - totals.available);
        const listed = [...(await open.wallet.info({})).addresses.values()].flat();
        expect(listed.reduce((total, { value }) => total + value.amount, 0n)).toBe(totals.running);
      }
      await open.close();
    },
  );
});

describe('a large wallet', () => {
  it('pays from a hundred thousand outpoints without looking at all of them', async () => {
    const { wallet, close } = await newWallet({ dust: 72_072n });
    const address = await wallet.newAddress();
    const outputs = Array.from({ length: 100_000 }, (_, i) => tokens(address, 100_000n + BigInt(i)));
    const { full, hash } = block(0, [paymentFromOutside(outputs)]);
    await wallet.chain.apply({ full, hash });
    const before = wallet.coins.totals().running;
    const started = performance.now();
    for (let i = 0; i < 100; i++) await wallet.payments.pay({ address: NOBODY, amount: 50_001n, locktime: 0n });
    const each = (performance.now() - started) / 100;
    expect(wallet.coins.totals().running).toBe(before - 100n * 50_001n);
    process.stdout.write(`a payment from 100,000 outpoints: ${each.toFixed(2)} ms\n`);
    await close();
  });
});
