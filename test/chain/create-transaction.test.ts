import { describe, expect, it } from 'vitest';
import { addressOf } from '../../src/chain/address.js';
import { parseCreateTransaction, transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { pay2pkhScript } from '../../src/chain/script/builders.js';
import type { Transaction } from '../../src/chain/types.js';
import { parseExactJson, stringifyExact } from '../../src/lib/json.js';
import * as arb from '../support/arbitraries.js';
import { test } from '../support/property.js';

const SIGNATURE = 'ab'.repeat(64);
const PUBLIC_KEY = '5371832122a8e804fa3520ec6861c3fa554a7f6fb617e6f0768452090207e07c';
const PAY2PKH = { signable_data: 'cd'.repeat(32), signature: SIGNATURE, public_key: PUBLIC_KEY, address_version: null };
const BODY = {
  inputs: [{ previous_out: { t_hash: 'g1', n: 0 }, script_signature: { Pay2PkH: PAY2PKH } }],
  outputs: [{ value: { Token: 10 }, locktime: 0, script_public_key: 'aa' }],
  version: 2,
  druid_info: null,
};

function withScript(script: unknown) {
  return { ...BODY, inputs: [{ previous_out: { t_hash: 'g1', n: 0 }, script_signature: script }] };
}

function scriptOf(body: unknown) {
  return parseCreateTransaction(body).inputs[0]?.script;
}

describe('submitted transactions (docs/clients.md#submitted-transactions)', () => {
  it('makes the pay-to-public-key-hash script of Pay2PkH', () => {
    const [signature, key] = [SIGNATURE, PUBLIC_KEY].map((hex) => new Uint8Array(Buffer.from(hex, 'hex')));
    expect(signature && key && pay2pkhScript(PAY2PKH.signable_data, signature, key)).toEqual(scriptOf(BODY));
  });

  it('takes absent and null fees and druid_info as none (docs/clients.md#c20)', () => {
    const { druid_info: _, ...without } = BODY;
    for (const body of [without, { ...BODY, fees: null }]) {
      expect(parseCreateTransaction(body)).toMatchObject({ fees: [], druidInfo: null });
    }
  });

  it.each([
    [undefined, null],
    [null, null],
    ['null', null],
    ['', null],
    [1, null],
    ['1', null],
    [0, 0],
    ['0', 0],
    [99_999, 99_999],
    ['99999', 99_999],
  ])('takes address_version %j as %j (docs/clients.md#c12)', (value, version) => {
    const script = scriptOf(withScript({ Pay2PkH: { ...PAY2PKH, address_version: value } }));
    expect(script?.[5]).toEqual({ kind: 'bytes', text: addressOf(Buffer.from(PUBLIC_KEY, 'hex'), version as null) });
  });

  it('takes signable_data null as the empty text', () => {
    expect(scriptOf(withScript({ Pay2PkH: { ...PAY2PKH, signable_data: null } }))?.[0]).toEqual({
      kind: 'bytes',
      text: '',
    });
  });

  it('takes keys and signatures of a stack as hex and as bytes (docs/clients.md#submitted-transactions)', () => {
    const asHex = [{ Bytes: 'abcd' }, { Signature: SIGNATURE }, { PubKey: PUBLIC_KEY }, { Num: 5 }, { Op: 'OP_DUP' }];
    const asBytes = [
      { Bytes: [0xab, 0xcd] },
      { Signature: [...Buffer.from(SIGNATURE, 'hex')] },
      { PubKey: [...Buffer.from(PUBLIC_KEY, 'hex')] },
      { Num: 5n },
      { Op: 'OP_DUP' },
    ];
    expect(scriptOf(withScript({ stack: asBytes }))).toEqual(scriptOf(withScript({ stack: asHex })));
  });

  it('takes expectations as a list and as one object (docs/clients.md#c13)', () => {
    const expectation = { from: 'a', to: 'b', asset: { Token: 5 } };
    const info = (expectations: unknown) => ({ ...BODY, druid_info: { druid: 'D', participants: 2, expectations } });
    const expected = parseCreateTransaction(info([expectation])).druidInfo;
    expect(expected?.expectations).toHaveLength(1);
    expect(parseCreateTransaction(info(expectation)).druidInfo).toEqual(expected);
  });

  it.each([
    {},
    { druid: null },
    { druid: '', participants: 0, expectations: [] },
    { druid: '', participants: 0, expectations: { from: '', to: '', asset: {} }, genesis_hash: null },
    { participants: 0, expectations: [{ from: '', to: '', asset: { Token: 0 } }] },
  ])('takes druid_info %j, which is entirely empty, as none (docs/clients.md#c13)', (info) => {
    expect(parseCreateTransaction({ ...BODY, druid_info: info }).druidInfo).toBeNull();
  });

  it.each([undefined, null, ''])('refuses a trade whose druid is %j: it would be paid at once', (druid) => {
    const expectation = { from: 'a', to: 'b', asset: { Token: 5 } };
    for (const set of [{ participants: 2 }, { expectations: [expectation] }, { expectations: expectation }]) {
      const info = { druid, participants: 0, expectations: [], ...set };
      expect(() => parseCreateTransaction({ ...BODY, druid_info: info }, 'transactions[0]')).toThrow(
        expect.objectContaining({
          code: 'malformed_transaction',
          message: expect.stringContaining('transactions[0].druid_info.druid: must'),
        }),
      );
    }
  });

  it.each([5, 'D', [], [1]])('refuses druid_info %j, which is no object', (info) => {
    expect(() => parseCreateTransaction({ ...BODY, druid_info: info })).toThrow(
      expect.objectContaining({ code: 'malformed_transaction' }),
    );
  });

  it('takes items called __proto__ and constructor as data', () => {
    for (const name of ['__proto__', 'constructor']) {
      const outputs = [{ value: { Item: { amount: 1, genesis_hash: name, metadata: name } }, locktime: 0 }];
      const [output] = parseCreateTransaction({ ...BODY, outputs }).outputs;
      expect(output?.value).toEqual({ kind: 'item', amount: 1n, genesisHash: name, metadata: name });
    }
  });

  it.each([
    [
      { ...BODY, inputs: [{ previous_out: null, script_signature: { Pay2PkH: PAY2PKH } }] },
      'inputs[0].previous_out: Invalid previous_out',
    ],
    [
      { ...BODY, inputs: [{ previous_out: { t_hash: 'g', n: 0 } }] },
      'inputs[0].script_signature: Invalid script_signature',
    ],
    [
      withScript({ Pay2PkH: { ...PAY2PKH, signature: 'zz' } }),
      'inputs[0].script_signature.Pay2PkH.signature: Invalid signature',
    ],
    [
      withScript({ Pay2PkH: { ...PAY2PKH, public_key: 'ab' } }),
      'inputs[0].script_signature.Pay2PkH.public_key: Invalid public_key',
    ],
    [
      withScript({ Pay2PkH: { ...PAY2PKH, address_version: 'one' } }),
      'inputs[0].script_signature.Pay2PkH.address_version',
    ],
    [withScript({ stack: [{ Bytes: 'not hex' }] }), 'inputs[0].script_signature.stack[0].Bytes'],
    [withScript({ stack: [{ Op: 'OP_NONE' }] }), 'inputs[0].script_signature.stack[0].Op'],
    [{ ...BODY, version: undefined }, 'version: must be an integer'],
    [{ ...BODY, version: '2' }, 'version: must be an integer'],
    [{ ...BODY, outputs: {} }, 'outputs: must be an array'],
    [{ ...BODY, outputs: [{ value: { Token: 1.5 }, locktime: 0 }] }, 'outputs[0].value.Token: must be an integer'],
    [null, 'must be an object'],
  ])('refuses a malformed body and names the place (case %#)', (body, message) => {
    expect(() => parseCreateTransaction(body, 'transactions[0]')).toThrow(
      expect.objectContaining({
        code: 'malformed_transaction',
        message: expect.stringContaining(`transactions[0]${message.startsWith('must') ? ': ' : '.'}${message}`),
      }),
    );
  });
});

describe('transactions given back (decision V17)', () => {
  it('gives Pay2PkH, fees null and druid_info null', () => {
    const view = transactionToCreateJson(parseCreateTransaction(BODY));
    expect(JSON.parse(stringifyExact(view))).toEqual({ ...BODY, fees: null });
  });

  it('keeps a script whose address is not that of its key', () => {
    const tx = parseCreateTransaction(BODY);
    const script = (tx.inputs[0]?.script ?? []).map((entry, i) =>
      i === 5 ? { kind: 'bytes' as const, text: 'ab' } : entry,
    );
    const changed: Transaction = { ...tx, inputs: [{ previousOut: { tHash: 'g1', n: 0 }, script }] };
    const body = parseExactJson(stringifyExact(transactionToCreateJson(changed)));
    expect(parseCreateTransaction(body)).toEqual(changed);
  });

  test.prop([arb.transaction])('every transaction that can be submitted comes back the same', (tx) => {
    const submittable: Transaction = {
      ...tx,
      inputs: tx.inputs.map(({ previousOut, script }) => ({
        previousOut: previousOut ?? { tHash: '', n: 0 },
        script: script.map((entry) =>
          entry.kind === 'bytes' ? { ...entry, text: Buffer.from(entry.text).toString('hex') } : entry,
        ),
      })),
      druidInfo: tx.druidInfo === null || tx.druidInfo.druid === '' ? null : tx.druidInfo,
    };
    const body = parseExactJson(stringifyExact(transactionToCreateJson(submittable)));
    expect(parseCreateTransaction(body)).toEqual(submittable);
  });
});
