/**
 * Keeps what V8 compiles of the built program: runs a network of all roles in this process, makes a payment, and writes the code of
 * every function that was called beside the program. A part of `npm run build`. Without that file the program starts all the same,
 * with twice the processor time.
 */

import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMPILED_FILE, loadProgram, sumOf } from '../dist/program/load-program.js';

const WITHIN_MS = 120_000;
const CONFIG = fileURLToPath(new URL('../config/network.toml', import.meta.url));
/** To an address that nobody has the key of. */
const PAYMENT = { kind: 'address', address: '0'.repeat(64), amount: 1, passphrase: '' };

const folder = mkdtempSync(join(tmpdir(), 'tessera-build-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

let log = '';
let onLog = () => undefined;
process.stdout.write = (text, done) => {
  log += text;
  onLog();
  if (typeof done === 'function') done();
  return true;
};

/** The first match in the log of the network. */
function logged(pattern) {
  return new Promise((resolve) => {
    onLog = () => {
      const match = pattern.exec(log);
      if (match !== null) resolve(match);
    };
    onLog();
  });
}

function fail(reason) {
  process.stderr.write(`the program cannot be compiled: ${reason}\n${log}`);
  process.exit(1);
}

setTimeout(() => fail('the network takes too long'), WITHIN_MS).unref();

// Settings of whoever builds are not those of this network, and with source maps V8 would compile the program as a module.
for (const name of Object.keys(process.env)) if (name.startsWith('TESSERA_')) delete process.env[name];
process.setSourceMapsEnabled(false);

const { program, source, script } = loadProgram();
const sets = { 'node.data_dir': folder, 'api.port': 0, 'peers.port': 0, 'mining.block_interval_ms': 500 };
process.argv.splice(
  2,
  Infinity,
  'start',
  '--config',
  CONFIG,
  ...Object.entries(sets).flatMap((set) => ['--set', set.join('=')]),
);
program.startProgram().then(() => fail('the network ended'), fail);

const [, url] = await logged(/"api":"([^"]+)","nodes".*"msg":"ready"/);
await logged(/(?:the wallet is in step with the chain.*?){2}/s);
const answer = await fetch(`${url}/v1/payments`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-api-key': readFileSync(join(folder, 'api-key'), 'utf8').trim() },
  body: JSON.stringify(PAYMENT),
});
if (!answer.ok) fail(await answer.text());
const [, height] = await logged(/"msg":"block ([1-9]\d*) cut with [1-9]/);
await logged(new RegExp(`"msg":"block ${height} stored"`));

const code = script.createCachedData();
// A program that starts meanwhile reads none or all of it.
writeFileSync(`${COMPILED_FILE}.new`, Buffer.concat([sumOf(source, code), code]));
chmodSync(`${COMPILED_FILE}.new`, 0o644);
renameSync(`${COMPILED_FILE}.new`, COMPILED_FILE);
process.exit(0);
