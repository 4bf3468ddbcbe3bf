/** `docker run IMAGE dev`: the command of the image, run here with the environment that the image gives it. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call } from '../support/processes.js';

const root = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));

/** The variables that the image sets, with its folder in the place of /app. */
function imageEnvironment(): Record<string, string> {
  const [, list = ''] = /^ENV (.*)$/m.exec(readFileSync(root('Dockerfile'), 'utf8')) ?? [];
  const entries = list.split(' ').map((one) => one.split(/=(.*)/s, 2));
  return Object.fromEntries(entries.map(([name, value = '']) => [name, value.replace(/^\/app\//, root(''))]));
}

let folder: string;
let child: ChildProcess;
let facts: { readonly url: string; readonly urls: Readonly<Record<string, string>> };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tessera-container-'));
  const anyPort = ['--port', '0', '--set', 'api.port=0', '--set', 'peers.port=0'];
  child = spawn(process.execPath, [root('dist/main.js'), 'dev', '--json', ...anyPort], {
    env: { PATH: process.env.PATH ?? '', TMPDIR: folder, ...imageEnvironment() },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (child.stdout === null) throw new Error('a pipe was asked for');
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  facts = JSON.parse(line);
});

afterAll(() => {
  child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** The port of the network, asked at another address of this machine than the one that dev says. */
const elsewhere = (path: string): string => `http://127.0.0.2:${new URL(facts.url).port}${path}`;

describe('dev in the container', () => {
  it('says an address that a browser can open', () => {
    expect(facts.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  it.runIf(process.platform === 'linux')('is reached at every address, and pays there', async () => {
    const payment = { kind: 'address', address: 'ab'.repeat(32), amount: 1_000, passphrase: '' };
    expect(await call(elsewhere('/v1/payments'), payment)).toMatchObject({ tx_hash: expect.any(String) });
  });

  it.runIf(process.platform === 'linux')('lets the nodes themselves listen on loopback only', async () => {
    for (const url of Object.values(facts.urls)) {
      const refused = fetch(`http://127.0.0.2:${new URL(url).port}/livez`).then(
        () => 'reached',
        (error: Error) => (error.cause as NodeJS.ErrnoException).code,
      );
      expect(await refused).toBe('ECONNREFUSED');
    }
  });

  it('is healthy by the check of the image', async () => {
    const check = [root('deploy/healthcheck.js'), '/readyz', new URL(facts.url).port];
    const env = { PATH: process.env.PATH ?? '', ...imageEnvironment() };
    const [status] = await once(spawn(process.execPath, check, { env, stdio: 'ignore' }), 'close');
    expect(status).toBe(0);
  });

  it('stops at SIGTERM, as docker stop sends it', async () => {
    const closed = once(child, 'close');
    child.kill('SIGTERM');
    expect((await closed)[0]).toBe(0);
  });
});
