/**
 * The section "A small network in one process" of docs/operations.md, as it stands there: its file and its commands, with
 * folders and ports put in their place.
 */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../support/free-port.js';
import { call, until } from '../support/processes.js';

const execute = promisify(execFile);
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const page = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8');
const blocks = new Map(
  [...page.matchAll(/^```\w+ small=(\S+)\n([\s\S]*?)^```$/gm)].map(([, name = '', text = '']) => [name, text]),
);
const FUNDS = 1_000_000 * 72_072_000;
/** A quick network of one miner, on any free ports for links. */
const QUICK = {
  PEERS__PORT: '0',
  MINING__BLOCK_INTERVAL_MS: '400',
  MINING__PARTITION_SIZE: '1',
  MINING__PROOF_WINDOW_MS: '0',
  MINING__UNICORN__ITERATIONS: '2',
};

let root: string;
let port: number;
let minersPort: number;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'tessera-small-'));
  for (const folder of ['etc', 'lib', 'backup', 'work', 'bin']) await mkdir(join(root, folder));
  await writeFile(join(root, 'bin', 'tessera'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  await chmod(join(root, 'bin', 'tessera'), 0o755);
  [port, minersPort] = [await freePort(), await freePort()];
});

afterAll(() => rm(root, { recursive: true, force: true }));

const onThisMachine = (text: string): string =>
  text
    .replaceAll('/etc/tessera', join(root, 'etc'))
    .replaceAll('/var/lib/tessera', join(root, 'lib'))
    .replaceAll('/backup', join(root, 'backup'))
    .replaceAll('8080', `${port}`)
    .replaceAll('3004', `${minersPort}`);

function environment(): NodeJS.ProcessEnv {
  const quick = Object.entries(QUICK).map(([name, value]) => [`TESSERA_${name}`, value]);
  return { PATH: `${join(root, 'bin')}:${process.env.PATH ?? ''}`, HOME: root, ...Object.fromEntries(quick) };
}

function block(name: string): string {
  const text = blocks.get(name);
  if (text === undefined) throw new Error(`docs/operations.md has no block ${name}`);
  return onThisMachine(text);
}

async function run(name: string, shell = ''): Promise<string> {
  const options = { cwd: join(root, 'work'), env: environment(), timeout: 240_000 };
  return (await execute('bash', ['-euo', 'pipefail', '-c', `${block(name).trimEnd()}${shell}`], options)).stdout;
}

it('runs as it stands', async () => {
  const producer = /producer_keys = \["([0-9a-f]{64})"\]/.exec(await run('secrets'))?.[1] ?? '';
  expect(block('small.toml')).toContain('<64 hex digits>');
  await writeFile(join(root, 'etc', 'small.toml'), block('small.toml').replace('<64 hex digits>', producer));

  const started = execFile('bash', ['-c', `exec ${block('start')}`], { cwd: root, env: environment() });
  const ended = once(started, 'exit');
  try {
    let log = '';
    started.stdout?.on('data', (text) => {
      log += text;
    });
    await until('the network to be ready', async () => {
      if (started.exitCode !== null) throw new Error(log.slice(-2_000));
      return ((await fetch(`http://127.0.0.1:${port}/readyz`)).ok || undefined) as true | undefined;
    });
    const used = await run('use');
    expect(used).toContain('{"status":"ok","reasons":[]}');
    expect(used).toContain('checked, ');
    // Warnings, such as that of a disk that is nearly full, are about this machine.
    const found = await run('doctor', ' || test $? = 3');
    for (const role of ['mempool', 'storage', 'miner', 'user']) {
      expect(found).toMatch(new RegExp(`^ok +${role}: node: process ${started.pid} runs and is ready$`, 'm'));
    }
    expect(await readdir(join(root, 'work'))).toEqual([]);
    await until('the funds', async () => {
      const wallet = (await call(`http://127.0.0.1:${port}/v1/wallet`)) as { available_total_tokens: number };
      return wallet.available_total_tokens === FUNDS || undefined;
    });
  } finally {
    started.kill('SIGTERM');
  }
  expect((await ended)[0]).toBe(0);
  expect(await run('stopped')).toContain('unspent outputs are the same in the archive');
});
