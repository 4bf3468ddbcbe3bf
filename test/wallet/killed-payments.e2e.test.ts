import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, describe, expect, it } from 'vitest';
import { outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import { builtScript } from '../support/built-script.js';
import { fund, newWallet, openWallet, removeFolders } from '../support/wallet-fixtures.js';

afterAll(removeFolders);

const CHILD = new URL('./pay-until-killed.ts', import.meta.url);
const COINS = 2_000;
/** Kills, each when more payments are under way. */
const ROUNDS = process.env.LONG_TESTS === undefined ? 4 : 8;

describe('payments and kill -9 (rule P1, decision V14)', () => {
  it('has every acknowledged payment once, with its own inputs, and the key of its change', async () => {
    const first = await newWallet();
    await fund(first.wallet, new Array<bigint>(COINS).fill(3n));
    await first.close();
    const acknowledged = new Set<string>();
    for (let round = 0; round < ROUNDS; round++) {
      const child = spawn(process.execPath, [await builtScript(CHILD), first.folder], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let lines = 0;
      for await (const hash of createInterface({ input: child.stdout })) {
        acknowledged.add(hash);
        lines += 1;
        if (lines === 10 + round * 5) child.kill('SIGKILL');
      }
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      expect(child.signalCode).toBe('SIGKILL');

      const { wallet, close } = await openWallet(first.folder);
      const history = await wallet.outgoing.latest();
      const hashes = history.map(({ hash }) => hash);
      expect(new Set(hashes).size).toBe(hashes.length);
      for (const hash of acknowledged) expect(hashes).toContain(hash);
      const inputs = history.flatMap(({ transaction }) => spentOutPoints(transaction)).map(outPointKey);
      expect(new Set(inputs).size).toBe(inputs.length);
      const changes = history.flatMap(({ transaction }) => transaction.outputs.slice(1));
      for (const { scriptPublicKey } of changes) expect(wallet.keys.owns(scriptPublicKey ?? '')).toBe(true);
      expect(wallet.coins.totals().running).toBe(BigInt(COINS * 3 - history.length));
      await close();
    }
  });
});
