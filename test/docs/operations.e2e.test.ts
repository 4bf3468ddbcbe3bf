/**
 * docs/operations.md, as it stands there: its blocks that have a name (`sh run=NAME`) are run, in the order of an operator's
 * life, against four nodes and a fifth on this machine. Folders, names of machines and ports are put in their place,
 * `systemctl` is a script that does what the unit does, and `chown` does nothing.
 */

import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse } from 'smol-toml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/free-port.js';
import { call, until } from '../support/processes.js';

const execute = promisify(execFile);
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const page = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8');
const blocks = new Map(
  [...page.matchAll(/^```\w+ run=(\S+)\n([\s\S]*?)^```$/gm)].map(([, name = '', text = '']) => [name, text]),
);
const ran = new Set<string>();

/** Names of nodes on machines of their own. */
const NODES = ['storage', 'storage2', 'mempool', 'miner', 'user'] as const;
type NodeName = (typeof NODES)[number];
const PORTS = { storage: 12_330, storage2: 12_330, mempool: 12_300, miner: 12_340, user: 12_360 } as const;
const roleOf = (name: NodeName): string => name.replace(/\d$/, '');

let root: string;
const ports = new Map<string, number>();
const port = (name: string): number => ports.get(name) ?? 0;
const url = (name: NodeName): string => `http://127.0.0.1:${port(`${name} api`)}`;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'tessera-operations-'));
  for (const folder of ['etc', 'lib', 'backup', 'work', 'bin', 'run']) await mkdir(join(root, folder));
  for (const name of NODES) for (const kind of ['api', 'peers']) ports.set(`${name} ${kind}`, await freePort());
  await script('tessera', `exec '${process.execPath}' '${MAIN}' "$@"`);
  await script('chown', 'exit 0');
  await script('systemctl', SYSTEMCTL);
});

afterAll(async () => {
  for (const file of await readdir(join(root, 'run'))) {
    if (file.endsWith('.pid')) await run(`kill -9 "$(cat '${join(root, 'run', file)}')" || true`);
  }
  await rm(root, { recursive: true, force: true });
});

/** As the unit in deploy/systemd: role and folders by the instance; started in the background, stopped by SIGTERM. */
const SYSTEMCTL = `
verb=$1; name=\${2#tessera@}; pid="$OPS_ROOT/run/$name.pid"
alive() { [ -f "$pid" ] && kill -0 "$(cat "$pid")" 2>/dev/null; }
start() {
  nohup tessera --role "\${name%%[0-9]*}" --config "$OPS_ROOT/etc/$name.toml" --data "$OPS_ROOT/lib/$name" --log-format json \\
    >> "$OPS_ROOT/run/$name.log" 2>&1 < /dev/null &
  echo $! > "$pid"
}
stop() { if alive; then kill -TERM "$(cat "$pid")"; while alive; do sleep 0.05; done; fi; }
case $verb in
  start) start ;;
  stop) stop ;;
  restart) stop; start ;;
  reload) kill -HUP "$(cat "$pid")" ;;
esac`;

async function script(name: string, text: string): Promise<void> {
  const file = join(root, 'bin', name);
  await writeFile(file, `#!/bin/sh\n${text}\n`);
  await chmod(file, 0o755);
}

/** What the text means on this machine. */
function onThisMachine(text: string): string {
  const placed = text
    .replaceAll('/etc/tessera', join(root, 'etc'))
    .replaceAll('/var/lib/tessera', join(root, 'lib'))
    .replaceAll('/backup', join(root, 'backup'));
  const named = placed.replaceAll(/([a-z]+\d?)\.example\.net:(\d+)/g, (_, name: NodeName, number: string) => {
    return `127.0.0.1:${port(`${name} ${Number(number) === PORTS[name] ? 'peers' : 'api'}`)}`;
  });
  return named.replaceAll('https://127.0.0.1', 'http://127.0.0.1');
}

/** Runs a shell text in the folder of an operator; what it wrote to standard output. */
async function run(text: string): Promise<string> {
  const { PATH = '' } = process.env;
  const env = { PATH: `${join(root, 'bin')}:${PATH}`, OPS_ROOT: root, HOME: root };
  const options = { cwd: join(root, 'work'), env, timeout: 240_000 };
  return (await execute('bash', ['-euo', 'pipefail', '-c', text], options)).stdout;
}

/** Runs the block of that name. */
function runBlock(name: string): Promise<string> {
  const text = blocks.get(name);
  if (text === undefined) throw new Error(`docs/operations.md has no block ${name}`);
  ran.add(name);
  return run(onThisMachine(text));
}

/** A table of the storage node's file, for the others to differ from. */
type Tables = Record<string, Record<string, unknown>>;

