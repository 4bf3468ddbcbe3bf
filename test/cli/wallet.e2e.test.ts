/** `tessera wallet` as people and scripts run it, against nodes that are processes, with an API key. */

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DISPLAY_UNIT } from '../../src/chain/constants.js';
import { runCli } from '../../src/cli/run.js';
import { DEV_AMOUNT, devAccounts } from '../../src/config/dev-accounts.js';
import { createContext } from '../support/cli-context.js';
import { createNetwork, type Network, type NodeProcess, until } from '../support/processes.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const ADDRESS = /^[0-9a-f]{64}\n$/;
const PAYEE = devAccounts().accounts[0]?.address ?? '';

let folder: string;
let network: Network;
let mempool: NodeProcess;
let miner: NodeProcess;
let alice: NodeProcess;
/** Flags that name the node of alice. */
let toAlice: readonly string[];
/** Holds the passphrase of alice. */
let blank: string;

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}, input = ''): Promise<Ended> =>
  tessera(['wallet', ...args], env, input);

/** A command in this process; the last tests start the built program. */
async function tessera(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  input = '',
): Promise<Ended> {
  const context = { ...createContext(env), stdin: Readable.from([input]) };
  const code = await runCli(args, context);
  return { code, out: context.out(), err: context.err() };
}

/** Makes a wallet in a data folder, under the passphrase in a file. */
function newWallet(data: string, passphraseFile: string): Promise<Ended> {
  const place = ['--data', data, '--config', 'config/dev.toml', '--role', 'user'];
  return run(['new', ...place, '--passphrase-file', passphraseFile]);
}

const file = async (name: string, content: string): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
};

const available = async (flags: readonly string[]): Promise<number> => {
  const { out } = await run(['balance', '--json', ...flags]);
  return (JSON.parse(out) as { available_total_tokens: number }).available_total_tokens;
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-cli-'));
  blank = await file('blank', '');
  network = await createNetwork();
  const storage = await network.add('storage', 'storage');
  mempool = await network.add('mempool', 'mempool', { 'peers.storage': storage.peerAddress });
  const common = { 'peers.mempool': mempool.peerAddress, 'api.auth': 'keys' };
  const data = join(folder, 'alice');
  [miner, alice] = await Promise.all([
    network.add('miner', 'miner', { ...common, 'wallet.genesis_seed_index': 1 }),
    network.add('alice', 'user', { ...common, 'node.data_dir': data, 'wallet.genesis_seed_index': 0 }),
  ]);
  toAlice = ['--url', alice.apiUrl, '--data', data];
  await until('the first funds', async () => ((await available(toAlice)) > 0 ? true : undefined));
});

afterAll(async () => {
  await network.stopAll();
  await rm(folder, { recursive: true, force: true });
});

