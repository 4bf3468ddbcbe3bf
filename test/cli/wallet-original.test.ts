/** `tessera wallet import --from-original`: the keys of a wallet of the original node, and payments from them. */

import { createHash } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { addressOf } from '../../src/chain/address.js';
import { runCli } from '../../src/cli/run.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { toHex } from '../../src/lib/bytes.js';
import { API_KEY, buildApp } from '../support/api/app.js';
import { createContext } from '../support/cli-context.js';
import { encodeSecretKey64 } from '../support/secret-key-64.js';
import { createTestNet, richUser, type TestUser, until } from '../support/user.js';
import { PASSPHRASE, removeFolders, tokens } from '../support/wallet-fixtures.js';
import { openClientKeyPair, sealClientKeyPair } from '../vectors/client-wallet.js';
import { deriveKeyPair, masterKeyFromMnemonic } from '../vectors/derivation.js';

afterAll(removeFolders);

const FIXTURE = fileURLToPath(new URL('../fixtures/original-wallet', import.meta.url));
const PAIRS = [null, 0, 99_999, null] as const;
const seeds = PAIRS.map((_, at) => createHash('sha512').update(`seed ${at}`).digest().subarray(0, 32));
const addresses = PAIRS.map((version, at) =>
  addressOf(keyPairFromSeed(seeds[at] ?? Buffer.alloc(32)).publicKey, version),
);

let net: Awaited<ReturnType<typeof createTestNet>>;
let node: TestUser;
let url: string;
let folder: string;
let original: string;

beforeEach(async () => {
  net = await createTestNet();
  node = await richUser(net, [1_000n]);
  const app = await buildApp('user', { modules: { wallet: node.wallet, user: node.user } });
  url = await app.listen({ host: '127.0.0.1', port: 0 });
  folder = await mkdtemp(join(tmpdir(), 'tessera-original-'));
  original = join(folder, 'live');
  await cp(FIXTURE, original, { recursive: true });
  await writeFile(join(folder, 'passphrase'), PASSPHRASE);
  await writeFile(join(folder, 'key'), API_KEY);
  onTestFinished(async () => {
    await app.close();
    await net.stop();
    await rm(folder, { recursive: true, force: true });
  });
});

async function run(argv: readonly string[], passphrase = 'correct horse') {
  const context = createContext({ TESSERA_ORIGINAL_PASSPHRASE: passphrase });
  const status = await runCli(['wallet', ...argv, '--url', url, '--api-key-file', join(folder, 'key')], context);
  const said = context.out() + context.err();
  // Nothing secret is said, whatever happens.
  for (const secret of [passphrase, ...seeds.map((seed) => toHex(seed))]) expect(said).not.toContain(secret);
  return { status, said };
}

describe('keys of client libraries', () => {
  it('pay after an import, from a seed phrase, a master key and an encrypted pair', async () => {
    const mnemonic = 'legal winner thank year wave sausage worth useful legal winner thank yellow';
    const master = masterKeyFromMnemonic(mnemonic);
    const made = [deriveKeyPair(master, 0), deriveKeyPair(master, 1)];
    const opened = made.map((pair, at) =>
      openClientKeyPair(sealClientKeyPair(pair, 'passphrase', `nonce-of-twenty-four-ch${at}`), 'passphrase'),
    );
    // As the libraries give them: the secret has 64 bytes.
    const pairs = opened.map((pair) => ({
      public_key: toHex(pair.publicKey),
      secret_key: toHex(encodeSecretKey64(pair)),
      address_version: null,
    }));
    const own = made.map(({ publicKey }) => addressOf(publicKey, null));
    const file = join(folder, 'keys.json');
    await writeFile(file, JSON.stringify({ addresses: Object.fromEntries(own.map((one, at) => [one, pairs[at]])) }));
    expect(await run(['import', file])).toMatchObject({ status: 0 });
    net.mempool.grant(own.map((address) => tokens(address, 100n)));
    await node.wallet.refresh({ all: true });
    await until(() => node.wallet.coins.totals().running === 1_200n);
    const pay = ['pay', 'ab'.repeat(32), '1200', '--raw', '--yes', '--passphrase-file', join(folder, 'passphrase')];
    expect(await run(pay)).toMatchObject({ status: 0 });
  });
});

