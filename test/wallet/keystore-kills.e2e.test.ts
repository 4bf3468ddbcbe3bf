/** The keystore while its process is killed in the middle of a change. LONG_TESTS=1 kills it 40 times. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, expect, it } from 'vitest';
import { builtScript } from '../support/built-script.js';
import { newWallet, openWallet, PASSPHRASE, removeFolders } from '../support/wallet-fixtures.js';

const CHILD = new URL('./change-until-killed.ts', import.meta.url);
const KILLS = process.env.LONG_TESTS === undefined ? 5 : 40;
const passphraseOf = (round: number, change: number): string => `passphrase ${round} ${change}`;

afterAll(removeFolders);

it(`has exactly one valid passphrase and every key after each of ${KILLS} kills during changes`, async () => {
  const first = await newWallet();
  const address = await first.wallet.newAddress();
  await first.close();
  const { folder } = first;
  let valid = PASSPHRASE;
  for (let round = 0; round < KILLS; round++) {
    // The child changes 0 → 1 → 2 … and prints each number when the promise has resolved.
    const child = spawn(process.execPath, [await builtScript(CHILD), folder, valid, String(round)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let done = 0;
    const wanted = 1 + (round % 5);
    for await (const line of createInterface({ input: child.stdout })) {
      done = Number(line);
      // In the middle of the next change, at a moment that differs from round to round.
      if (done >= wanted) setTimeout(() => child.kill('SIGKILL'), (round * 7) % 11).unref();
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    expect(child.signalCode).toBe('SIGKILL');
    const candidates = [passphraseOf(round, done), passphraseOf(round, done + 1), passphraseOf(round, done + 2), valid];
    const opening: string[] = [];
    for (const passphrase of new Set(candidates)) {
      try {
        const { wallet, close } = await openWallet(folder, { passphrase });
        expect((await wallet.exportKeyPairs()).has(address)).toBe(true);
        await close();
        opening.push(passphrase);
      } catch (error) {
        expect(error).toMatchObject({ code: 'wrong_passphrase' });
      }
    }
    expect(opening).toHaveLength(1);
    valid = opening[0] ?? '';
  }
}, 600_000);
