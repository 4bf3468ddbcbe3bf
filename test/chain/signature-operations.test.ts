import { afterEach, describe, expect, it, vi } from 'vitest';
import { MAX_BLOCK_SIGNATURE_OPERATIONS, MAX_TX_SIGNATURE_OPERATIONS } from '../../src/chain/constants.js';
import { interpret } from '../../src/chain/script/interpreter.js';
import { OP, OPCODE_COUNT } from '../../src/chain/script/opcodes.js';
import { signablesFor } from '../../src/chain/signable.js';
import { scriptSignatureOperations, signatureBudgetFault } from '../../src/chain/signature-operations.js';
import type { Script, StackEntry, Transaction } from '../../src/chain/types.js';
import { fc, test } from '../support/property.js';
import { inputSignable } from '../vectors/reference-library.js';

const counted = vi.hoisted(() => ({ verifications: 0 }));
vi.mock('../../src/crypto/ed25519.js', async (original) => ({
  ...(await original<typeof import('../../src/crypto/ed25519.js')>()),
  verifySignature: (publicKey: Uint8Array, _message: string, signature: Uint8Array) => {
    counted.verifications++;
    return publicKey[0] === signature[0];
  },
}));
afterEach(() => {
  counted.verifications = 0;
});

const key = (first: number): StackEntry => ({ kind: 'pubkey', bytes: new Uint8Array(32).fill(first) });
/** One that verifies under `key(first)`. */
const signature = (first: number): StackEntry => ({ kind: 'signature', bytes: new Uint8Array(64).fill(first) });
const num = (value: number): StackEntry => ({ kind: 'num', value: BigInt(value) });
const op = (code: number): StackEntry => ({ kind: 'op', op: code });
const message: StackEntry = { kind: 'bytes', text: 'message' };

/** m of n in the dearest order: each signature verifies under the key that is tried last. */
function multiSignature(m: number, n: number): Script {
  const keys = Array.from({ length: n }, (_, i) => key(i + 1));
  const signatures = Array.from({ length: m }, (_, i) => signature(m - i));
  return [message, ...signatures, num(m), ...keys, num(n), op(OP.CHECKMULTISIG)];
}

function spend(script: Script, participants?: bigint): Transaction {
  const druidInfo =
    participants === undefined ? null : { druid: 'd', participants, expectations: [], genesisHash: null };
  return { inputs: [{ previousOut: null, script }], outputs: [], version: 6n, fees: [], druidInfo };
}

const entry = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(message, signature(1), key(2), key(1)) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 4 }).map(num) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: OPCODE_COUNT - 1 }).map(op) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      op(OP.CHECKSIG),
      op(OP.CHECKSIGVERIFY),
      op(OP.CHECKMULTISIG),
      op(OP.CHECKMULTISIGVERIFY),
      op(OP.DUP),
    ),
  },
);
const block = fc.oneof(
  fc.array(entry, { maxLength: 4 }),
  fc.tuple(fc.nat(4), fc.nat(4)).map(([m, n]) => multiSignature(m, n)),
  fc.constant<Script>([message, signature(1), key(1), op(OP.CHECKSIG)]),
);

describe('the signature operations of a script', () => {
  test.prop([fc.array(block, { maxLength: 8 })])('are never fewer than those that running it takes', (blocks) => {
    counted.verifications = 0;
    const script = blocks.flat();
    interpret(script);
    expect(scriptSignatureOperations(script)).toBeGreaterThanOrEqual(counted.verifications);
  });

  it.each([
    [1, 1, 1],
    [2, 3, 5],
    [20, 20, 210],
    [0, 3, 0],
  ])('of %i of %i keys are those of the dearest order, exactly', (m, n, operations) => {
    const script = multiSignature(m, n);
    interpret(script);
    expect(scriptSignatureOperations(script)).toBe(operations);
    expect(counted.verifications).toBe(operations);
  });

  it('are counted for the worst when the script does not fix the number of keys', () => {
    expect(scriptSignatureOperations([op(OP.CHECKMULTISIG)])).toBe(210);
    expect(scriptSignatureOperations([message, key(1), op(OP.DUP), num(2), op(OP.CHECKMULTISIG)])).toBe(3);
  });

  it('of five multi-signatures of 20 keys are the 1,050 that one script may have', () => {
    const script = Array.from({ length: 5 }, () => multiSignature(20, 20)).flat();
    expect(scriptSignatureOperations(script)).toBe(1_050);
  });
});

describe('the budget of a transaction', () => {
  const checks = (count: number): Script => Array.from({ length: count }, () => op(OP.CHECKSIG));

  it('is met by as many inputs as a transaction has room for', () => {
    expect(signatureBudgetFault(spend(checks(MAX_TX_SIGNATURE_OPERATIONS)))).toBeNull();
    expect(signatureBudgetFault(spend(checks(MAX_TX_SIGNATURE_OPERATIONS + 1)))).toMatchObject({
      code: 'transaction_rejected',
      message: expect.stringContaining('2001 signature operations; at most 2000'),
    });
  });

  it('leaves room for every member of a DRUID set in one block', () => {
    const share = MAX_BLOCK_SIGNATURE_OPERATIONS / 50;
    expect(signatureBudgetFault(spend(checks(share), 50n))).toBeNull();
    expect(signatureBudgetFault(spend(checks(share + 1), 50n))).not.toBeNull();
  });
});

describe('the signables of many inputs', () => {
  test.prop([fc.nat(60), fc.array(fc.tuple(fc.string(), fc.integer()), { maxLength: 4 })])(
    'are those that each input has alone, however many outputs there are',
    (count, outPoints) => {
      const outputs = Array.from({ length: count }, (_, i) => ({
        value: { kind: 'token' as const, amount: BigInt(i) },
        locktime: 0n,
        scriptPublicKey: 'é'.repeat(32),
      }));
      const signableOf = signablesFor(outputs);
      for (const [tHash, n] of outPoints) expect(signableOf({ tHash, n })).toBe(inputSignable(outputs, { tHash, n }));
    },
  );
});
