/** What a submission may cost: counted in checks before any is run, and bounded (issue: a hostile world; rule P6). */

import { describe, expect, it } from 'vitest';
import { p2shAddress } from '../../src/chain/address.js';
import { tokenAsset } from '../../src/chain/assets.js';
import { createItemTransaction, txOut } from '../../src/chain/builders.js';
import { MAX_BLOCK_SIGNATURE_OPERATIONS, MAX_TX_SIGNATURE_OPERATIONS } from '../../src/chain/constants.js';
import { transactionHash } from '../../src/chain/hash.js';
import { OP } from '../../src/chain/script/opcodes.js';
import { scriptSignatureOperations } from '../../src/chain/signature-operations.js';
import type { Script, StackEntry, Transaction } from '../../src/chain/types.js';
import { sign } from '../../src/crypto/ed25519.js';
import { signatureCost, verificationCost } from '../../src/crypto/unusual-keys.js';
import type { ErrorCode } from '../../src/lib/errors.js';
import { MAX_SUBMITTED_OPERATIONS, VerificationBounds } from '../../src/mempool/admission/checks.js';
import type { Mempool } from '../../src/mempool/mempool.js';
import { type Account, account, candidate, genesisOut, pay, payment, rulesFor } from '../support/mempool.js';
import { alice, bob, newFolder, send, setUp, stored } from './running.js';

const text = 'anything';
const op = (code: number): StackEntry => ({ kind: 'op', op: code });

/** A script of `count` groups, each a 20-of-20 multi-signature that is wrong at its last signature. */
function bomb(count: number, seed: number): Script {
  const { publicKey } = alice.key;
  const good = sign(alice.key.seed, text);
  const keys = Array.from({ length: 20 }, (): StackEntry => ({ kind: 'pubkey', bytes: publicKey }));
  const signatures = Array.from({ length: 20 }, (): StackEntry => ({ kind: 'signature', bytes: good }));
  const twenty: StackEntry = { kind: 'num', value: 20n };
  const group: Script = [{ kind: 'bytes', text }, ...signatures, twenty, ...keys, twenty, op(OP.CHECKMULTISIGVERIFY)];
  return [...Array.from({ length: count }, () => group).flat(), { kind: 'num', value: BigInt(seed) }];
}

const checksRun = (mempool: Mempool): number => {
  const { worker, main } = mempool.figures().checks;
  return worker + main;
};

/** A mempool in whose block 1 there is an output for each of the scripts. */
async function withScripts(scripts: readonly Script[]): Promise<{ mempool: Mempool; spend: Transaction }> {
  const { mempool } = await setUp({ folder: await newFolder() });
  await stored(mempool, 0);
  const outputs = scripts.map((script) => txOut(tokenAsset(1n), p2shAddress(script)));
  const rest = 1_000_000n - BigInt(scripts.length);
  const funding = payment({ from: alice, inputs: [genesisOut(0)], outputs: [...outputs, pay(alice, rest)] });
  await mempool.submit([funding]);
  await stored(mempool, 1);
  const tHash = transactionHash(funding);
  const spend: Transaction = {
    inputs: scripts.map((script, n) => ({ previousOut: { tHash, n }, script })),
    outputs: [pay(bob, BigInt(scripts.length))],
    version: 6n,
    fees: [],
    druidInfo: null,
  };
  return { mempool, spend };
}

describe('a transaction whose scripts ask for too many signatures', () => {
  it('is refused by the count alone: not one of them is verified', async () => {
    const { mempool, spend } = await withScripts([bomb(5, 1), bomb(5, 2)]);
    expect(spend.inputs.reduce((sum, { script }) => sum + scriptSignatureOperations(script), 0)).toBe(2_100);
    const before = checksRun(mempool);
    await expect(mempool.submit([spend])).rejects.toMatchObject({
      code: 'transaction_rejected',
      message: expect.stringContaining('2100 signature operations'),
    });
    // Neither are those of a list that has it in it.
    await expect(mempool.submit([send(bob, 1, alice), spend])).rejects.toMatchObject({ code: 'transaction_rejected' });
    expect(checksRun(mempool)).toBe(before);
  });
});

