/**
 * Child process of killed-payments.e2e.test.ts: pays 1 unit again and again, several at once, and prints each hash when it is acknowledged.
 */

import { NOBODY, openWallet } from '../support/wallet-fixtures.js';

const [folder = ''] = process.argv.slice(2);
const { wallet } = await openWallet(folder);
async function payer(): Promise<void> {
  for (;;) {
    const { hash } = await wallet.payments.pay({ address: NOBODY, amount: 1n, locktime: 0n });
    process.stdout.write(`${hash}\n`);
  }
}
await Promise.all([payer(), payer(), payer(), payer()]);
