import { describe, expect, it } from 'vitest';
import { addressOf, p2shAddress } from '../../src/chain/address.js';
import { itemAsset, tokenAsset } from '../../src/chain/assets.js';
import {
  assemble,
  createItemTransaction,
  type SigningKey,
  signInputs,
  txOut,
  unsignedInput,
} from '../../src/chain/builders.js';
import { DEFAULT_GENESIS_HASH, U64_MAX } from '../../src/chain/constants.js';
import { OP } from '../../src/chain/script/opcodes.js';
import { createdOutPoints, hasDuplicateInputs, outPointKey } from '../../src/chain/transaction.js';
import type { AddressVersion, Asset, Script, Transaction, TxOut } from '../../src/chain/types.js';
import * as validation from '../../src/chain/validation.js';
import { keyPairFromSeed, sign } from '../../src/crypto/ed25519.js';
import { sha3Bytes } from '../../src/crypto/sha3.js';
import { utf8 } from '../../src/lib/bytes.js';
import { fc, test } from '../support/property.js';
import { createFault, transactionFault } from '../support/validate.js';

const KEY: SigningKey = keyPairFromSeed(new Uint8Array(32).fill(7));
const OTHER: SigningKey = keyPairFromSeed(new Uint8Array(32).fill(8));
const ADDRESS = addressOf(KEY.publicKey);
const NOW = 100n;
const ANYONE: Script = [];

interface Case {
  spent?: readonly TxOut[];
  outputs?: readonly TxOut[];
  fees?: readonly TxOut[];
  key?: SigningKey;
  change?: (tx: Transaction) => Transaction;
}

const one = tokenAsset(1n);

/** Spends `spent` with a signature over `outputs`; `change` is applied after signing. */
function check({ spent = [txOut(one, ADDRESS)], outputs = [txOut(one, ADDRESS)], fees = [], key = KEY, change }: Case) {
  const utxo = new Map(spent.map((output, n) => [outPointKey({ tHash: 'g', n }), output]));
  const inputs = spent.map((_, n) => unsignedInput({ tHash: 'g', n }));
  const keys = new Map([...utxo.keys()].map((name) => [name, key]));
  const tx: Transaction = { ...assemble({ inputs: signInputs(inputs, outputs, keys), outputs }), fees };
  return transactionFault(change === undefined ? tx : change(tx), NOW, (point) => utxo.get(outPointKey(point)));
}

function withScript(tx: Transaction, script: Script): Transaction {
  return { ...tx, inputs: tx.inputs.map(({ previousOut }) => ({ previousOut, script })) };
}

