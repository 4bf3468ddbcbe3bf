import { describe, expect, it } from 'vitest';
import * as builders from '../../src/chain/script/builders.js';
import { executeOp, interpret, OPERATIONS } from '../../src/chain/script/interpreter.js';
import { Machine } from '../../src/chain/script/machine.js';
import { OPCODES, opcodeIndex } from '../../src/chain/script/opcodes.js';
import type { Script, StackEntry } from '../../src/chain/types.js';
import { keyPairFromSeed, sign } from '../../src/crypto/ed25519.js';
import * as arb from '../support/arbitraries.js';
import { test } from '../support/property.js';
import { memberMultisigScript, multisigValidationScript } from '../vectors/reference-library.js';

/** `OP_ADD`, numbers, and texts in quotes. */
function script(source: string): Script {
  return source
    .split(' ')
    .filter(Boolean)
    .map((word): StackEntry => {
      if (word.startsWith('OP_')) return { kind: 'op', op: opcodeIndex(word) ?? -1 };
      return /^\d+$/.test(word) ? { kind: 'num', value: BigInt(word) } : { kind: 'bytes', text: word.slice(1, -1) };
    });
}

const key = keyPairFromSeed(new Uint8Array(32).fill(3));
const keys = [1, 2, 3].map((byte) => keyPairFromSeed(new Uint8Array(32).fill(byte)));

describe('scripts (docs/chain.md#script-machine)', () => {
  test.prop([arb.script])('any script has a verdict', (value) => {
    expect(typeof interpret(value)).toBe('boolean');
  });

  it.each([
    ['', true],
    ['0', false],
    ['1', true],
    ["''", true],
    ['1 OP_IF', false],
    ['0 OP_IF OP_BURN OP_ENDIF', true],
    ['0 OP_IF OP_ELSE 0 OP_ENDIF', false],
    ['0 OP_IF 1 OP_IF OP_BURN OP_ELSE OP_BURN OP_ENDIF OP_ENDIF', true],
    ['OP_ELSE', false],
    ["'a' OP_IF OP_ENDIF", false],
    ['1 1 OP_ADD 2 OP_NUMEQUAL', true],
    ["'a' 'b' OP_CAT 'ab' OP_EQUAL", true],
    ['18446744073709551615 OP_1ADD', false],
    ['1 4294967296 OP_LSHIFT 1 OP_NUMEQUAL', true],
    ['1 64 OP_LSHIFT', false],
    ['3 63 OP_LSHIFT 9223372036854775808 OP_NUMEQUAL', true],
    ['1 OP_NOP10 OP_CREATE', true],
  ])('%j is %s', (source, verdict) => {
    expect(interpret(script(source))).toBe(verdict);
  });
});

describe('texts are cut at bytes, never inside a character (decision B8)', () => {
  it.each([
    ["'é' 1 OP_LEFT", false],
    ["'é' 1 OP_RIGHT", false],
    ["'é' 1 0 OP_SUBSTR", false],
    ["'é' 0 1 OP_SUBSTR", false],
    ["'é' 0 2 OP_SUBSTR 'é' OP_EQUAL", true],
    ["'aé' 1 OP_RIGHT 'é' OP_EQUAL", true],
    ["'é' 2 OP_RIGHT '' OP_EQUAL", true],
    ["'é' OP_SIZE 2 OP_NUMEQUAL", true],
    ["'ab' 2 0 OP_SUBSTR", false],
    ["'ab' 1 18446744073709551615 OP_SUBSTR", false],
    ["'ab' 18446744073709551615 OP_LEFT 'ab' OP_EQUAL", true],
  ])('%j is %s', (source, verdict) => {
    expect(interpret(script(source))).toBe(verdict);
  });
});

