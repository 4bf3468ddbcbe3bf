/**
 * Addresses of version 99999, of which many keys have the same (docs/chain.md#addresses): a wallet that imports one, shows it or
 * pays to it says so, over the API and on the command line.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { addressOf } from '../../src/chain/address.js';
import type { AddressVersion } from '../../src/chain/types.js';
import { runCli } from '../../src/cli/run.js';
import { generateKeyPair, type KeyPair } from '../../src/crypto/ed25519.js';
import { toHex } from '../../src/lib/bytes.js';
import { systemRandom } from '../../src/lib/random.js';
import { API_KEY, buildApp } from '../support/api/app.js';
import { createContext } from '../support/cli-context.js';
import { createTestNet, richUser, type TestUser, until } from '../support/user.js';
import { PASSPHRASE, removeFolders, tokens } from '../support/wallet-fixtures.js';

afterAll(removeFolders);

interface Done {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

let net: Awaited<ReturnType<typeof createTestNet>>;
let node: TestUser;
let url: string;
let folder: string;

/** A funded user node with an API. */
beforeEach(async () => {
  net = await createTestNet();
  node = await richUser(net, [1_000n]);
  const app = await buildApp('user', { modules: { wallet: node.wallet, user: node.user } });
  url = await app.listen({ host: '127.0.0.1', port: 0 });
  folder = await mkdtemp(join(tmpdir(), 'tessera-temporary-'));
  await writeFile(join(folder, 'passphrase'), PASSPHRASE);
  await writeFile(join(folder, 'key'), API_KEY);
  onTestFinished(async () => {
    await app.close();
    await net.stop();
    await rm(folder, { recursive: true, force: true });
  });
});

async function run(...argv: string[]): Promise<Done> {
  const context = createContext();
  const secret = argv[1] === 'pay' ? ['--passphrase-file', join(folder, 'passphrase')] : [];
  const status = await runCli([...argv, '--url', url, '--api-key-file', join(folder, 'key'), ...secret], context);
  return { status, out: context.out(), err: context.err() };
}

const entryOf = ({ publicKey, seed }: KeyPair, addressVersion: AddressVersion) =>
  [
    addressOf(publicKey, addressVersion),
    { public_key: toHex(publicKey), secret_key: toHex(seed), address_version: addressVersion },
  ] as const;

/** Imports a key with its address of this version, and gives the address. */
async function imported(addressVersion: AddressVersion): Promise<{ readonly address: string; readonly done: Done }> {
  const [address, pair] = entryOf(generateKeyPair(systemRandom), addressVersion);
  const file = join(folder, 'keys.json');
  await writeFile(file, JSON.stringify({ addresses: { [address]: pair } }));
  return { address, done: await run('wallet', 'import', file) };
}

const warning = (address: string) => new RegExp(`^warning: ${address}: other keys have .*wallet sweep`, 'm');

async function ask(path: string, body?: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return (await response.json()) as Record<string, unknown>;
}

describe('an address of version 99999', () => {
  it('is warned of when it is imported, exported, shown and paid', async () => {
    const { address, done } = await imported(99_999);
    expect(done).toMatchObject({ status: 0, err: expect.stringMatching(warning(address)) });
    net.mempool.grant([tokens(address, 7n)]);
    await node.wallet.refresh({ all: true });
    await until(() => node.wallet.coins.totals().running === 1_007n);
    for (const command of [
      ['balance'],
      ['balance', '--addresses'],
      ['export', join(folder, 'out.json'), '--yes'],
      ['pay', address, '5', '--raw', '--yes'],
    ]) {
      expect(await run('wallet', ...command)).toMatchObject({
        status: 0,
        err: expect.stringMatching(warning(address)),
      });
    }
  });

  it('is named in the answers of the API', async () => {
    const [address, pair] = entryOf(generateKeyPair(systemRandom), 99_999);
    const [other, current] = entryOf(generateKeyPair(systemRandom), null);
    const named = { temporary_addresses: [address] };
    const pairs = { addresses: { [address]: pair, [other]: current } };
    expect(await ask('/v1/wallet/keypairs', pairs)).toEqual({ imported: [address, other], ...named });
    expect(await ask('/v1/wallet')).toMatchObject(named);
    const payment = { kind: 'address', address, amount: 5, passphrase: PASSPHRASE };
    expect(await ask('/v1/payments', payment)).toMatchObject(named);
  });
});

describe('an address of another version', () => {
  it.each([null, 0] as const)('%s is not warned of, and the answers are those of the contract', async (version) => {
    const { address, done } = await imported(version);
    expect(done).toMatchObject({ status: 0, err: '' });
    expect(await run('wallet', 'balance')).toMatchObject({ status: 0, err: '' });
    expect((await run('wallet', 'pay', address, '5', '--raw', '--yes')).err).not.toContain('warning');
    expect(await ask('/v1/wallet')).not.toHaveProperty('temporary_addresses');
    const payment = { kind: 'address', address, amount: 5, passphrase: PASSPHRASE };
    expect(await ask('/v1/payments', payment)).not.toHaveProperty('temporary_addresses');
  });
});