describe('ordinary transactions (docs/chain.md#validation)', () => {
  it('accepts a payment of one own output', () => {
    expect(check({})).toBeNull();
  });

  it.each([0, 99_999] as const)(
    'accepts an output paid to an address of version %s',
    (addressVersion: AddressVersion) => {
      const spent = [txOut(one, addressOf(KEY.publicKey, addressVersion))];
      expect(check({ spent, key: { ...KEY, addressVersion } })).toBeNull();
      expect(check({ spent })).toBe(validation.INVALID_SCRIPT);
    },
  );

  it.each([itemAsset(1n, null), itemAsset(1n, 'h', 'metadata')])(
    '1: refuses an item output without genesis hash or with metadata',
    (item) => {
      expect(check({ outputs: [txOut(item, ADDRESS)] })).toBe(validation.INVALID_ITEM_OUTPUT);
    },
  );

  it('1 comes before 2 (docs/chain.md#validation)', () => {
    const tx = assemble({ inputs: [], outputs: [txOut(itemAsset(1n, null), ADDRESS)] });
    expect(transactionFault(tx, NOW, () => undefined)).toBe(validation.INVALID_ITEM_OUTPUT);
  });

  it('2: refuses no inputs, and no outputs', () => {
    expect(check({ spent: [] })).toBe(validation.NO_INPUTS_OR_OUTPUTS);
    expect(check({ outputs: [] })).toBe(validation.NO_INPUTS_OR_OUTPUTS);
  });

  it('3a: refuses an input without outpoint', () => {
    const change = (tx: Transaction) => ({
      ...tx,
      inputs: tx.inputs.map(({ script }) => ({ previousOut: null, script })),
    });
    expect(check({ change })).toBe(validation.NO_PREVIOUS_OUT);
  });

  it('3b: refuses an unknown outpoint', () => {
    const change = (tx: Transaction) => ({ ...tx, inputs: [unsignedInput({ tHash: 'other', n: 0 })] });
    expect(check({ change })).toBe(validation.UNKNOWN_UTXO);
  });

  it('3c: refuses a locked output, and takes one whose locktime is the current block', () => {
    expect(check({ spent: [txOut(one, ADDRESS, NOW + 1n)] })).toBe(validation.LOCKTIME_NOT_EXPIRED);
    expect(check({ spent: [txOut(one, ADDRESS, NOW)] })).toBeNull();
  });

  it('3d: refuses an output without address', () => {
    expect(check({ spent: [txOut(one, null)] })).toBe(validation.NO_PUBLIC_KEY);
  });

  it('3e: refuses the signature of another key, and one over other outputs', () => {
    expect(check({ key: OTHER })).toBe(validation.INVALID_SCRIPT);
    const change = (tx: Transaction) => ({ ...tx, outputs: [txOut(one, addressOf(OTHER.publicKey))] });
    expect(check({ change })).toBe(validation.INVALID_SCRIPT);
  });

  it('3e: refuses another key that states the address of the output', () => {
    const change = (tx: Transaction) =>
      withScript(
        tx,
        (tx.inputs[0]?.script ?? []).map((entry, i) => (i === 5 ? { kind: 'bytes', text: ADDRESS } : entry)),
      );
    expect(check({ key: OTHER, change })).toBe(validation.INVALID_SCRIPT);
    expect(check({ change })).toBeNull();
  });

  it('takes the signature of another key with the same address of version 99999, as the network does (docs/chain.md#addresses)', () => {
    const [key, other] = ['key 1548', 'key 8920'].map((text) => keyPairFromSeed(sha3Bytes(text)));
    if (key === undefined || other === undefined) throw new Error('no keys');
    const spent = [txOut(one, addressOf(key.publicKey, 99_999))];
    expect(check({ spent, key: { ...key, addressVersion: 99_999 } })).toBeNull();
    expect(check({ spent, key: { ...other, addressVersion: 99_999 } })).toBeNull();
    expect(check({ spent, key: { ...OTHER, addressVersion: 99_999 } })).toBe(validation.INVALID_SCRIPT);
  });

  it('3e: refuses a script with another text than the signable, even if the signature is right', () => {
    const change = (tx: Transaction) =>
      withScript(
        tx,
        (tx.inputs[0]?.script ?? []).map((entry, i) => (i === 0 ? { kind: 'bytes', text: '' } : entry)),
      );
    expect(check({ change })).toBe(validation.INVALID_SCRIPT);
  });

  it('3e: refuses a changed signature', () => {
    const flip = (bytes: Uint8Array) => bytes.map((byte, i) => (i === 5 ? byte ^ 1 : byte));
    const change = (tx: Transaction) =>
      withScript(
        tx,
        (tx.inputs[0]?.script ?? []).map((entry) =>
          entry.kind === 'signature' ? { ...entry, bytes: flip(entry.bytes) } : entry,
        ),
      );
    expect(check({ change })).toBe(validation.INVALID_SCRIPT);
  });

  it('3e: the first failure wins: a bad signature of the first input before an unknown second', () => {
    const change = (tx: Transaction) => ({ ...tx, inputs: [...tx.inputs, unsignedInput({ tHash: 'unknown', n: 0 })] });
    expect(check({ key: OTHER, change })).toBe(validation.INVALID_SCRIPT);
    expect(check({ change })).toBe(validation.UNKNOWN_UTXO);
  });

  it('3f: an item without genesis hash is known by the hash of its transaction (docs/chain.md#assets)', () => {
    const spent = [txOut(itemAsset(5n, null, 'made with love'), ADDRESS)];
    expect(check({ spent, outputs: [txOut(itemAsset(5n, 'g'), ADDRESS)] })).toBeNull();
  });

  it('runs a script whose address was paid (docs/chain.md#spending)', () => {
    const spend = (script: Script) =>
      check({ spent: [txOut(one, p2shAddress(script))], change: (tx) => withScript(tx, script) });
    expect(spend(ANYONE)).toBeNull();
    expect(spend([{ kind: 'op', op: OP.BURN }])).toBe(validation.INVALID_SCRIPT);
    expect(check({ change: (tx) => withScript(tx, ANYONE) })).toBe(validation.INVALID_SCRIPT);
  });
});