describe('tessera wallet', () => {
  it('address prints a new address', async () => {
    const plain = await run(['address', ...toAlice]);
    const json = await run(['address', '--json', ...toAlice]);
    expect([plain.code, plain.err]).toEqual([0, '']);
    expect(plain.out).toMatch(ADDRESS);
    expect(`${(JSON.parse(json.out) as { address: string }).address}\n`).toMatch(ADDRESS);
  });

  it('balance shows display units and raw units, and every address on demand', async () => {
    const { out, code } = await run(['balance', ...toAlice]);
    const raw = await available(toAlice);
    expect(code).toBe(0);
    expect(out.split('\n')[1]).toMatch(new RegExp(`^available +${BigInt(raw) / DISPLAY_UNIT}[.0-9]* +${raw}$`));
    const { out: all } = await run(['balance', '--addresses', ...toAlice]);
    expect(all).toContain(devAccounts().user.address);
  });

  it('pay does nothing without a terminal and --yes', async () => {
    const before = await available(toAlice);
    const { code, err } = await run(['pay', PAYEE, '1', '--passphrase-file', blank, ...toAlice]);
    expect(code).toBe(2);
    expect(err).toContain('add --yes');
    expect(await available(toAlice)).toBe(before);
  });

  it('pay asks for the passphrase where nothing gives it, and says how to give it where nobody can be asked', async () => {
    const { code, err } = await run(['pay', PAYEE, '1', '--yes', ...toAlice]);
    expect(code).toBe(2);
    expect(err).toContain('--passphrase-file FILE or the variable TESSERA_WALLET__PASSPHRASE');
  });

  it('pay pays exactly the amount and waits for its block; history shows it', async () => {
    const paid = await run(['pay', PAYEE, '1.5', '--yes', '--wait', '--passphrase-file', blank, ...toAlice]);
    expect(paid.code).toBe(0);
    const [, hash] = /^(g[0-9a-f]{31}) confirmed\n$/.exec(paid.out) ?? [];
    expect(hash).toBeDefined();
    const history = await run(['history', ...toAlice]);
    const line = history.out.split('\n').find((row) => row.includes(hash ?? 'no hash'));
    expect(line).toMatch(new RegExp(`confirmed +payment +1\\.5 +108108000 +${PAYEE} +${hash}$`));
    const { movements } = JSON.parse((await run(['history', '--json', '--limit', '1', ...toAlice])).out);
    expect(movements).toHaveLength(1);
    expect(movements[0]).toMatchObject({ tx_hash: hash, kind: 'payment', state: 'confirmed', reason: null });
  });

  it('donations says that a peer has declined, in its own words', async () => {
    expect((await run(['donations', ...toAlice])).out).toBe('nobody was asked for a donation yet\n');
    const asked = await tessera(['call', 'requestDonation', `address=${miner.peerAddress}`, ...toAlice]);
    expect([asked.code, asked.err]).toEqual([0, '']);
    const { code, out } = await run(['donations', ...toAlice]);
    expect(code).toBe(0);
    expect(out.split('\n')[1]).toMatch(
      new RegExp(`^20.*Z +${miner.peerAddress} +declined +this node gives no donations$`),
    );
    const { requests } = JSON.parse((await run(['donations', '--json', ...toAlice])).out);
    expect(requests).toMatchObject([{ number: 0, peer: miner.peerAddress, outcome: 'declined' }]);
  });

  it('label and history --csv: what the owner calls a payment is in the list for the accounts', async () => {
    const { movements } = JSON.parse(
      (await run(['history', '--json', '--direction', 'out', '-n', '1', ...toAlice])).out,
    );
    const { tx_hash: hash } = movements[0];
    expect((await run(['label', hash, 'rent, "May"', ...toAlice])).code).toBe(0);
    const { out } = await run(['history', '--csv', '-', '--direction', 'out', ...toAlice]);
    const [titles, ...lines] = out.split('\r\n');
    expect(titles).toBe(
      'number,time,block,state,direction,kind,amount_raw,fee_raw,net_raw,items,counterparty,transaction,label,reason',
    );
    const line = lines.find((one) => one.includes(hash)) ?? '';
    expect(line).toContain(`,out,payment,108108000,0,-108108000,,${PAYEE},${hash},"rent, ""May""",`);
    const all = JSON.parse((await run(['history', '--all', '--json', ...toAlice])).out).movements;
    const sum = all.reduce((total: number, { net }: { net: number }) => total + net, 0);
    expect(sum).toBe(JSON.parse((await run(['balance', '--json', ...toAlice])).out).running_total_tokens);
  });

  it('pay takes the passphrase from the environment and raw units with --raw', async () => {
    const { code, out } = await run(['pay', PAYEE, '12345', '--raw', '-y', '--json', ...toAlice], {
      TESSERA_WALLET__PASSPHRASE: '',
    });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ to_address: PAYEE, amount: { kind: 'token', amount: 12_345 } });
  });

  it('prints the detail of a refusal on the error stream, with status 1', async () => {
    const wrong = await file('wrong', 'not the passphrase\n');
    const refused = await run(['pay', PAYEE, '1', '--yes', '--passphrase-file', wrong, ...toAlice]);
    expect([refused.code, refused.out]).toEqual([1, '']);
    expect(refused.err).toBe('tessera: wrong_passphrase: the wallet passphrase is wrong\n');
    const short = await run([
      'pay',
      PAYEE,
      String(DEV_AMOUNT),
      '--yes',
      '--raw',
      '--passphrase-file',
      blank,
      ...toAlice,
    ]);
    expect(short.code).toBe(1);
    expect(short.err).toMatch(/^tessera: insufficient_funds: .* short of [0-9]+\n$/);
  });

  it('export asks first, writes a file that only its owner reads, and writes none over', async () => {
    const keys = join(folder, 'keys.json');
    expect((await run(['export', keys, ...toAlice])).code).toBe(2);
    const { code, out } = await run(['export', keys, '--yes', ...toAlice]);
    expect([code, out]).toEqual([0, expect.stringMatching(/^[0-9]+ key pairs written to /)]);
    expect((await stat(keys)).mode & 0o777).toBe(0o600);
    const before = await readFile(keys, 'utf8');
    expect((await run(['export', keys, '--yes', ...toAlice])).code).toBe(2);
    expect(await readFile(keys, 'utf8')).toBe(before);
    expect((await run(['export', '-', '--yes', ...toAlice])).out).toBe(before);
  });

  it('new makes a wallet before the first start; import brings the funds of another', async () => {
    const data = join(folder, 'bob');
    const secret = await file('bob.txt', 'the passphrase of bob\n');
    const made = await newWallet(data, secret);
    expect([made.code, made.out]).toEqual([0, expect.stringMatching(ADDRESS)]);
    const again = await newWallet(data, secret);
    expect([again.code, again.out]).toEqual([1, '']);

    const bob = await network.add('bob', 'user', {
      'peers.mempool': mempool.peerAddress,
      'api.auth': 'keys',
      'node.data_dir': data,
      'wallet.passphrase_file': secret,
    });
    const toBob = ['--url', bob.apiUrl, '--data', data];
    expect((await run(['export', '-', '--yes', ...toBob])).out).toContain(made.out.trim());

    const keys = join(folder, 'keys.json');
    const pairs = JSON.parse(await readFile(keys, 'utf8')) as { addresses: Record<string, { public_key: string }> };
    const [first = '', second = ''] = Object.keys(pairs.addresses);
    const swapped = { ...pairs.addresses, [first]: pairs.addresses[second] };
    const damaged = await run(['import', await file('bad.json', JSON.stringify({ addresses: swapped })), ...toBob]);
    expect(damaged.code).toBe(1);
    expect(damaged.err).toContain(first);
    expect(await available(toBob)).toBe(0);

    const imported = await run(['import', '-', '--json', ...toBob], {}, await readFile(keys, 'utf8'));
    expect(imported.code).toBe(0);
    expect((JSON.parse(imported.out) as { imported: string[] }).imported).toHaveLength(
      Object.keys(pairs.addresses).length,
    );
    const expected = await available(toAlice);
    await until('the balance of alice', async () => ((await available(toBob)) === expected ? true : undefined));
    await bob.kill();
  });

  it('passphrase changes it: the old one pays nothing any more', async () => {
    const next = await file('next', 'a new passphrase\n');
    const changed = await run(['passphrase', '--passphrase-file', blank, '--new-passphrase-file', next, ...toAlice]);
    expect([changed.code, changed.out]).toEqual([0, '']);
    expect(changed.err).toContain('wallet.passphrase_file');
    expect((await run(['pay', PAYEE, '1', '--yes', '--passphrase-file', blank, ...toAlice])).code).toBe(1);
    expect((await run(['pay', PAYEE, '1', '--yes', '--passphrase-file', next, ...toAlice])).code).toBe(0);
    const unwanted = await run(['passphrase', '--passphrase-file', next, '--new-passphrase-file', blank, ...toAlice]);
    expect([unwanted.code, unwanted.err]).toEqual([2, expect.stringContaining('blank')]);
  });

  it('says what is missing when the API key or the node is not there', async () => {
    const keyless = await run(['address', '--url', alice.apiUrl, '--data', join(folder, 'elsewhere')]);
    expect([keyless.code, keyless.err]).toEqual([1, expect.stringContaining('missing_api_key')]);
    expect(keyless.err).toContain('--api-key-file');
    const lost = await run(['address', '--url', alice.apiUrl, '-k', join(folder, 'no-such-file')]);
    expect([lost.code, lost.err]).toEqual([2, expect.stringContaining('no-such-file')]);
    const named = await run(['address', '--url', alice.apiUrl], {
      TESSERA_API_KEY_FILE: join(folder, 'alice', 'api-key'),
    });
    expect(named.out).toMatch(ADDRESS);
    const nobody = await run(['balance', '--url', 'http://127.0.0.1:1']);
    expect([nobody.code, nobody.err]).toEqual([1, expect.stringContaining('node_unreachable: http://127.0.0.1:1')]);
  });
});

