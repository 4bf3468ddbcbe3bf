import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { toHex } from '../../src/lib/bytes.js';
import { ManualClock } from '../support/manual-clock.js';
import { newWallet, openWallet, PASSPHRASE, removeFolders, temporaryFolder } from '../support/wallet-fixtures.js';

afterAll(removeFolders);

describe('keystore', () => {
  it('opens again with its passphrase and has every key', async () => {
    const first = await newWallet();
    const address = await first.wallet.newAddress();
    const pair = (await first.wallet.exportKeyPairs()).get(address);
    await first.close();
    const second = await openWallet(first.folder);
    expect((await second.wallet.exportKeyPairs()).get(address)).toEqual(pair);
    await second.close();
  });

  it('does not open with a wrong passphrase', async () => {
    const { folder, close } = await newWallet();
    await close();
    await expect(openWallet(folder, { passphrase: 'another' })).rejects.toMatchObject({ code: 'wrong_passphrase' });
  });

  it('is a file that only the owner reads, with its parameters and no secret in clear', async () => {
    const { wallet, folder, close } = await newWallet();
    const address = await wallet.newAddress();
    const secret = toHex((await wallet.exportKeyPairs()).get(address)?.secretKey ?? new Uint8Array(0));
    await close();
    const path = join(folder, 'keystore.json');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const text = await readFile(path, 'utf8');
    expect(JSON.parse(text)).toMatchObject({ format: 2, kdf: { name: 'scrypt', n: 16, r: 1, p: 1 } });
    const stored = [text];
    for (const name of await readdir(join(folder, 'db'))) stored.push(await readFile(join(folder, 'db', name), 'hex'));
    const seed = secret.slice(32, 96);
    for (const content of stored) expect(content.includes(seed)).toBe(false);
  });

  it('goes by the new passphrase, and says so, when only the folder could not be synced', async () => {
    let isBroken = false;
    const syncFolder = async (): Promise<void> => {
      if (isBroken) throw new Error('EIO: i/o error, fsync');
    };
    const { wallet, folder, close } = await newWallet({ syncFolder });
    isBroken = true;
    const change = wallet.keystore.changePassphrase(PASSPHRASE, 'the new one');
    await expect(change).rejects.toMatchObject({ code: 'wallet_write_failed' });
    await expect(change).rejects.toThrow(/was changed, but a power cut may bring back the old one: keep both/);
    await wallet.keystore.verify('the new one');
    await expect(wallet.keystore.verify(PASSPHRASE)).rejects.toMatchObject({ code: 'wrong_passphrase' });
    await close();
    await (await openWallet(folder, { passphrase: 'the new one' })).close();
  });

  it('tells damage from a wrong passphrase', async () => {
    const { folder, close } = await newWallet();
    await close();
    const path = join(folder, 'keystore.json');
    const text = await readFile(path, 'utf8');
    for (const damaged of ['', '{}', text.replace('"n": 16', '"n": 32'), text.replace('"format": 2', '"format": 9')]) {
      await writeFile(path, damaged);
      await expect(openWallet(folder)).rejects.toMatchObject({ code: 'wallet_unreadable' });
    }
  });

  it('does not make a new master key when the file is gone and there are keys', async () => {
    const { folder, close } = await newWallet();
    await close();
    await rm(join(folder, 'keystore.json'));
    await expect(openWallet(folder)).rejects.toMatchObject({ code: 'wallet_unreadable' });
    expect(await readdir(folder)).not.toContain('keystore.json');
  });

  it('does not open the store of another wallet', async () => {
    const one = await newWallet();
    const other = await newWallet();
    await one.close();
    await other.close();
    await writeFile(join(one.folder, 'keystore.json'), await readFile(join(other.folder, 'keystore.json')));
    await expect(openWallet(one.folder)).rejects.toMatchObject({ code: 'wallet_unreadable' });
  });

  it('takes a blank passphrase only where that is allowed (decision V25)', async () => {
    const folder = await temporaryFolder();
    await expect(openWallet(folder, { passphrase: ' ' })).rejects.toMatchObject({ code: 'blank_passphrase' });
    const { wallet, close } = await openWallet(folder, { passphrase: '', allowBlankPassphrase: true });
    await wallet.keystore.verify('');
    await close();
  });

  it('changes the passphrase; only the new one opens it (decision V26)', async () => {
    const { wallet, folder, close } = await newWallet();
    const address = await wallet.newAddress();
    await expect(wallet.keystore.changePassphrase(PASSPHRASE, '  ')).rejects.toMatchObject({
      code: 'blank_passphrase',
    });
    await wallet.keystore.changePassphrase(PASSPHRASE, 'new');
    await expect(wallet.keystore.verify(PASSPHRASE)).rejects.toMatchObject({ code: 'wrong_passphrase' });
    await close();
    await expect(openWallet(folder)).rejects.toMatchObject({ code: 'wrong_passphrase' });
    const again = await openWallet(folder, { passphrase: 'new' });
    expect(again.wallet.keys.owns(address)).toBe(true);
    await again.close();
  });

  it('on a development network changes it until the wallet is closed', async () => {
    const { wallet, folder, close } = await newWallet({ keepsPassphrase: true });
    const file = await readFile(join(folder, 'keystore.json'));
    await expect(wallet.keystore.changePassphrase('wrong', 'new')).rejects.toMatchObject({ code: 'wrong_passphrase' });
    await expect(wallet.keystore.changePassphrase(PASSPHRASE, '  ')).rejects.toMatchObject({
      code: 'blank_passphrase',
    });
    await wallet.keystore.changePassphrase(PASSPHRASE, 'new');
    await wallet.keystore.verify('new');
    await close();
    expect(await readFile(join(folder, 'keystore.json'))).toEqual(file);
    const again = await openWallet(folder, { keepsPassphrase: true });
    await again.wallet.keystore.verify(PASSPHRASE);
    await again.close();
  });
});

