/** What outputs hold, proven to whoever signs where the keys are: a node that lies about it gains nothing (docs/chain.md#signatures). */

import { describe, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { assemble, txOut } from '../../src/chain/builders.js';
import { transactionJson } from '../../src/chain/json.js';
import { parseExactJson } from '../../src/lib/json.js';
import {
  addressOf,
  buildPayment,
  keyPairOf,
  type ProvingClient,
  proveOutputs,
  type Transaction,
  transactionFault,
  transactionHash,
  type UnspentOutput,
} from '../../src/sdk/wallet.js';

const KEY = keyPairOf('11'.repeat(32));
const OWN = addressOf(KEY.publicKey);
const SHOP = addressOf(keyPairOf('22'.repeat(32)).publicKey);
const THIEF = addressOf(keyPairOf('33'.repeat(32)).publicKey);
const HELD = 1_000_000n;

/** What paid the own address. */
const maker = assemble({
  inputs: [{ previousOut: { tHash: `g${'0'.repeat(31)}`, n: 0 }, script: [] }],
  outputs: [txOut(tokenAsset(5n), SHOP), txOut(tokenAsset(HELD), OWN)],
});
const outPoint = { tHash: transactionHash(maker), n: 1 };
const said = (amount: bigint): UnspentOutput => ({ outPoint, address: OWN, value: tokenAsset(amount) });

/** A storage node that shows these transactions, whatever is asked. */
function storageWith(...transactions: readonly Transaction[]): ProvingClient & { readonly asked: string[][] } {
  const asked: string[][] = [];
  return {
    asked,
    async queryBlockchainEntries({ keys }) {
      asked.push([...keys]);
      return transactions.map((one) => ({ data: parseExactJson(transactionJson(one)) })) as never;
    },
  };
}

const codeOf = (proof: Promise<void>): Promise<unknown> =>
  proof.then(
    () => 'proven',
    ({ code }) => code,
  );

describe('an output of which a node says less than it holds', () => {
  it('would be lost: a fee that nobody signed takes the rest', () => {
    const { transaction, spent } = buildPayment({ unspent: [said(1_000n)], keys: [KEY], to: SHOP, amount: 900n });
    const stolen = { ...transaction, fees: [txOut(tokenAsset(HELD - 1_000n), THIEF)] };
    expect(transactionFault(stolen, [{ ...said(HELD), ...{ outPoint: spent[0]?.outPoint ?? outPoint } }])).toBeNull();
  });

  it('is found out by the transaction that made it, before anything is sent', async () => {
    const { spent } = buildPayment({ unspent: [said(1_000n)], keys: [KEY], to: SHOP, amount: 900n });
    await expect(proveOutputs(storageWith(maker), spent)).rejects.toMatchObject({
      code: 'malformed_transaction',
      message: expect.stringContaining(`it holds ${HELD} raw units, not 1000 raw units`),
    });
  });

  it('is not proven by a transaction that says the same and has another hash', async () => {
    const forged = { ...maker, outputs: [txOut(tokenAsset(5n), SHOP), txOut(tokenAsset(1_000n), OWN)] };
    expect(await codeOf(proveOutputs(storageWith(forged), [said(1_000n)], { waitMs: 0 }))).toBe('entry_not_found');
  });

  it('is not proven when the node keeps the transaction back, or answers anything else', async () => {
    const answers = [[{ data: { inputs: 'none' } }, { data: null }], [null, 7], null, {}, 'none'];
    const broken = answers.map((answer) => ({ queryBlockchainEntries: async () => answer as never }));
    for (const client of [storageWith(), ...broken]) {
      expect(await codeOf(proveOutputs(client, [said(1_000n)], { waitMs: 0 }))).toBe('entry_not_found');
    }
  });
});

it('a node that keeps everything back is not asked for all of it again and again', async () => {
  const client = storageWith();
  const outputs = Array.from({ length: 80 }, (_, i) => {
    return { ...said(HELD), outPoint: { tHash: `g${i.toString(16).padStart(31, '0')}`, n: 0 } };
  });
  expect(await codeOf(proveOutputs(client, outputs, { waitMs: 0 }))).toBe('entry_not_found');
  expect(client.asked).toHaveLength(1);
});

describe('an output of which the truth is said', () => {
  it('is proven by any storage node, each transaction once', async () => {
    const client = storageWith(maker);
    await proveOutputs(client, [said(HELD), said(HELD)]);
    expect(client.asked).toEqual([[outPoint.tHash]]);
  });

  it('is proven by an own transaction that no block has yet, without asking anybody', async () => {
    const client = storageWith();
    const { transaction, change } = buildPayment({ unspent: [said(HELD)], keys: [KEY], to: SHOP, amount: 1n });
    if (change === null) throw new Error('no change');
    await proveOutputs(client, [change], { known: [transaction] });
    expect(client.asked).toEqual([]);
  });

  it('of block 0 is proven by the genesis file, and by nothing else', async () => {
    const atGenesis: UnspentOutput = { outPoint: { tHash: '000001', n: 0 }, address: OWN, value: tokenAsset(7n) };
    const genesis = { mempool_seed_utxo: { '000001': [{ address: OWN, amount: 7n }] } };
    await proveOutputs(storageWith(), [atGenesis], { genesis });
    expect(await codeOf(proveOutputs(storageWith(), [atGenesis]))).toBe('entry_not_found');
    const less = { ...atGenesis, value: tokenAsset(6n) };
    expect(await codeOf(proveOutputs(storageWith(), [less], { genesis }))).toBe('malformed_transaction');
  });

  it('is refused when it belongs to somebody else, or the transaction has no such output', async () => {
    for (const wrong of [
      { ...said(HELD), address: SHOP },
      { ...said(HELD), outPoint: { ...outPoint, n: 2 } },
    ]) {
      expect(await codeOf(proveOutputs(storageWith(maker), [wrong]))).toBe('malformed_transaction');
    }
  });
});