describe('amounts and addresses (docs/chain.md#conservation)', () => {
  it.each([31, 33, 48, 63, 65])('refuses an address of %s bytes', (length) => {
    const address = 'a'.repeat(length);
    expect(check({ outputs: [txOut(one, address)] })).toBe(validation.INVALID_OUTPUT_ADDRESS);
    expect(check({ fees: [txOut(one, address)] })).toBe(validation.INVALID_FEE_ADDRESS);
  });

  it('counts the bytes of an address, not its characters', () => {
    expect(check({ outputs: [txOut(one, 'é'.repeat(16))] })).toBeNull();
    expect(check({ outputs: [txOut(one, 'é'.repeat(32))] })).toBeNull();
    expect(check({ outputs: [txOut(one, `é${'a'.repeat(31)}`)] })).toBe(validation.INVALID_OUTPUT_ADDRESS);
  });

  it('counts fees with the outputs', () => {
    const spent = [txOut(tokenAsset(3n), ADDRESS)];
    expect(check({ spent, fees: [txOut(tokenAsset(2n), ADDRESS)] })).toBeNull();
    expect(check({ spent })).toBe(validation.AMOUNTS_DIFFER);
  });

  it('refuses to leave items of the inputs behind, zero of them too', () => {
    for (const amount of [0n, 1n]) {
      const spent = [txOut(one, ADDRESS), txOut(itemAsset(amount, 'h'), ADDRESS)];
      expect(check({ spent })).toBe(validation.AMOUNTS_DIFFER);
    }
  });

  it('refuses a fee in items that are nobody’s (docs/chain.md#conservation)', () => {
    expect(check({ fees: [txOut(itemAsset(5n, null), ADDRESS)] })).toBe(validation.AMOUNTS_DIFFER);
  });

  it('refuses zero of an item that the inputs do not hold (docs/chain.md#conservation)', () => {
    expect(check({ outputs: [txOut(one, ADDRESS), txOut(itemAsset(0n, 'h'), ADDRESS)] })).toBe(
      validation.AMOUNTS_DIFFER,
    );
  });

  it.each([tokenAsset(U64_MAX), itemAsset(U64_MAX, 'h')])(
    'refuses sums beyond 2^64-1, equal ones too (decision B4)',
    (asset) => {
      const twice = [txOut(asset, ADDRESS), txOut(asset, ADDRESS)];
      expect(check({ spent: twice, outputs: twice })).toBe(validation.AMOUNTS_DIFFER);
      expect(check({ spent: twice.slice(1), outputs: twice })).toBe(validation.AMOUNTS_DIFFER);
      expect(check({ spent: twice.slice(1), outputs: twice.slice(1) })).toBeNull();
    },
  );

  const amounts = fc.array(
    fc.record({
      kind: fc.constantFrom('token', 'h1', 'h2'),
      amount: fc.oneof(fc.bigInt({ min: 0n, max: 5n }), fc.constantFrom(U64_MAX, 2n ** 63n)),
    }),
    { minLength: 1, maxLength: 4 },
  );
  const totals = (list: readonly { kind: string; amount: bigint }[]) => {
    const sums = new Map<string, bigint>();
    for (const { kind, amount } of list) sums.set(kind, (sums.get(kind) ?? 0n) + amount);
    return new Map([...sums].filter(([, sum]) => sum > 0n));
  };
  const output = ({ kind, amount }: { kind: string; amount: bigint }): TxOut =>
    txOut((kind === 'token' ? tokenAsset(amount) : itemAsset(amount, kind)) as Asset, ADDRESS);

  test.prop([amounts, amounts, fc.boolean()])(
    'no accepted transaction changes a total (rule P4)',
    (spent, paid, same) => {
      const outputs = same ? [...spent].reverse() : paid;
      const verdict = check({ spent: spent.map(output), outputs: outputs.map(output) });
      if (verdict === null) {
        expect(totals(outputs)).toEqual(totals(spent));
        for (const sum of totals(spent).values()) expect(sum <= U64_MAX).toBe(true);
      }
    },
  );
});

