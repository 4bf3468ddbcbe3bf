/** A wallet folder that an earlier version has written, of each format that was ever released, opens and pays. */

import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { NOBODY, openWallet, removeFolders, temporaryFolder } from '../support/wallet-fixtures.js';

const FIXTURES = fileURLToPath(new URL('../fixtures/', import.meta.url));

interface Expected {
  readonly passphrase: string;
  readonly height: number;
  readonly addresses: readonly string[];
  readonly totals: { readonly running: string; readonly available: string; readonly locked: string };
  readonly history: readonly { readonly hash: string; readonly state: string; readonly kind: string }[];
}

afterAll(removeFolders);

describe('the wallet folder of format 1', () => {
  it('has its keys, coins and payments, and pays', async () => {
    const folder = await temporaryFolder();
    await cp(join(FIXTURES, 'wallet-1'), folder, { recursive: true });
    const expected = JSON.parse(await readFile(join(folder, 'expected.json'), 'utf8')) as Expected;
    const { wallet, close } = await openWallet(folder, { passphrase: expected.passphrase, spendOwnChange: false });
    expect(wallet.chain.height).toBe(expected.height);
    expect([...wallet.keys.addresses.keys()].sort()).toEqual(expected.addresses);
    const { running, available, locked } = wallet.coins.totals();
    expect({ running: `${running}`, available: `${available}`, locked: `${locked}` }).toEqual(expected.totals);
    const history = (await wallet.outgoing.latest()).map(({ hash, state, kind }) => ({ hash, state, kind }));
    expect(history).toEqual(expected.history);
    const { movements } = await wallet.history.movements({ limit: 1_000, newestFirst: false });
    expect(movements.reduce((sum, { net }) => sum + net, 0n)).toBe(running);
    expect(
      movements.filter(({ seenAt }) => seenAt !== null).map(({ hash, state, kind }) => ({ hash, state, kind })),
    ).toEqual(expected.history);
    const { hash } = await wallet.payments.pay({ address: NOBODY, amount: available, locktime: 0n });
    await close();
    const again = await openWallet(folder, { passphrase: expected.passphrase, spendOwnChange: false });
    expect(again.wallet.outgoing.get(hash)?.state).toBe('queued');
    expect(again.wallet.coins.totals().available).toBe(0n);
    await again.close();
  });
});