describe('a node with a wallet outside a development network', () => {
  const start = async (...flags: string[]): Promise<Ended> => {
    const args = [
      '--role',
      'user',
      '--config',
      'config/dev.toml',
      '--set',
      'api.port=0',
      '--set',
      'peers.port=0',
      ...flags,
    ];
    const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    const exit = new Promise<number | null>((resolve) => child.once('exit', resolve));
    const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
    return { code, out, err };
  };

  it('does not start without a passphrase, and says how to give one', async () => {
    const { code, err } = await start('--data', join(folder, 'production'));
    expect(code).toBe(1);
    expect(err).toContain('the wallet is new and needs a passphrase that is not blank');
    expect(err).toContain('wallet.passphrase_file');
    expect(err).toContain('TESSERA_WALLET__PASSPHRASE');
  });

  it('says so when the wallet has a passphrase and none, or a wrong one, is given', async () => {
    const data = join(folder, 'locked');
    const secret = await file('locked.txt', 'right\n');
    const made = await newWallet(data, secret);
    expect(made.code).toBe(0);
    expect((await start('--data', data)).err).toContain('the wallet has a passphrase and none was given');
    const wrong = await file('locked-wrong.txt', 'left\n');
    const refused = await start('--data', data, '--set', `wallet.passphrase_file=${wrong}`);
    expect(refused.err).toContain('wrong_passphrase: the given passphrase does not open the wallet');
    expect(refused.out + refused.err).not.toMatch(/\bleft\b|\bright\b/);
  });
});
