/** `tessera doctor`: each thing that can be wrong is found, named, and comes with what to do. */

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/run.js';
import { DataDir } from '../../src/db/data-dir.js';
import { utf8 } from '../../src/lib/bytes.js';
import { createContext } from '../support/cli-context.js';
import { useDevNetwork } from '../support/dev-network.js';

interface Finding {
  readonly check: string;
  readonly verdict: 'ok' | 'warn' | 'fail';
  readonly found: string;
  readonly advice?: string;
}

const FREE_PORTS = ['--set', 'api.port=0', '--set', 'peers.port=0'];
let root: string;
let data: string;
const servers: Server[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tessera-doctor-'));
  data = join(root, 'data');
});

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  rmSync(root, { recursive: true, force: true });
});

async function examine(...flags: string[]) {
  const context = createContext();
  const status = await runCli(['doctor', '--json', '--data', data, ...flags], context);
  const findings = JSON.parse(context.out()) as Finding[];
  return { status, findings, of: (check: string) => findings.find((finding) => finding.check.startsWith(check)) };
}

const storage = (...flags: string[]) => examine('--role', 'storage', ...FREE_PORTS, ...flags);

async function makeStore(): Promise<string> {
  const directory = await DataDir.open(data, { role: 'storage', networkName: 'tessera-local' });
  const kv = await directory.open('archive');
  for (let i = 0; i < 3; i++) await kv.write(kv.batch().put(utf8(`${i}`), utf8('value')), { sync: true });
  await directory.close();
  return join(data, 'db', 'archive');
}