describe('a wallet of the original node', () => {
  it('is imported with keys of all versions, with the warning of the temporary, and pays', async () => {
    const before = await Promise.all((await readdir(original)).map((name) => readFile(join(original, name))));
    const { status, said } = await run(['import', '--from-original', original]);
    expect([status, said]).toEqual([0, expect.stringContaining('4 key pairs imported')]);
    expect(said).toContain(`warning: ${addresses[2]}`);
    expect(await Promise.all((await readdir(original)).map((name) => readFile(join(original, name))))).toEqual(before);

    net.mempool.grant(addresses.map((address) => tokens(address, 100n)));
    await node.wallet.refresh({ all: true });
    await until(() => node.wallet.coins.totals().running === 1_400n);
    // Every key has to sign.
    const pay = ['pay', 'ab'.repeat(32), '1400', '--raw', '--yes', '--passphrase-file', join(folder, 'passphrase')];
    expect(await run(pay)).toMatchObject({ status: 0 });
    const [payment] = await node.wallet.history.payments();
    expect(payment?.amount).toBe(1_400n);
  });

  it('can be imported again: nothing changes', async () => {
    await run(['import', '--from-original', original]);
    expect(await run(['import', '--from-original', original, '--json'])).toMatchObject({ status: 0 });
    expect((await node.wallet.exportKeyPairs()).size).toBeGreaterThanOrEqual(4);
  });

  it('is refused with another passphrase, and then nothing is imported', async () => {
    const { size } = await node.wallet.exportKeyPairs();
    const { status, said } = await run(['import', '--from-original', original], 'another');
    expect([status, said]).toEqual([1, expect.stringContaining('does not open this wallet')]);
    expect((await node.wallet.exportKeyPairs()).size).toBe(size);
  });

  it.each([
    ['a folder without a wallet', async () => rm(join(original, '000009.sst')), 'no MasterKeyStore of a wallet'],
    ['a folder that is not there', async () => rm(original, { recursive: true }), 'cannot be read'],
    ['a table that was cut', async () => cut('000009.sst', -9), 'known format'],
    ['a table of another program', async () => writeFile(join(original, '7.sst'), Buffer.alloc(400)), 'known format'],
    ['a log without its end', async () => cut('000008.log', 40), undefined],
  ])('is refused by name for %s', async (_what, damage, why) => {
    await damage();
    const { status, said } = await run(['import', '--from-original', original]);
    if (why === undefined) expect([status, said]).toEqual([0, expect.stringContaining('3 key pairs imported')]);
    else expect([status, said]).toEqual([1, expect.stringContaining(why)]);
  });

  it('is refused for every damaged key pair: nothing of it is believed', async () => {
    const log = await readFile(join(original, '000008.log'));
    const table = await readFile(join(original, '000009.sst'));
    const at = table.indexOf(addresses[1] ?? '');
    expect(at).toBeGreaterThan(0);
    table[at + 60] = (table[at + 60] ?? 0) ^ 1;
    await writeFile(join(original, '000009.sst'), table);
    expect(await run(['import', '--from-original', original])).toMatchObject({ status: 1 });
    await cp(FIXTURE, original, { recursive: true });
    log[120] = (log[120] ?? 0) ^ 1;
    await writeFile(join(original, '000008.log'), log);
    const { status, said } = await run(['import', '--from-original', original]);
    expect([status, said]).toEqual([1, expect.stringContaining('000008.log is damaged')]);
  });

  it('is named by a folder or a file, not by both', async () => {
    expect(await run(['import'])).toMatchObject({ status: 2 });
    expect(await run(['import', 'keys.json', '--from-original', original])).toMatchObject({ status: 2 });
  });

  async function cut(name: string, length: number): Promise<void> {
    const bytes = await readFile(join(original, name));
    await writeFile(join(original, name), bytes.subarray(0, length < 0 ? bytes.length + length : length));
  }
});
