/** A folder of an earlier version while the process that brings it to this one is killed: keystore, words and history. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { builtScript } from '../support/built-script.js';
import { openWallet, removeFolders, temporaryFolder } from '../support/wallet-fixtures.js';

const CHILD = new URL('./open-until-killed.ts', import.meta.url);
const WALLET_1 = fileURLToPath(new URL('../fixtures/wallet-1', import.meta.url));
const ROUNDS = 3;

afterAll(removeFolders);

/** Killed `delay` ms after it begins, or once it has opened the wallet. */
async function openAndKill(folder: string, passphrase: string, delay: number): Promise<void> {
  const child = spawn(process.execPath, [await builtScript(CHILD), folder, passphrase], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === 'begins') setTimeout(() => child.kill('SIGKILL'), delay).unref();
    else child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  expect(child.signalCode).toBe('SIGKILL');
}

it('has its keys and funds, one set of words, a copy of the old keystore and a whole history after each of 3 kills', async () => {
  const expected = JSON.parse(await readFile(join(WALLET_1, 'expected.json'), 'utf8'));
  const { passphrase, addresses, totals } = expected;
  const before = await readFile(join(WALLET_1, 'keystore.json'));
  for (let round = 0; round < ROUNDS; round++) {
    const folder = await temporaryFolder();
    await cp(WALLET_1, folder, { recursive: true });
    await openAndKill(folder, passphrase, round * 25);
    const first = await openWallet(folder, { passphrase });
    const address = await first.wallet.newAddress();
    const { movements } = await first.wallet.history.movements({ limit: 1_000, newestFirst: false });
    expect(movements.reduce((sum, { net }) => sum + net, 0n)).toBe(BigInt(totals.running));
    await first.close();
    const second = await openWallet(folder, { passphrase });
    expect([...second.wallet.keys.addresses.keys()].sort()).toEqual([...addresses, address].sort());
    expect(second.wallet.keys.isCovered(address)).toBe(true);
    expect(second.wallet.coins.totals().running).toBe(BigInt(totals.running));
    expect((await second.wallet.history.movements({ limit: 1_000, newestFirst: false })).movements).toEqual(movements);
    await second.close();
    const copies = (await readdir(folder)).filter((name) => name.startsWith('keystore-format-1-'));
    expect(copies).toHaveLength(1);
    expect(await readFile(join(folder, copies[0] ?? ''))).toEqual(before);
  }
}, 600_000);
