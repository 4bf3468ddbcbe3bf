/** The backup file (docs/wallet.md#the-backup-file): all of what the chain does not give back, for who has the passphrase. */

import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/run.js';
import { openBackup } from '../../src/wallet/backup-file.js';
import { createContext } from '../support/cli-context.js';
import {
  NOBODY,
  newWallet,
  nextBlock,
  openWallet,
  PASSPHRASE,
  paymentFromOutside,
  removeFolders,
  temporaryFolder,
  tokens,
} from '../support/wallet-fixtures.js';

afterAll(removeFolders);

const NETWORK = 'a network';
let text: string;

beforeAll(async () => {
  const { wallet, close } = await newWallet({ networkName: NETWORK });
  text = await wallet.coverage.backup(PASSPHRASE);
  await close();
});

describe('a backup file', () => {
  it('brings words, imported keys and labels back; with the blocks, the same funds and history', async () => {
    const [first, other] = [await newWallet({ networkName: NETWORK }), await newWallet()];
    const foreign = await other.wallet.newAddress();
    await first.wallet.importKeyPairs(await other.wallet.exportKeyPairs()).catch(() => undefined);
    await first.wallet.labels.set([{ kind: 'address', name: foreign, label: 'an old one' }]);
    const own = await first.wallet.newAddress();
    const paid = paymentFromOutside([tokens(own, 100n), tokens(foreign, 7n)]);
    const blocks = [nextBlock(first.wallet, [paid])];
    await first.wallet.chain.apply(blocks[0] ?? nextBlock(first.wallet, []));
    const { transaction } = await first.wallet.payments.pay({ address: NOBODY, amount: 30n, locktime: 0n });
    blocks.push(nextBlock(first.wallet, [transaction]));
    await first.wallet.chain.apply(blocks[1] ?? nextBlock(first.wallet, []));
    const backup = await first.wallet.coverage.backup(PASSPHRASE);

    const content = await openBackup(backup, PASSPHRASE, NETWORK);
    expect([...content.keys.keys()]).toEqual([foreign]);
    const second = await openWallet(await temporaryFolder(), { words: content.words });
    await second.wallet.coverage.adopt(content);
    for (const one of blocks) expect(await second.wallet.chain.apply(one)).toBe('applied');
    expect(second.wallet.coins.totals()).toEqual(first.wallet.coins.totals());
    expect(second.wallet.labels.all()).toEqual(first.wallet.labels.all());
    expect([...second.wallet.keys.addresses.keys()].sort()).toEqual([...first.wallet.keys.addresses.keys()].sort());
    const history = async ({ wallet }: typeof first) =>
      (await wallet.history.movements({ limit: 10, newestFirst: false })).movements.map(
        ({ hash, kind, net, height }) => [hash, kind, net, height],
      );
    expect(await history(second)).toEqual(await history(first));
    await Promise.all([first.close(), second.close(), other.close()]);
  });

  it('shows nothing of the wallet, and opens with no other passphrase', async () => {
    expect(Object.keys(JSON.parse(text))).toEqual([
      'kind',
      'format',
      'network',
      'created_at',
      'kdf',
      'content',
      'checksum',
    ]);
    await expect(openBackup(text, 'another', NETWORK)).rejects.toMatchObject({ code: 'wrong_passphrase' });
    const { wallet, close } = await newWallet();
    await expect(wallet.coverage.backup('another')).rejects.toMatchObject({ code: 'wrong_passphrase' });
    await close();
  });

  it('is refused when it was cut off or changed, by what is wrong with it', async () => {
    const refused = (changed: string, message: RegExp) =>
      expect(openBackup(changed, PASSPHRASE, NETWORK)).rejects.toMatchObject({
        code: 'wallet_unreadable',
        message: expect.stringMatching(message),
      });
    const file = JSON.parse(text) as Record<string, unknown> & { readonly kdf: Record<string, unknown> };
    const with_ = (change: Record<string, unknown>): string => JSON.stringify({ ...file, ...change });
    await refused(text.slice(0, -20), /no backup file/);
    await refused('', /no backup file/);
    await refused(with_({ content: undefined }), /cut off/);
    await refused(with_({ format: 0 }), /it has format 0, and this program reads 1/);
    await refused(with_({ format: 2 }), /it has format 2/);
    await refused(with_({ content: String(file.content).replace(/^../, 'ff') }), /checksum/);
    await refused(with_({ created_at: '2020-01-01T00:00:00.000Z' }), /checksum/);
    await refused(with_({ kdf: { ...file.kdf, n: 2 } }), /checksum/);
    await expect(openBackup(text, PASSPHRASE, 'another')).rejects.toThrow(/network a network/);
  });
});

describe('tessera wallet backup', () => {
  it('writes a file that only its owner reads, and none over another', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tessera-backup-file-'));
    const secret = join(folder, 'passphrase');
    await writeFile(secret, 'of the tests\n');
    const run = async (...args: readonly string[]) => {
      const context = createContext({});
      const place = ['--data', join(folder, 'data'), '--passphrase-file', secret];
      return { code: await runCli(['wallet', ...args, ...place], context), out: context.out(), err: context.err() };
    };
    const made = await run('new', '--json');
    const { words } = JSON.parse(made.out) as { readonly words: readonly string[] };
    const file = join(folder, 'wallet.backup');
    expect((await run('backup', file, '--offline')).code).toBe(0);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const before = await readFile(file, 'utf8');
    // The names of its members, such as "salt", are words of the list too.
    const values = before.replaceAll(/"[a-z_]+":/g, '');
    for (const word of words) expect(values).not.toContain(`"${word}"`);
    const again = await run('backup', file, '--offline');
    expect([again.code, again.err]).toEqual([2, expect.stringContaining('exists; name another file')]);
    expect(await readFile(file, 'utf8')).toBe(before);
    const { network } = JSON.parse(before) as { readonly network: string };
    expect((await openBackup(before, 'of the tests', network)).keys.size).toBe(0);
    await rm(folder, { recursive: true, force: true });
  });
});
