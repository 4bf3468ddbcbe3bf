/**
 * `npm run compare:signatures -- [--count N] [--seed TEXT]`: signatures that are made up, by libsodium and by node:crypto.
 * Exits with 1 when libsodium accepts one that node:crypto refuses.
 */

import { parseArgs } from 'node:util';
import { compareSignatures } from '../test/crypto/compare-signatures.js';

const { values } = parseArgs({
  options: { count: { type: 'string', default: '1000000' }, seed: { type: 'string', default: '1' } },
});
const count = Number(values.count);
if (!Number.isSafeInteger(count) || count < 1) throw new Error('--count is a positive number');
const started = Date.now();
const { accepted, slow, wrong } = compareSignatures({
  count,
  seed: values.seed,
  onProgress: (done) => process.stderr.write(`\r${done} of ${count}`),
});
const seconds = Math.round((Date.now() - started) / 1_000);
process.stderr.write('\r');
for (const line of wrong.slice(0, 10)) console.log(`accepted by libsodium alone: ${line}`);
console.log(`Node ${process.version}, OpenSSL ${process.versions.openssl}, ${seconds} s, seed ${values.seed}`);
console.log(`${count} signatures, ${accepted} accepted by node:crypto, ${slow} of them refused by libsodium first`);
console.log(`${wrong.length} accepted by libsodium and refused by node:crypto`);
process.exitCode = wrong.length === 0 ? 0 : 1;
