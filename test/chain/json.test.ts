import { describe, expect, it } from 'vitest';
import * as json from '../../src/chain/json.js';
import * as read from '../../src/chain/json-read.js';
import { parseExactJson, stringifyExact } from '../../src/lib/json.js';
import * as arb from '../support/arbitraries.js';
import { fc, test } from '../support/property.js';

describe('JSON gives every structure back (docs/chain.md#json)', () => {
  test.prop([arb.transaction])('transactions, and the view says the same as the text', (tx) => {
    const text = json.transactionJson(tx);
    expect(read.parseTransaction(parseExactJson(text))).toEqual(tx);
    expect(stringifyExact(json.transactionView(tx))).toBe(text);
  });

  test.prop([arb.header])('headers of all layouts', (header) => {
    const text = json.headerJson(header);
    expect(read.parseHeader(parseExactJson(text))).toEqual(header);
    expect(stringifyExact(json.headerView(header))).toBe(text);
    const prime = { ...header, difficulty: new Uint8Array(0), layout: 'prime' as const };
    const oldest = { ...prime, timestamp: 0n, layout: 'oldest' as const };
    for (const one of [prime, oldest]) expect(read.parseHeader(parseExactJson(json.headerJson(one)))).toEqual(one);
  });

  test.prop([arb.block])('blocks', (block) => {
    const text = json.blockJson(block);
    expect(read.parseBlock(parseExactJson(text))).toEqual(block);
    expect(stringifyExact(json.blockView(block))).toBe(text);
  });

  it('writes a u64 as bare digits (docs/chain.md#json)', () => {
    expect(json.assetJson({ kind: 'token', amount: 2n ** 64n - 1n })).toBe('{"Token":18446744073709551615}');
  });

  it('escapes exactly what serde_json escapes (docs/chain.md#json)', () => {
    const text = '"\\\b\f\n\r\t\u0000\u001f\u007f/\u2028é😀';
    const expected = '"\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001f\u007f/\u2028é😀"';
    expect(json.outPointJson({ tHash: text, n: -1 })).toBe(`{"t_hash":${expected},"n":-1}`);
  });
});

describe('reading JSON from outside', () => {
  it.each([1.5, -1, -0, 2 ** 53, '1', null, true, 2n ** 64n, -1n])(
    'refuses %s as an amount (docs/chain.md#json)',
    (amount) => {
      expect(() => read.parseAsset({ Token: amount })).toThrow(/^Token: must be an integer/);
    },
  );

  it('names the place of the fault', () => {
    const tx = {
      inputs: [],
      outputs: [{ value: { Token: 1 }, locktime: 0 }, { value: { Item: { amount: 'x' } } }],
      version: 6,
    };
    expect(() => read.parseTransaction({ ...tx, fees: [] })).toThrow(
      'outputs[1].value.Item.amount: must be an integer',
    );
  });

  it('takes absent and null fees and druid_info as none, as an optional member (docs/chain.md#json)', () => {
    const tx = { inputs: [], outputs: [], version: 6 };
    for (const one of [tx, { ...tx, fees: null, druid_info: null }])
      expect(read.parseTransaction(one)).toMatchObject({ fees: [], druidInfo: null });
  });

  it('refuses half of a surrogate pair (docs/chain.md#json)', () => {
    expect(() => read.parseOutPoint({ t_hash: '\ud800', n: 0 })).toThrow('t_hash: holds half of a surrogate pair');
  });

  it('ignores unknown members and takes absent options as null (decision H6)', () => {
    const output = { value: { Token: 1 }, locktime: 0, drs_block_hash: null };
    expect(read.parseTxOut(output)).toEqual({
      value: { kind: 'token', amount: 1n },
      locktime: 0n,
      scriptPublicKey: null,
    });
  });

  it('takes drs_tx_hash as genesis_hash (docs/clients.md#c11)', () => {
    expect(read.parseAsset({ Item: { amount: 1, drs_tx_hash: 'g1', metadata: null } })).toMatchObject({
      genesisHash: 'g1',
    });
  });

  test.prop([fc.anything()])('anything is a transaction or the typed error', (value) => {
    expect(() => read.parseTransaction(value)).toThrow(expect.objectContaining({ code: 'malformed_transaction' }));
  });
});
