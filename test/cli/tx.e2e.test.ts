/** `tessera tx` against a network: the example of docs/cli.md as it stands there, several signers, items, lost answers. */

import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runCli } from '../../src/cli/run.js';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { createContext } from '../support/cli-context.js';
import { useDevNetwork } from '../support/dev-network.js';
import { startLossyProxy } from '../support/lossy-proxy.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const [, , , FOUR = '', FIVE = ''] = devAccounts().accounts.map(({ address }) => address);
const network = useDevNetwork();

async function tokensOf(address: string): Promise<bigint> {
  const { mempool } = network().nodes.mempool.services;
  return mempool?.balances([address]).tokens ?? 0n;
}

async function run(argv: readonly string[], input = '') {
  const stdin = new PassThrough();
  stdin.end(input);
  const context = { ...createContext(), stdin };
  const status = await runCli(argv, context);
  return { status, out: context.out(), err: context.err() };
}

/** The output of a command that succeeds. */
async function out(argv: readonly string[], input = ''): Promise<string> {
  const { status, out: text, err } = await run(argv, input);
  expect(status, err).toBe(0);
  return text;
}

const node = () => ['--url', network().urls.mempool];
const build = (...flags: string[]) => out(['tx', 'build', ...node(), ...flags]);

describe('tessera tx', () => {
  it('does what docs/cli.md says, as it stands there', async () => {
    const page = await readFile(new URL('../../docs/cli.md', import.meta.url), 'utf8');
    const [, script = ''] = /^```sh run=cold-wallet\n([\s\S]*?)^```$/m.exec(page) ?? [];
    const place = await mkdtemp(join(tmpdir(), 'tessera-cold-'));
    onTestFinished(() => rm(place, { recursive: true, force: true }));
    await mkdir(join(place, 'bin'));
    const tessera = join(place, 'bin', 'tessera');
    await writeFile(tessera, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
    await chmod(tessera, 0o755);
    await writeFile(join(place, 'passphrase'), 'hunter2 hunter2\n');
    // The address of the whole network, as that of `npm start`, has the storage node too.
    const port = new URL(network().url ?? '').port;
    const env = { PATH: `${join(place, 'bin')}:${process.env.PATH}`, TESSERA_API__PORT: port };
    const { stdout, stderr } = await promisify(execFile)('sh', ['-euc', script], { cwd: place, env });
    const address = (await readFile(join(place, 'address'), 'utf8')).trim();
    expect(await tokensOf(address)).toBe(612_612_000n);
    expect(stdout).toMatch(/\ng[0-9a-f]{31}\n$/);
    expect(stdout + stderr).not.toContain('hunter2');
  });

  it('joins what several holders of keys sign, and pays once however often it is sent', async () => {
    const before = await tokensOf(FIVE);
    const draft = await build('--from', 'dev:3', '--from', 'dev:4', '--to', 'dev:5=200000000', '--change', 'dev:4');
    const first = await out(['tx', 'sign', '--dev-account', '3', '--partial'], draft);
    const signed = await out(['tx', 'sign', '--dev-account', '4'], first);
    const hashes = [
      await out(['tx', 'send', ...node()], signed),
      await out(['tx', 'send', ...node(), '--wait'], signed),
    ];
    expect(hashes[1]).toBe(hashes[0]);
    expect(await out(['tx', 'send', ...node()], signed)).toBe(hashes[0]);
    expect(await tokensOf(FIVE)).toBe(before + 14_414_400_000_000_000n);
    const twice = await run(['tx', 'build', ...node(), '--from', 'dev:4', '--to', 'dev:5=1']);
    expect([twice.status, twice.err]).toEqual([1, expect.stringContaining('insufficient_funds: the addresses hold 0')]);
  });

  it('sends again when an answer is lost, and once', async () => {
    const fates = ['lose answer', 'lose request', 'bad gateway'] as const;
    const proxy = await startLossyProxy(network().urls.mempool, { fate: (nth) => fates[nth] ?? 'pass' });
    onTestFinished(() => proxy.stop());
    const before = await tokensOf(FOUR);
    const signed = await out(['tx', 'sign', '--dev-account', '6'], await build('--from', 'dev:6', '--to', 'dev:4=7'));
    const { status, err } = await run(['tx', 'send', '--url', proxy.url, '--wait'], signed);
    expect([status, proxy.keys.length > fates.length]).toEqual([0, true]);
    expect(err).toContain('sending again; it happens only once');
    expect(await tokensOf(FOUR)).toBe(before + 504_504_000n);
  });

  it('says what the node says when it refuses: status 1', async () => {
    const drafts = [
      await build('--from', 'dev:7', '--to', 'dev:4=1'),
      await build('--from', 'dev:7', '--to', 'dev:4=2'),
    ];
    const sign = (draft: string) => out(['tx', 'sign', '--dev-account', '7'], draft);
    await out(['tx', 'send', ...node(), '--wait'], await sign(drafts[0] ?? ''));
    const { status, out: printed, err } = await run(['tx', 'send', ...node()], await sign(drafts[1] ?? ''));
    expect([status, printed]).toEqual([1, '']);
    expect(err).toMatch(/\ntessera: (unknown_input|double_spend): /);
  });

  it('wallet pay and wallet balance take a dev account by its number', async () => {
    const before = await tokensOf(FOUR);
    const pay = ['wallet', 'pay', 'dev:4', '2', '--dev-account', '9', '--yes', ...node()];
    expect(await out([...pay, '--wait'])).toMatch(/^g[0-9a-f]{31} confirmed\n$/);
    expect(JSON.parse(await out([...pay, '--wait', '--json']))).toMatchObject({
      to_address: FOUR,
      amount: 144_144_000,
    });
    expect(await tokensOf(FOUR)).toBe(before + 288_288_000n);
    const balance = ['wallet', 'balance', '--dev-account', '4', ...node()];
    expect(JSON.parse(await out([...balance, '--json']))).toEqual({
      address: FOUR,
      tokens: Number(before + 288_288_000n),
      items: {},
    });
    expect(await out(balance)).toMatch(/\ntokens +[\d.]+ +\d+\n/);
    expect((await run([...pay, '--idempotency-key', 'a'])).status).toBe(2);
  });

  it('pays items', async () => {
    const item = { genesis_hash_spec: 'Create', item_amount: 5, metadata: 'a card' };
    const created = await fetch(`${network().urls.user}/v1/items`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(item),
    });
    expect(created.status).toBe(202);
    const found = () => out(['call', 'getWallet', '--url', network().urls.user, '--json']).then(JSON.parse);
    await expect.poll(async () => Object.keys((await found()).item_total), { timeout: 60_000 }).toHaveLength(1);
    const [genesisHash = ''] = Object.keys((await found()).item_total);
    const info = await found();
    const [owner = ''] =
      Object.entries<readonly { value: object }[]>(info.addresses).find(([, held]) =>
        held.some(({ value }) => 'Item' in value),
      ) ?? [];
    const keys = join(await mkdtemp(join(tmpdir(), 'tessera-items-')), 'keys.json');
    onTestFinished(() => rm(join(keys, '..'), { recursive: true, force: true }));
    await out(['wallet', 'export', keys, '--yes', '--url', network().urls.user]);
    const spend = ['--from', owner, '--item', genesisHash, '--to', 'dev:8=2'];
    const unproven = await run(['tx', 'build', ...node(), ...spend]);
    expect([unproven.status, unproven.err]).toEqual([1, expect.stringContaining('name a storage node with --storage')]);
    const draft = await build('--storage', network().urls.storage, ...spend);
    const signed = await out(['tx', 'sign', '--key-file', keys], draft);
    await out(['tx', 'send', ...node(), '--wait'], signed);
    const { address } = devAccounts().accounts[7] ?? { address: '' };
    const balance = JSON.parse(await out(['call', 'getBalances', `address=${address}`, ...node(), '--json'])).balance;
    expect(balance.total.items).toEqual({ [genesisHash]: 2 });
  });
});