describe('a script within the budget', () => {
  it('runs in a worker, never on the main thread, and its output can be spent', async () => {
    const { mempool, spend } = await withScripts([bomb(1, 1), bomb(1, 2)]);
    const { main, worker } = mempool.figures().checks;
    await mempool.submit([spend]);
    expect(mempool.figures().checks).toEqual({ main, worker: worker + 2 });
    await stored(mempool, 2);
  });

  it('is not run again when the same transaction is posted again', async () => {
    const { mempool, spend } = await withScripts([bomb(1, 0)]);
    const before = checksRun(mempool);
    for (let i = 0; i < 5; i++) {
      await expect(mempool.submit([spend])).rejects.toMatchObject({ code: 'invalid_signature' });
    }
    expect(checksRun(mempool)).toBe(before + 1);
  });
});

describe('a thousand forms of one signature, the last of them wrong', () => {
  const amount = 1_000_000n;
  const wrong = (tx: Transaction): Transaction => ({
    ...tx,
    inputs: tx.inputs.map(({ previousOut, script }) => ({
      previousOut,
      script: script.map((entry) =>
        entry.kind === 'signature' ? { ...entry, bytes: sign(bob.key.seed, 'another text') } : entry,
      ),
    })),
  });
  const formsOf = (form: (i: number) => Transaction): Transaction[] =>
    Array.from({ length: 1_000 }, (_, i) => (i < 999 ? form(i) : wrong(form(i))));
  const honest = payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, amount)] });
  const druid = { participants: 2n, expectations: [], genesisHash: null };
  const create = (i: number): Transaction =>
    createItemTransaction({ bNum: 0n, amount: 1n, spec: 'Create', metadata: `form ${i}` }, alice.key);

  it.each<[string, (i: number) => Transaction, ErrorCode]>([
    // The second spends what the first does.
    ['a payment in all versions', (i) => ({ ...honest, version: BigInt(i) }), 'double_spend'],
    ['halves of trades', (i) => ({ ...honest, druidInfo: { ...druid, druid: `d${i}` } }), 'invalid_signature'],
    ['item creations', create, 'invalid_signature'],
  ])('costs a few verifications, not a thousand: %s', async (_what, form, code) => {
    const { mempool } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    const before = checksRun(mempool);
    await expect(mempool.submit(formsOf(form))).rejects.toMatchObject({ code });
    expect(checksRun(mempool) - before).toBeLessThan(100);
    expect(mempool.figures().waitingCount).toBe(0);
  });

  it('is refused for an unknown input as before, when nobody has what they spend', async () => {
    const { mempool } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    const lost = payment({ from: alice, inputs: [genesisOut(7)], outputs: [pay(bob, amount)] });
    await expect(mempool.submit(formsOf((i) => ({ ...lost, version: BigInt(i) })))).rejects.toMatchObject({
      code: 'unknown_input',
      details: { hash: transactionHash({ ...lost, version: 0n }) },
    });
  });

  it('is one payment and the same answer when all are the same (decision V4)', async () => {
    const { mempool } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    await mempool.submit(Array.from({ length: 50 }, () => honest));
    await stored(mempool, 1);
  });
});