/** The file of a node: the one in the text with what its table says, without TLS and beyond loopback. */
async function writeConfig(name: NodeName, producer: string): Promise<void> {
  const text = onThisMachine(blocks.get('storage.toml') ?? '').replaceAll('"<64 hex digits>"', `"${producer}"`);
  ran.add('storage.toml');
  const { node, network, api, peers } = parse(text) as Tables;
  const isWallet = name === 'user' || name === 'miner';
  const { secret_file: secretFile, ...open } = network ?? {};
  const { tls: _, ...plainPeers } = peers ?? {};
  const tables: Tables = {
    node: { ...node, data_dir: join(root, 'lib', name) },
    network: isWallet ? open : { ...open, secret_file: secretFile },
    api: { ...(isWallet ? {} : { keys: api?.keys }), host: '127.0.0.1', port: port(`${name} api`) },
    peers: {
      ...plainPeers,
      host: '127.0.0.1',
      port: port(`${name} peers`),
      advertise: `127.0.0.1:${port(`${name} peers`)}`,
      // Nodes that come back are not waited for longer than they take.
      reconnect_max_ms: 200,
      ...linksOf(name),
    },
    ...(name === 'mempool' ? { mempool: { producer_key_file: '../work/producer-key' }, mining: FAST } : {}),
    ...(isWallet ? { wallet: { passphrase_file: 'wallet-passphrase' } } : {}),
  };
  await writeFile(join(root, 'etc', `${name}.toml`), toToml(tables));
}

/** Blocks of a test network: quickly, and by one miner. */
const FAST = { block_interval_ms: 1_000, partition_size: 1, proof_window_ms: 0, unicorn: { iterations: 2 } };

function linksOf(name: NodeName): Record<string, string[]> {
  const to = (...names: NodeName[]) => names.map((one) => `127.0.0.1:${port(`${one} peers`)}`);
  if (name === 'storage') return { storage: to('storage2') };
  if (name === 'storage2') return { storage: to('storage') };
  return name === 'mempool' ? { storage: to('storage', 'storage2') } : { mempool: to('mempool') };
}

function toToml(tables: Tables): string {
  const value = (one: unknown): string =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? `{ ${Object.entries(one)
          .map(([key, inner]) => `${key} = ${value(inner)}`)
          .join(', ')} }`
      : Array.isArray(one)
        ? `[${one.map(value).join(', ')}]`
        : JSON.stringify(one);
  const lines = Object.entries(tables).flatMap(([table, options]) => [
    `[${table}]`,
    ...Object.entries(options).map(([key, one]) => `${key} = ${value(one)}`),
  ]);
  return `${lines.join('\n')}\n`;
}

/** Waits until the node says that it can do its work. */
function ready(name: NodeName): Promise<true> {
  return until(`${name} to be ready`, async () => {
    try {
      return ((await fetch(`${url(name)}/readyz`)).status === 200 || undefined) as true | undefined;
    } catch (cause) {
      throw new Error((await readFile(join(root, 'run', `${name}.log`), 'utf8')).slice(-2_000), { cause });
    }
  });
}

interface Balance {
  readonly available_total_tokens: number;
  readonly addresses: Readonly<Record<string, unknown>>;
}

const balance = () => call(`${url('user')}/v1/wallet`) as Promise<Balance>;
const FUNDS = 1_000_000 * 72_072_000;

async function heightOf(name: 'storage' | 'storage2'): Promise<number> {
  const answer = (await call(`${url(name)}/v1/blocks/latest`)) as { block: { block: { header: { b_num: number } } } };
  return answer.block.block.header.b_num;
}

/** A block beyond the last one is stored: the network works. */
async function goesOn(): Promise<void> {
  const before = await until('a block', () => heightOf('storage'));
  await until('the next block', async () => ((await heightOf('storage')) > before ? true : undefined));
}

const unlock = '--config /etc/tessera/user.toml --role user';
const pay = (amount: number) =>
  run(
    onThisMachine(
      `tessera wallet pay ${'ab'.repeat(32)} ${amount} --raw --yes --wait ${unlock} --passphrase-file /etc/tessera/wallet-passphrase`,
    ),
  );