async function listen(onConnection: () => void = () => undefined): Promise<number> {
  const server = createServer(onConnection);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

describe('a sound node', () => {
  it('has nothing that fails, and every row says what was looked at', async () => {
    await makeStore();
    const { findings, of } = await storage();
    expect(findings.filter(({ verdict }) => verdict === 'fail')).toEqual([]);
    expect(of('database archive')).toMatchObject({ verdict: 'ok', found: expect.stringContaining('3 writes') });
    expect(of('marker')?.found).toContain('storage of the network "tessera-local"');
    expect(of('genesis')?.found).toMatch(/fingerprint [0-9a-f]{32}$/);
    for (const check of [
      'versions',
      'descriptors',
      'config',
      'folder',
      'lock',
      'disk',
      'api.port',
      'peers.port',
      'node',
    ]) {
      expect(of(check)?.found).toBeTruthy();
    }
  });

  it('names an archive that was put aside, of which something may be missing (docs/adr/0015)', async () => {
    await makeStore();
    mkdirSync(join(data, 'damaged-archive-1'));
    const { status, of } = await storage();
    expect(status).toBe(3);
    expect(of('damage')).toMatchObject({
      verdict: 'warn',
      found: expect.stringContaining('damaged-archive-1'),
      advice: expect.stringContaining('/readyz'),
    });
  });

  it('has all its files of blocks, here or in a store that is configured', async () => {
    const file = (first: number, last: number, end: string): string =>
      `${String(first).padStart(10, '0')}-${String(last).padStart(10, '0')}-${'a'.repeat(64)}.${end}`;
    const put = (name: string): void => writeFileSync(join(data, 'segments', name), '');
    await makeStore();
    mkdirSync(join(data, 'segments'));
    put(file(0, 3, 'blocks'));
    put(file(7, 8, 'blocks'));
    expect((await storage()).of('segments')).toMatchObject({
      verdict: 'fail',
      found: expect.stringContaining('from 4'),
    });
    put(file(4, 6, 'stored'));
    const lacking = (await storage()).of('segments');
    expect(lacking).toMatchObject({ verdict: 'fail', found: expect.stringContaining('1 of 3 closed files') });
    const set = (name: string, value: string): string[] => ['--set', `storage.segments.${name}=${value}`];
    writeFileSync(join(root, 'secret'), 'hidden');
    const port = await listen();
    const { of, findings } = await storage(
      ...[...set('store', 's3'), ...set('endpoint', `http://127.0.0.1:${port}`), ...set('bucket', 'blocks')],
      ...[...set('access_key', 'key'), ...set('secret_key_file', join(root, 'secret')), ...set('timeout_ms', '500')],
    );
    expect(of('segments')).toMatchObject({ verdict: 'ok', found: expect.stringContaining('1 of them only in') });
    expect(of('object store')).toMatchObject({ verdict: 'fail', found: expect.stringContaining('silent for 500 ms') });
    expect(JSON.stringify(findings)).not.toContain('hidden');
  });

  it('is left as it is, and may run meanwhile', async () => {
    await makeStore();
    const directory = await DataDir.open(data, { role: 'storage', networkName: 'tessera-local' });
    await directory.open('archive');
    const { of } = await storage();
    expect(of('lock')?.found).toBe(`process ${process.pid} uses the folder`);
    expect(of('database archive')).toMatchObject({ verdict: 'ok' });
    await directory.close();
    rmSync(data, { recursive: true });
    await storage();
    expect(readdirSync(root)).toEqual([]);
  });

  it('prints lines for people, with what to do below', async () => {
    const context = createContext();
    const status = await runCli(['doctor', '--role', 'storage', '--set', 'api.port=x'], context);
    expect(status).toBe(1);
    expect(context.out()).toMatch(/^ok {4}versions: tessera \d/);
    expect(context.out()).toMatch(/fail {2}config: invalid_config: .*api\.port[^→]*→ correct it/s);
  });
});

describe('what is wrong is named:', () => {
  it.each<[string, string, () => Promise<unknown>, RegExp]>([
    ['a log that is gone', 'database archive', async () => rmLog(await makeStore()), /^data_lost: .*log/],
    ['a folder of another role', 'marker', () => DataDir.open(data, other).then((d) => d.close()), /mempool node/],
    [
      'databases without a marker',
      'marker',
      () => makeStore().then(() => rmSync(join(data, 'tessera.json'))),
      /no marker/,
    ],
    [
      'a restore that was interrupted',
      'marker',
      () => makeStore().then(() => writeFileSync(join(data, 'restoring'), 'x')),
      /restore/,
    ],
    [
      'a damaged marker',
      'marker',
      () => makeStore().then(() => writeFileSync(join(data, 'tessera.json'), '{}')),
      /data_corrupt/,
    ],
  ])('%s', async (_, check, damage, found) => {
    await damage();
    const { status, of } = await storage();
    expect(status).toBe(1);
    expect(of(check)).toMatchObject({ verdict: 'fail', found: expect.stringMatching(found) });
    expect(of(check)?.advice).toBeTruthy();
  });

  it('a wallet without its keystore', async () => {
    const directory = await DataDir.open(data, { role: 'user', networkName: 'tessera-local' });
    await directory.open('wallet');
    await directory.close();
    const { status, of } = await examine('--role', 'user', ...FREE_PORTS);
    expect(status).toBe(1);
    expect(of('keystore')).toMatchObject({ verdict: 'fail' });
  });

  it('copies of a keystore, which an earlier passphrase opens', async () => {
    const directory = await DataDir.open(data, { role: 'user', networkName: 'tessera-local' });
    await directory.open('wallet');
    await directory.close();
    writeFileSync(join(data, 'keystore.json'), '{}');
    writeFileSync(join(data, 'keystore-format-1-0123abcd.json'), '{}');
    const { of } = await examine('--role', 'user', ...FREE_PORTS);
    expect(of('keystore')).toMatchObject({ verdict: 'warn', found: expect.stringContaining('0123abcd') });
  });

  it('a port that another process holds, and which', async () => {
    const port = await listen();
    const { status, of } = await examine('--role', 'storage', '--set', `api.port=${port}`, '--set', 'peers.port=0');
    expect(status).toBe(1);
    expect(of('api.port')).toMatchObject({ verdict: 'fail', found: `held by process ${process.pid}` });
  });

  it('a secret that everybody may read', async () => {
    const file = join(root, 'secret');
    writeFileSync(file, 'a secret of sixteen characters', { mode: 0o644 });
    const { of } = await storage(
      '--set',
      `network.secret_file=${file}`,
      '--config',
      config('[node]\nrole = "storage"\n'),
    );
    expect(of('secrets')).toMatchObject({ verdict: 'warn', found: expect.stringContaining(file) });
  });
});

describe('peers', () => {
  const network = useDevNetwork();
  const user = (address: string, ...flags: string[]) =>
    examine(
      '--role',
      'user',
      '--config',
      'config/dev.toml',
      ...FREE_PORTS,
      '--set',
      `peers.mempool=${address}`,
      ...flags,
    );

  it('are asked whether they agree to a link, and for their time', async () => {
    const { of } = await user(network().nodes.mempool.peerAddress);
    expect(of('peer ')).toMatchObject({
      verdict: 'ok',
      found: expect.stringContaining('a mempool node agrees to a link'),
    });
    expect(of('clock')).toMatchObject({ verdict: 'ok' });
  });

  it('say why they refuse', async () => {
    const { status, of } = await user(network().nodes.mempool.peerAddress, '--set', 'network.name=elsewhere');
    expect(status).toBe(1);
    expect(of('peer ')).toMatchObject({
      verdict: 'fail',
      found: expect.stringContaining('set the same network.name on both'),
    });
  });

  it('that nobody answers for are named', async () => {
    const { of } = await user('127.0.0.1:1');
    expect(of('peer ')).toMatchObject({ verdict: 'fail', found: expect.stringContaining('ECONNREFUSED') });
  });

  it('that take the connection and say nothing do not hold it up', async () => {
    const port = await listen();
    const { status, of } = await user(`127.0.0.1:${port}`, '--timeout', '1');
    expect(status).not.toBe(0);
    expect(of('peer ')?.verdict).not.toBe('ok');
  });
});

const other = { role: 'mempool', networkName: 'tessera-local' };

function rmLog(store: string): void {
  rmSync(join(store, readdirSync(store).find((name) => name.endsWith('.log')) ?? ''));
}

function config(text: string): string {
  const file = join(root, 'node.toml');
  writeFileSync(file, text);
  return file;
}