describe('what waits for verification', () => {
  const spender = (operations: number, ...keys: StackEntry[]) =>
    candidate({
      inputs: [{ previousOut: null, script: [...keys, ...Array.from({ length: operations }, () => op(OP.CHECKSIG))] }],
      outputs: [],
      version: 6n,
      fees: [],
      druidInfo: null,
    });

  const full = expect.objectContaining({ code: 'overloaded' });

  it('is bounded: what comes beyond is refused as overloaded, until something is done', () => {
    const bounds = new VerificationBounds();
    const release = bounds.reserve([spender(MAX_SUBMITTED_OPERATIONS)], 'a');
    bounds.reserve([spender(MAX_SUBMITTED_OPERATIONS)], 'b');
    expect(() => bounds.reserve([spender(2)], 'c')).toThrow(full);
    release();
    bounds.reserve([spender(MAX_SUBMITTED_OPERATIONS)], 'c')();
  });

  const identity = Uint8Array.of(1, ...new Uint8Array(31));
  it.each<[string, StackEntry, number]>([
    ['under a key of small order', { kind: 'pubkey', bytes: identity }, verificationCost(identity)],
    [
      'with an R of small order',
      { kind: 'signature', bytes: Uint8Array.of(...identity, ...new Uint8Array(32)) },
      signatureCost(identity),
    ],
  ])('counts signatures %s as what they cost', (_what, entry, cost) => {
    expect(cost).toBeGreaterThan(1);
    const dear = spender(MAX_SUBMITTED_OPERATIONS / cost, entry);
    const bounds = new VerificationBounds();
    const release = bounds.reserve([dear], 'a');
    expect(() => bounds.reserve([spender(1)], 'a')).toThrow(full);
    release();
    expect(() => bounds.reserve([dear, spender(1)], 'a')).toThrow(
      expect.objectContaining({ code: 'transaction_rejected' }),
    );
  });

  it.each([1, MAX_BLOCK_SIGNATURE_OPERATIONS / 10, MAX_BLOCK_SIGNATURE_OPERATIONS])(
    'has room for others when one sender takes all that it can get, in lists of %i operations',
    (size) => {
      const bounds = new VerificationBounds();
      const list = [spender(size)];
      const flood = (): void => {
        for (;;) bounds.reserve(list, 'flood');
      };
      expect(flood).toThrow(full);
      bounds.reserve([spender(MAX_SUBMITTED_OPERATIONS / 2)], 'honest');
      expect(flood).toThrow(full);
      bounds.reserve([spender(MAX_SUBMITTED_OPERATIONS / 4)], 'another');
    },
  );

  it('takes the dearest transaction that the rules allow, by itself: storage would take it too', () => {
    const bounds = new VerificationBounds();
    const r = { kind: 'signature', bytes: Uint8Array.of(...identity, ...new Uint8Array(32)) } as const;
    const dearest = spender(MAX_TX_SIGNATURE_OPERATIONS, r);
    expect(MAX_TX_SIGNATURE_OPERATIONS * signatureCost(identity)).toBeGreaterThan(MAX_SUBMITTED_OPERATIONS);
    bounds.reserve([dearest], 'a');
    // It counts as the most that there may be, and no more.
    expect(() => bounds.reserve([spender(1)], 'a')).toThrow(full);
    bounds.reserve([dearest], 'b');
    expect(() => new VerificationBounds().reserve([dearest, spender(1)], 'a')).toThrow(
      expect.objectContaining({ code: 'transaction_rejected', message: expect.stringContaining('in parts') }),
    );
  });

  it('names a list that is too much by itself, for trying again would not help', () => {
    const half = spender(MAX_SUBMITTED_OPERATIONS / 2);
    expect(() => new VerificationBounds().reserve([half, half, half], 'a')).toThrow(
      expect.objectContaining({ code: 'transaction_rejected', message: expect.stringContaining('in parts') }),
    );
  });
});

describe('a block', () => {
  it('takes the transactions whose signature operations fit together, and leaves the rest to the next', async () => {
    const perTransaction = 1_800;
    const count = MAX_BLOCK_SIGNATURE_OPERATIONS / perTransaction + 2;
    const payers = Array.from({ length: Math.ceil(count) }, (_, i): Account => account(`payer ${i}`));
    const blocks = { instant: false, blockInterval: 10_000, proofWindow: 0, minMiners: 1, partitionSize: 10 };
    const {
      mempool,
      bed,
      blocks: taken,
    } = await setUp({
      folder: await newFolder(),
      mempool: { rules: rulesFor(payers), blocks, pool: { maxTransactions: 100, maxBytes: 50_000_000 } },
    });
    await stored(mempool, 0);
    const branch = (seed: number): Script => [
      { kind: 'num', value: BigInt(seed) },
      { kind: 'num', value: 0n },
      op(OP.IF),
      ...Array.from({ length: perTransaction / 10 }, () => op(OP.CHECKSIG)),
      op(OP.ENDIF),
    ];
    const fundings: Transaction[] = [];
    const spends: Transaction[] = [];
    for (const [n, from] of payers.entries()) {
      const scripts = Array.from({ length: 10 }, (_, i) => branch(1 + n * 10 + i));
      const outputs = scripts.map((script) => txOut(tokenAsset(100_000n), p2shAddress(script)));
      const funding = payment({ from, inputs: [genesisOut(n)], outputs });
      fundings.push(funding);
      spends.push({
        inputs: scripts.map((script, i) => ({ previousOut: { tHash: transactionHash(funding), n: i }, script })),
        outputs: [pay(bob, 1_000_000n)],
        version: 6n,
        fees: [],
        druidInfo: null,
      });
    }
    const next = async (height: number): Promise<void> => {
      const done = stored(mempool, height);
      await bed.clock.advance(10_000);
      await done;
    };
    await mempool.submit(fundings);
    await next(1);
    for (const spend of spends) await mempool.submit([spend]);
    await next(2);
    await next(3);
    expect(taken[2]?.transactions).toHaveLength(11);
    expect(taken[3]?.transactions).toHaveLength(spends.length - 11);
  });
});
