/** What leaves and enters the wallet page as text: requests for payments, and the history as a file. */

import { describe, expect, it } from 'vitest';
import { paymentUri, readPaymentUri } from '../../src/client/payment-uri.js';
import { historyCsv } from '../../web/wallet/history-csv.js';
import type { Movement } from '../../web/wallet/movement-log.js';
import { PAYEE } from '../support/wallet-page.js';

describe('a request for a payment', () => {
  it('is read as it was written', () => {
    for (const request of [
      { address: PAYEE, amount: undefined, label: '' },
      { address: PAYEE, amount: 2n ** 63n - 1n, label: 'Rent & water? 100 % = "x" →' },
    ]) {
      expect(readPaymentUri(` ${paymentUri(request)} `)).toEqual(request);
    }
  });

  it.each([
    PAYEE,
    `tessera:${PAYEE.slice(1)}`,
    'tessera:127.0.0.1:12360?amount=5',
    `tessera:${PAYEE}?amount=1.5`,
    `tessera:${PAYEE}?amount=-1`,
    `tessera:${PAYEE}?amount=0`,
    `bitcoin:${PAYEE}`,
  ])('with a fault is none: %s', (text) => {
    expect(readPaymentUri(text)).toBeUndefined();
  });
});

it('the history as a file has nothing that a spreadsheet would run', () => {
  const movement = {
    number: 1n,
    block_time: 1_700_000_000n,
    block_num: 2n,
    state: 'confirmed',
    kind: 'payment',
    direction: 'in',
    net: -5n,
    fee: null,
    tx_hash: 'g1',
    label: '=HYPERLINK("https://stranger.example","x")',
    from: ['+1'],
    outputs: [{ own: false, address: '@sum', amount: 5n, item: null }],
  } as unknown as Movement;
  expect(historyCsv([movement], new Map([['+1', '=1']])).split('\r\n')[1]).toBe(
    `1,2023-11-14T22:13:20.000Z,2,confirmed,payment,in,-5,,g1,"'=HYPERLINK(""https://stranger.example"",""x"")",'=1,'+1,'@sum`,
  );
});