describe('item creations (docs/chain.md#creations, decision B6)', () => {
  const item = { bNum: 3n, amount: 10n, spec: 'Create' as const, metadata: 'm' };

  it.each(['Create', 'Default'] as const)('accepts a creation with the specification %s', (spec) => {
    const tx = createItemTransaction({ ...item, spec }, KEY);
    expect(tx.outputs[0]?.value).toMatchObject({ genesisHash: spec === 'Create' ? null : DEFAULT_GENESIS_HASH });
    expect(createFault(tx)).toBeNull();
  });

  it('takes 800 bytes of metadata and refuses 801', () => {
    const withBytes = (length: number) =>
      createItemTransaction(
        { ...item, metadata: 'é'.repeat(length / 2).padEnd(length - Math.floor(length / 2), 'a') },
        KEY,
      );
    expect(createFault(withBytes(800))).toBeNull();
    expect(createFault(withBytes(801))).toBe(validation.METADATA_TOO_LONG);
  });

  it('refuses another amount than the signed one', () => {
    const tx = createItemTransaction(item, KEY);
    const changed = { ...tx, outputs: [txOut(itemAsset(11n, null), ADDRESS)] };
    expect(createFault(changed)).toBe(validation.INVALID_CREATE);
  });

  it('refuses fees, DRUID info and addresses that the reference lets pass', () => {
    const tx = createItemTransaction(item, KEY);
    const druidInfo = { druid: 'd', participants: 1n, expectations: [], genesisHash: null };
    expect(createFault({ ...tx, fees: [txOut(one, ADDRESS)] })).toBe(validation.CREATE_WITH_EXTRAS);
    expect(createFault({ ...tx, druidInfo })).toBe(validation.CREATE_WITH_EXTRAS);
    for (const address of [null, 'short']) {
      const changed = { ...tx, outputs: [txOut(itemAsset(10n, null, 'm'), address)] };
      expect(createFault(changed)).toBe(validation.INVALID_OUTPUT_ADDRESS);
    }
  });

  it('refuses a signature that is not over the item', () => {
    const tx = createItemTransaction(item, KEY);
    const script = tx.inputs[0]?.script.map((entry) =>
      entry.kind === 'signature' ? { ...entry, bytes: sign(KEY.seed, utf8('x')) } : entry,
    );
    expect(createFault(withScript(tx, script ?? []))).toBe(validation.INVALID_SCRIPT);
  });
});

describe('what a transaction touches', () => {
  const outputs = [txOut(one, ADDRESS), txOut(tokenAsset(2n), ADDRESS)];
  const tx = { ...assemble({ inputs: [], outputs }), fees: [txOut(tokenAsset(3n), ADDRESS)] };

  it('numbers fees after the outputs (decision B5)', () => {
    expect(createdOutPoints(tx, 'h').map(({ outPoint, txOut: { value } }) => [outPoint.n, value.amount])).toEqual([
      [0, 1n],
      [1, 2n],
      [2, 3n],
    ]);
  });

  it('finds an input that is there twice (decision B7)', () => {
    const inputs = [0, 1].map((n) => unsignedInput({ tHash: 'g', n }));
    expect(hasDuplicateInputs({ ...tx, inputs })).toBe(false);
    expect(hasDuplicateInputs({ ...tx, inputs: [...inputs, ...inputs.slice(1)] })).toBe(true);
  });
});