describe('docs/operations.md, run as it stands', () => {
  it('four machines: genesis, secrets, files, start', async () => {
    const made = await runBlock('genesis');
    expect(made.match(/fingerprint +[0-9a-f]{32}/g)).toHaveLength(2);
    const producer = /producer_keys = \["([0-9a-f]{64})"\]/.exec(made)?.[1] ?? '';
    await runBlock('network-secret');
    expect(await runBlock('api-key')).toMatch(/^[0-9a-f]{64} /);
    await writeFile(join(root, 'etc', 'wallet-passphrase'), 'the passphrase of both wallets\n', { mode: 0o600 });
    for (const name of NODES) await writeConfig(name, producer);
    await runBlock('start');
    for (const name of ['storage', 'mempool', 'miner', 'user'] as const) await ready(name);
    expect(await runBlock('ready')).toContain('"status":"ok"');
    await goesOn();
  });

  it('four machines: the first funds reach the wallet, and the file with the keys is gone', async () => {
    await runBlock('first-funds');
    await until('the funds', async () => ((await balance()).available_total_tokens === FUNDS ? true : undefined));
    expect(await readdir(join(root, 'work'))).not.toContain('genesis-keys.json');
  });

  it('an authority for the links', async () => {
    await runBlock('authority');
    expect(await run('openssl verify -CAfile ca.pem cert.pem')).toContain('OK');
  });

  it('doctor finds nothing wrong with any of them', async () => {
    for (const name of ['storage', 'mempool', 'user'] as const) {
      const command = `tessera doctor --json --role ${roleOf(name)} --config /etc/tessera/${name}.toml || true`;
      const findings = JSON.parse(await run(onThisMachine(command))) as { check: string; verdict: string }[];
      // The second storage node is not there yet.
      const wrong = findings.filter(
        ({ verdict, check }) => verdict === 'fail' && !check.includes(`:${port('storage2 peers')}`),
      );
      expect({ name, wrong }).toEqual({ name, wrong: [] });
    }
  });

  it('adding nodes: a second storage node catches up', async () => {
    await runBlock('add-storage');
    await ready('storage2');
    const target = await heightOf('storage');
    await until('the same height', async () => ((await heightOf('storage2')) >= target ? true : undefined));
  });

  it('backup while the node runs, a moved wallet, restore: nothing that was paid is missing', async () => {
    await pay(1_000);
    expect(await runBlock('backup')).toContain('backup');
    await pay(2_000);
    await runBlock('move');
    await runBlock('restore');
    expect(await run(onThisMachine(`tessera verify ${unlock}`))).toContain('all checksums right');
    await run('systemctl start tessera@user');
    await ready('user');
    await until('the balance', async () =>
      (await balance()).available_total_tokens === FUNDS - 3_000 ? true : undefined,
    );
    await pay(500);
  });

  it('a lost storage folder, and a lost mempool folder', async () => {
    const before = await heightOf('storage2');
    await runBlock('lost-storage');
    await ready('storage');
    await until('the blocks', async () => ((await heightOf('storage')) >= before ? true : undefined));
    await runBlock('lost-mempool');
    await ready('mempool');
    await goesOn();
    await ready('user');
    await pay(100);
  });

  it('leaked keys: of the API, of the wallet, of the network', async () => {
    const keyFile = join(root, 'lib', 'user', 'api-key');
    const old = (await readFile(keyFile, 'utf8')).trim();
    const status = async (key: string) =>
      (await fetch(`${url('user')}/v1/wallet/keypairs`, { headers: { 'x-api-key': key } })).status;
    expect(await status(old)).toBe(200);
    await runBlock('leaked-api-key');
    await until('the new key', async () => ((await status(old)) === 401 ? true : undefined));
    expect(await status((await readFile(keyFile, 'utf8')).trim())).toBe(200);
    const { addresses, available_total_tokens: all } = await balance();
    await runBlock('leaked-private-key');
    await until('the move', async () => ((await balance()).available_total_tokens === all ? true : undefined));
    expect(Object.keys((await balance()).addresses).filter((address) => address in addresses)).toEqual([]);
    await runBlock('leaked-network-secret');
    for (const name of ['storage', 'storage2', 'mempool'] as const) await ready(name);
    await goesOn();
  });

  it('another passphrase of the wallet: payments and backups go on with it, and the old folder of backups wants the old one', async () => {
    await writeFile(join(root, 'work', 'new-passphrase'), 'another passphrase\n', { mode: 0o600 });
    expect(await runBlock('passphrase')).toContain('backup');
    expect(await readdir(join(root, 'work'))).not.toContain('new-passphrase');
    await ready('user');
    await pay(200);
    const old = run(onThisMachine(`tessera backup /backup/user ${unlock}`));
    await expect(old).rejects.toThrow(/wrong_passphrase: .* the passphrase with which their folder was begun/);
  });

  it('a mempool and a storage node that are rebuilt, and at the end everything agrees with the archive', async () => {
    await runBlock('rebuild');
    await ready('mempool');
    expect(await runBlock('heal')).toMatch(/rebuilt with [1-9]\d* blocks/);
    await ready('storage');
    await goesOn();
    await ready('user');
    const checked = await runBlock('verify');
    expect(checked).toMatch(/archive: \d+ blocks with \d+ transactions, all valid/);
    expect(checked).toMatch(/mempool: \d+ unspent outputs are the same in the archive/);
    expect(checked).toMatch(/wallet: [1-9]\d* unspent outputs are the same in the archive/);
  });

  it('has no named block that was not run', () => {
    expect([...blocks.keys()].filter((name) => !ran.has(name))).toEqual([]);
  });
});
