/**
 * The entries of the package as a bundler for browsers makes them: without anything of Node.js, small, and without what is not used
 * (docs/adr/0036-client-library.md). They are made of `dist`, as by whoever has installed the package.
 */

import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { build, type Rolldown } from 'vite';
import { describe, expect, it } from 'vitest';
import * as ofNode from '../../src/sdk/wallet.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ENTRY = '\0entry';

interface Bundle {
  readonly code: string;
  /** Bytes, minified and packed. */
  readonly size: number;
  /** What Vite has warned of. */
  readonly warnings: readonly string[];
}

/** What a page loads that has this code. */
async function bundle(code: string): Promise<Bundle> {
  const warnings: string[] = [];
  const warn = (message: string): void => void warnings.push(message);
  const silent = { info: () => undefined, warn, warnOnce: warn, error: warn, clearScreen: () => undefined };
  const made = await build({
    root: ROOT,
    configFile: false,
    logLevel: 'warn',
    customLogger: { ...silent, hasErrorLogged: () => false, hasWarned: false },
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === 'entry' ? ENTRY : undefined),
        load: (id) => (id === ENTRY ? code : undefined),
      },
    ],
    build: {
      write: false,
      minify: true,
      rollupOptions: { input: 'entry', output: { format: 'iife', name: 'bundle' }, preserveEntrySignatures: 'strict' },
    },
  });
  const { output } = made as Rolldown.RolldownOutput;
  const text = output.map((part) => (part.type === 'chunk' ? part.code : '')).join('\n');
  return { code: text, size: gzipSync(text).length, warnings };
}

/** Runs it with what browsers have, and nothing else. */
function run(code: string): unknown {
  const { TextEncoder, TextDecoder, crypto, setTimeout, clearTimeout, performance, URL, AbortController, btoa } =
    globalThis;
  const web = { TextEncoder, TextDecoder, crypto, setTimeout, clearTimeout, performance, URL, AbortController, btoa };
  return runInContext(`${code}\nbundle`, createContext(web));
}

/** The parts that only some need: the words of BIP39, and the arithmetic of keys. */
const WORDS = /abandon(?:\\n|\s)ability/;
const CURVE = /Ed25519|edwards/i;

describe('a bundle for browsers', () => {
  it.each<[string, string, number, { readonly words?: true; readonly keys?: true }]>([
    ['the whole client', "export * from 'tessera-node/client'", 16, {}],
    ['the whole wallet', "export * from 'tessera-node/wallet'", 48, { words: true, keys: true }],
    [
      'a page that pays',
      "export { createClient } from 'tessera-node/client'; export { buildPayment, keyPairOf } from 'tessera-node/wallet'",
      36,
      { keys: true },
    ],
    ['one function of the client', "export { formatAmount } from 'tessera-node/client'", 0.7, {}],
    ['one function of the wallet', "export { addressOf } from 'tessera-node/wallet'", 6, {}],
  ])('of %s is small, and needs nothing of Node.js', async (what, code, kilobytes, parts) => {
    const { code: made, size, warnings } = await bundle(code);
    // The size belongs into the log of CI: it grows by small steps.
    process.stdout.write(`bundle of ${what}: ${(size / 1_000).toFixed(1)} kB\n`);
    expect(warnings).toEqual([]);
    expect(made).not.toMatch(/node:|\bBuffer\b|__vite-browser-external|sodium/);
    expect(size).toBeLessThan(kilobytes * 1_000);
    expect(WORDS.test(made)).toBe(parts.words === true);
    expect(CURVE.test(made)).toBe(parts.keys === true);
  });

  it('does the work of a wallet as Node.js does', async () => {
    const { code } = await bundle("export * from 'tessera-node/wallet'");
    const inPage = run(code) as typeof ofNode;
    const [there, here] = await Promise.all([inPage, ofNode].map(walletWork));
    expect(there).toEqual(here);
  });
});

/** Words, keys, addresses, a payment, a creation, a trade: everything that is signed. */
async function walletWork(wallet: typeof ofNode): Promise<unknown> {
  const keys = await wallet.HdKeys.fromMnemonic(`${'abandon '.repeat(11)}about`);
  const [key, other] = [keys.keyPair('receive', 0), keys.keyPair('items', 3)];
  const address = wallet.addressOf(key.publicKey);
  const unspent = wallet.unspentOutputs({
    balance: {
      address_list: { [address]: [{ out_point: { t_hash: 'g0', n: 1 }, value: { Token: 360_360_000_000_000_000n } }] },
      total: { tokens: 0n, items: {} },
    },
  });
  const payment = wallet.buildPayment({ unspent, keys: [key], to: wallet.BURN_ADDRESS, amount: 2n ** 53n + 1n });
  const { signature } = wallet.signItemCreation({ amount: 3n, metadata: 'é€😀' }, other);
  const here = { network: 'test', now: 1_000_000_000_000 };
  const terms = { give: { amount: 2n, item: 'g1' }, want: { amount: 5n } };
  const offer = wallet.createOffer({ ...terms, key: other, expiresAt: 1_000_000_100, ...here });
  const { acceptance } = wallet.acceptOffer(offer, { key, keys: [key], unspent, ...here });
  return {
    words: wallet.isMnemonic(wallet.generateMnemonic(24)),
    addresses: [null, 0 as const, 99_999 as const].map((version) => wallet.addressOf(other.publicKey, version)),
    secret: wallet.exportSecretKey(wallet.keyPairOf(wallet.exportSecretKey(other))),
    payment: [payment.hash, Array.from(wallet.encodeTransaction(payment.transaction))],
    fault: wallet.transactionFault(payment.transaction, unspent),
    signature,
    accepted: acceptance.from,
  };
}