describe('guessing', () => {
  it('slows down with each wrong passphrase, up to a cap', async () => {
    const clock = new ManualClock();
    const { wallet, close } = await newWallet({ clock });
    const delays: number[] = [];
    for (let i = 0; i < 10; i++) {
      let waited = 0;
      let settled = false;
      const attempt = wallet.keystore.verify('wrong').catch((error: unknown) => {
        settled = true;
        return error;
      });
      await turns();
      while (!settled) {
        clock.advance(250);
        waited += 250;
        await turns();
      }
      expect(await attempt).toMatchObject({ code: 'wrong_passphrase' });
      delays.push(waited);
    }
    expect(delays).toEqual([0, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    await close();
  });

  it('looks at nothing before the delay is over, not even at the right passphrase', async () => {
    const clock = new ManualClock();
    const { wallet, close } = await newWallet({ clock });
    await expect(wallet.keystore.verify('wrong')).rejects.toThrow();
    let open = false;
    const right = wallet.keystore.verify(PASSPHRASE).then(() => {
      open = true;
    });
    clock.advance(249);
    await turns();
    expect(open).toBe(false);
    clock.advance(1);
    await right;
    await close();
  });

  it('gives nothing away to many guesses at once', async () => {
    const clock = new ManualClock();
    const { wallet, close } = await newWallet({ clock });
    await expect(wallet.keystore.verify('wrong')).rejects.toThrow();
    const guesses = Array.from({ length: 200 }, (_, i) =>
      wallet.keystore.verify(`guess ${i}`).catch((e: unknown) => e),
    );
    clock.advance(250);
    await turns();
    let answered = 0;
    for (const guess of guesses) void guess.then(() => (answered += 1));
    await turns();
    // One was looked at; those beyond the line of 32 were turned away unseen.
    expect(answered).toBe(200 - 32 + 1);
    await close();
    expect((await Promise.all(guesses)).every((error) => error instanceof Error)).toBe(true);
  });

  it('does not slow down a wallet with the right passphrase', async () => {
    const clock = new ManualClock();
    const { wallet, close } = await newWallet({ clock });
    await Promise.all(Array.from({ length: 500 }, () => wallet.keystore.verify(PASSPHRASE)));
    await close();
  });

  it('slows the old passphrase of a change as well (decision V26)', async () => {
    const clock = new ManualClock();
    const { wallet, close } = await newWallet({ clock });
    await expect(wallet.keystore.changePassphrase('wrong', 'new')).rejects.toMatchObject({ code: 'wrong_passphrase' });
    const change = wallet.keystore.changePassphrase(PASSPHRASE, 'new');
    await turns();
    expect(clock.waiting).toBe(1);
    clock.advance(250);
    await change;
    await close();
  });
});

/** Lets everything that waits for nothing but its turn go on. */
async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}
