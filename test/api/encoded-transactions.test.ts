/** `POST /v1/transactions` in the chain's own encoding: the same transactions, checks, bounds and errors as in JSON. */

import { describe, expect, it } from 'vitest';
import { needsPreflight } from '../../src/api/http/web-pages.js';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { encodeTransactions } from '../../src/chain/decode-in-pieces.js';
import type { Transaction } from '../../src/chain/types.js';
import { stringifyExact } from '../../src/lib/json.js';
import type { MempoolService } from '../../src/mempool/service.js';
import { LIMITS, openApp, send } from '../support/api/app.js';
import { fakeMempool } from '../support/api/fakes.js';
import { account, genesisOut, pay, payment } from '../support/mempool.js';

const BYTES = { 'content-type': 'application/octet-stream' };
const [alice, bob] = [account('alice'), account('bob')];
const paid = (n: number): Transaction =>
  payment({
    from: alice,
    inputs: [genesisOut(n)],
    outputs: [pay(bob, BigInt(n + 1)), pay(alice, 9_007_199_254_740_993n)],
  });

/** The answer, and the transactions that came to the mempool. */
async function post(payload: string | Buffer, headers: Record<string, string> = {}, url = '/v1/transactions') {
  const came: Transaction[] = [];
  const submit: MempoolService['submit'] = async (transactions) => {
    came.push(...transactions);
    return transactions.map((transaction, i) => ({ hash: `g${i}`, transaction }));
  };
  const app = await openApp('mempool', { modules: { mempool: { ...fakeMempool([]), submit } } });
  return { ...(await send(app, { method: 'POST', url, payload, headers })), came };
}

const BAD = 'malformed_transaction';
const textInput = (text: string) => ({ previousOut: genesisOut(0), script: [{ kind: 'bytes' as const, text }] });
const odd = (change: Partial<Transaction>) => Buffer.from(encodeTransactions([paid(1), { ...paid(0), ...change }]));

describe('transactions in the encoding of the chain', () => {
  it('come to the mempool as those in JSON do, with the same answer, few and many', async () => {
    for (const count of [1, LIMITS.batch]) {
      const transactions = Array.from({ length: count }, (_, n) => paid(n));
      const encoded = await post(Buffer.from(encodeTransactions(transactions)), BYTES);
      const json = await post(stringifyExact({ transactions: transactions.map(transactionToCreateJson) }));
      expect(encoded.status).toBe(201);
      expect(encoded.came).toEqual(transactions);
      expect(encoded.came).toEqual(json.came);
      expect(encoded.body).toEqual(json.body);
    }
  });

  it.each<[string, Buffer, string]>([
    ['nothing that can be read', Buffer.from('not a list of transactions'), 'malformed_transaction'],
    ['a count without its transactions', Buffer.alloc(8, 0xff), 'malformed_transaction'],
    ['a cut end', Buffer.from(encodeTransactions([paid(0)])).subarray(0, -1), 'malformed_transaction'],
    ['a byte too many', Buffer.concat([encodeTransactions([paid(0)]), Buffer.alloc(1)]), 'malformed_transaction'],
    ['an empty list', Buffer.from(encodeTransactions([])), 'invalid_request'],
    [
      'an input that spends nothing, of which items are made',
      odd({ inputs: [{ previousOut: null, script: [] }] }),
      BAD,
    ],
    [
      'a trade without a name',
      odd({ druidInfo: { druid: '', participants: 2n, expectations: [], genesisHash: null } }),
      BAD,
    ],
    ['a text in a script that is not hex', odd({ inputs: [textInput('not hex')] }), BAD],
    ['no body', Buffer.alloc(0), 'invalid_request'],
    [
      'more than a body may have',
      Buffer.from(encodeTransactions(Array.from({ length: LIMITS.batch + 1 }, (_, n) => paid(n)))),
      'invalid_request',
    ],
  ])('are refused as in JSON: %s', async (_, body, code) => {
    expect(await post(body, BYTES)).toMatchObject({ status: 400, body: { code }, came: [] });
  });

  it('come from a page of another origin after a preflight only, as JSON does', () => {
    expect(needsPreflight(BYTES)).toBe(true);
    expect(needsPreflight({ 'content-type': 'text/plain' })).toBe(false);
  });

  it('are refused where the operation takes JSON alone, and in a content encoding', async () => {
    const body = Buffer.from(encodeTransactions([paid(0)]));
    const elsewhere = await post(body, BYTES, '/v1/balances/query');
    expect(elsewhere).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } });
    const packed = await post(body, { ...BYTES, 'content-encoding': 'gzip' });
    expect(packed).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' }, came: [] });
  });
});