describe('limits (docs/chain.md#script-machine)', () => {
  const repeat = (entry: StackEntry, times: number): Script => new Array<StackEntry>(times).fill(entry);
  const letters = (length: number): StackEntry => ({ kind: 'bytes', text: 'a'.repeat(length) });

  it('520 bytes of text on the stack', () => {
    expect(interpret([letters(520)])).toBe(true);
    expect(interpret([letters(521)])).toBe(false);
    expect(interpret([{ kind: 'bytes', text: 'é'.repeat(261) }])).toBe(false);
    expect(interpret([letters(260), letters(260), ...script('OP_CAT')])).toBe(true);
    expect(interpret([letters(260), letters(261), ...script('OP_CAT')])).toBe(false);
  });

  it('201 opcodes, those in branches not taken included', () => {
    const skipped = (ops: number) => [
      ...script('1 0 OP_IF'),
      ...repeat({ kind: 'op', op: 17 }, ops),
      ...script('OP_ENDIF'),
    ];
    expect(interpret(skipped(199))).toBe(true);
    expect(interpret(skipped(200))).toBe(false);
  });

  it('10,000 bytes', () => {
    expect(interpret([...repeat(letters(500), 19), letters(499), { kind: 'op', op: 1 }])).toBe(true);
    expect(interpret([...repeat(letters(500), 20), { kind: 'op', op: 1 }])).toBe(false);
  });

  it('1,000 entries on both stacks', () => {
    const ones = repeat({ kind: 'num', value: 1n }, 999);
    expect(interpret([...ones, ...script('OP_TOALTSTACK OP_DUP OP_DROP')])).toBe(true);
    expect(interpret([...ones, ...script('OP_TOALTSTACK OP_DUP OP_DUP')])).toBe(false);
  });
});

describe('opcodes (docs/chain.md#opcodes)', () => {
  it('are 98, each with an operation of its own or none by intention', () => {
    expect(OPCODES).toHaveLength(98);
    const idle = OPCODES.filter(({ index }) => OPERATIONS[index] === OPERATIONS[17]).map(({ name }) => name);
    const spare = Array.from({ length: 10 }, (_, i) => `OP_NOP${i + 1}`);
    expect(idle).toEqual(['OP_NOP', 'OP_CREATE', ...spare]);
  });

  it('fail on an empty stack unless they need nothing', () => {
    const succeed = OPCODES.filter(({ index }) => executeOp(new Machine(), index)).map(({ name }) => name);
    const numbers = Array.from({ length: 17 }, (_, i) => `OP_${i}`);
    const spare = Array.from({ length: 10 }, (_, i) => `OP_NOP${i + 1}`);
    expect(succeed).toEqual([...numbers, 'OP_NOP', 'OP_DEPTH', 'OP_CREATE', ...spare]);
  });

  it('take each signature and key once', () => {
    const message = 'message';
    const signatures = keys.map(({ seed }) => sign(seed, message));
    const publicKeys = keys.map(({ publicKey }) => publicKey);
    const verdict = (chosen: readonly Uint8Array[], m = 2n) =>
      interpret(multisigValidationScript(m, 3n, message, chosen, publicKeys));
    const [a, b, c] = signatures as [Uint8Array, Uint8Array, Uint8Array];
    expect([verdict([a, b]), verdict([c, a]), verdict([a, a]), verdict([a], 1n), verdict([], 0n)]).toEqual([
      true,
      true,
      false,
      true,
      true,
    ]);
    expect(verdict([a, b, c])).toBe(false);
    expect(interpret(multisigValidationScript(2n, 21n, message, [a, b], publicKeys))).toBe(false);
  });
});

describe('named scripts (docs/chain.md#known-scripts)', () => {
  const signature = sign(key.seed, 'x');

  it.each([null, 0, 99_999] as const)('pay-to-public-key-hash of version %s is recognised', (version) => {
    const parts = builders.pay2pkhParts(builders.pay2pkhScript('x', signature, key.publicKey, version));
    expect(parts).toMatchObject({ data: 'x', version });
    expect(interpret(builders.pay2pkhScript('x', signature, key.publicKey, version))).toBe(true);
  });

  it('nothing else is', () => {
    const valid = builders.pay2pkhScript('x', signature, key.publicKey);
    for (let i = 0; i < valid.length; i++) {
      expect(builders.pay2pkhParts(valid.with(i, { kind: 'num', value: 1n }))).toBeUndefined();
      expect(builders.pay2pkhParts(valid.toSpliced(i, 1))).toBeUndefined();
    }
    const create = builders.createAssetScript(1n, 'x', signature, key.publicKey);
    expect(builders.createParts(create)).toMatchObject({ bNum: 1n, assetHash: 'x' });
    for (let i = 0; i < create.length; i++)
      expect(builders.createParts(create.with(i, { kind: 'op', op: 0 }))).toBeUndefined();
    expect(builders.createParts(valid)).toBeUndefined();
  });

  it('member multisig runs', () => {
    expect(interpret(memberMultisigScript('x', key.publicKey, signature))).toBe(true);
  });
});
