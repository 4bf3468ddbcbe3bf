/** `tessera dev` as a process of its own, with the requests that its banner prints. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const ANY_PORT = ['--set', 'api.port=0', '--set', 'peers.port=0'];

const children: ChildProcess[] = [];
const folders: string[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Resolves with the banner when the network is up. */
async function startDev(...flags: string[]) {
  const tmp = mkdtempSync(join(tmpdir(), 'tessera-test-'));
  folders.push(tmp);
  const child = spawn(process.execPath, [MAIN, 'dev', ...ANY_PORT, ...flags], {
    env: { PATH: process.env.PATH ?? '', TMPDIR: tmp },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  let banner = '';
  // A `break` would end the stream too.
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    banner += String(chunk);
    if (banner.includes('Ctrl-C stops.')) break;
  }
  return { child, banner, tmp };
}

/** Sends what a printed curl line would send. */
async function request(line: string | undefined) {
  const url = /'?(http:[^' ]+)'?/.exec(line ?? '')?.[1] ?? '';
  const body = / -d '([^']+)'$/.exec(line ?? '')?.[1];
  const answer = await fetch(
    url,
    body === undefined ? {} : { method: 'POST', body, headers: { 'content-type': 'application/json' } },
  );
  return { status: answer.status, body: JSON.parse(await answer.text()) };
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<unknown> {
  const exited = once(child, 'exit');
  child.kill(signal);
  return (await exited)[0];
}

describe('tessera dev', () => {
  it('prints three requests that work, stops at SIGINT with status 0 and leaves nothing behind', async () => {
    const { child, banner, tmp } = await startDev();
    const [balance, payment, latest] = banner.match(/^ {2}curl .*$/gm) ?? [];
    const before = (await request(balance)).body.balance.total.tokens;
    const paid = await request(payment);
    expect([paid.status, paid.body.amount]).toEqual([202, { kind: 'token', amount: 72_072_000 }]);
    await expect.poll(async () => (await request(balance)).body.balance.total.tokens).toBe(before + 72_072_000);
    await expect.poll(async () => (await request(latest)).body.block.block.transactions).toEqual([paid.body.tx_hash]);
    expect(readdirSync(tmp)).toHaveLength(1);
    expect(await stop(child, 'SIGINT')).toBe(0);
    expect(readdirSync(tmp)).toEqual([]);
  });

  it('runs a script on the new chain, and on a clean one again when its file changes; it ends with the network', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tessera-script-'));
    folders.push(folder);
    const file = join(folder, 'scenario.mjs');
    const script = (said: string) => `
      const post = (path) => fetch(process.env.TESSERA_URL + path, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
      const { block_nums } = await (await post('/v1/dev/blocks')).json();
      const { status } = await fetch(process.env.TESSERA_STORAGE_URL + '/v1/blocks/latest');
      console.log('${said}', JSON.stringify({ block_nums, status, pid: process.pid }));
      process.on('SIGTERM', () => {});
      setInterval(() => {}, 1_000);
    `;
    writeFileSync(file, script('first'));
    const { child } = await startDev('--no-mining', '--watch', file);
    let said = '';
    child.stdout.on('data', (chunk) => {
      said += String(chunk);
    });
    const ran = async (name: string) => {
      await expect.poll(() => said).toMatch(new RegExp(`^${name} .*\n`, 'm'));
      return JSON.parse(new RegExp(`^${name} (.*)$`, 'm').exec(said)?.[1] ?? '');
    };
    const first = await ran('first');
    expect(first).toMatchObject({ block_nums: [expect.any(Number)], status: 200 });
    writeFileSync(file, script('second'));
    const second = await ran('second');
    expect(second).toMatchObject({ block_nums: first.block_nums, status: 200 });
    expect(() => process.kill(first.pid, 0)).toThrow('ESRCH');
    expect(await stop(child, 'SIGINT')).toBe(0);
    expect(() => process.kill(second.pid, 0)).toThrow('ESRCH');
  });

  it('goes on with the chain of its folder', async () => {
    const data = mkdtempSync(join(tmpdir(), 'tessera-chain-'));
    folders.push(data);
    const first = await startDev('--data', data);
    const payment = first.banner.match(/^ {2}curl .*payments.*$/m)?.[0];
    const { tx_hash: hash } = (await request(payment)).body;
    const latest = (banner: string) => request(banner.match(/^ {2}curl .*latest$/m)?.[0]);
    await expect.poll(async () => (await latest(first.banner)).body.block.block.transactions).toEqual([hash]);
    expect(await stop(first.child, 'SIGTERM')).toBe(0);
    const second = await startDev('--data', data);
    expect((await latest(second.banner)).body.block.block.transactions).toEqual([hash]);
    await stop(second.child, 'SIGTERM');
  });
});
