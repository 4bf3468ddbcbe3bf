/** Child process of keystore-kills.e2e.test.ts: changes the passphrase again and again, and prints the number of each change that is done. */

import { openWallet } from '../support/wallet-fixtures.js';

const [folder = '', passphrase = '', round = ''] = process.argv.slice(2);
const { wallet } = await openWallet(folder, { passphrase });
let current = passphrase;
for (let change = 1; ; change++) {
  const next = `passphrase ${round} ${change}`;
  await wallet.keystore.changePassphrase(current, next);
  current = next;
  process.stdout.write(`${change}\n`);
}
