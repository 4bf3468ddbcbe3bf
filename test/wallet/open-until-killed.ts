/** Opens the wallet in a folder, says when it begins and when it has, and waits to be killed. */

import { openWallet } from '../support/wallet-fixtures.js';

const [folder = '', passphrase = ''] = process.argv.slice(2);
process.stdout.write('begins\n');
await openWallet(folder, { passphrase });
process.stdout.write('open\n');
setInterval(() => undefined, 60_000);
