/** A copy of a wallet is good for ever: what is paid, changed or mined after it was made is found again. */

import { cp, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { transactionHash } from '../../src/chain/hash.js';
import { createdOutPoints } from '../../src/chain/transaction.js';
import type { Transaction, TxOut, Utxo } from '../../src/chain/types.js';
import type { Kv } from '../../src/db/kv.js';
import { DerivedKeys } from '../../src/wallet/keys/derived-keys.js';
import { keystoreCopies } from '../../src/wallet/keys/keystore-copies.js';
import { parseWords } from '../../src/wallet/keys/words.js';
import type { Wallet } from '../../src/wallet/wallet.js';
import { withWrite } from '../support/kv.js';
import {
  fund,
  NOBODY,
  newWallet,
  nextBlock,
  openWallet,
  paymentFromOutside,
  refreshOnce,
  removeFolders,
  temporaryFolder,
  tokens,
} from '../support/wallet-fixtures.js';

const WALLET_1 = fileURLToPath(new URL('../fixtures/wallet-1', import.meta.url));
const WORDS = parseWords(`${'abandon '.repeat(11)}about`);

afterAll(removeFolders);

/** What the chain answers to a wallet that refreshes everything, until it asks for nothing new. */
async function refreshAll(wallet: Wallet, unspent: readonly Utxo[], height: number): Promise<void> {
  let asked: readonly string[] = [];
  wallet.setRefresher(async (addresses) => {
    asked = addresses;
  });
  for (let before = -1; asked.length !== before; ) {
    before = asked.length;
    await wallet.refresh({ all: true });
    await refreshOnce(
      wallet,
      asked,
      unspent.filter(([, { scriptPublicKey }]) => asked.includes(scriptPublicKey ?? '')),
      height,
    );
  }
  await wallet.chain.advanceTo({ height, hash: null });
}

const outputsOf = (transaction: Transaction): Utxo[] =>
  createdOutPoints(transaction, transactionHash(transaction)).map(({ outPoint, txOut }) => [outPoint, txOut]);

/** Pays in a block of its own. */
async function pay(wallet: Wallet, amount: bigint): Promise<Transaction> {
  const { hash } = await wallet.payments.pay({ address: NOBODY, amount, locktime: 0n });
  const [[, transaction] = []] = (await wallet.history.outgoing()).filter(([known]) => known === hash);
  if (transaction === undefined) throw new Error('the payment is gone');
  await wallet.chain.apply(nextBlock(wallet, [transaction]));
  return transaction;
}

describe('a copy of the folder', () => {
  it('finds the change of a payment that was made after it', async () => {
    const first = await newWallet();
    await fund(first.wallet, [10_000_000n]);
    await first.close();
    const copy = await temporaryFolder();
    await cp(first.folder, copy, { recursive: true });

    const { wallet, close } = await openWallet(first.folder);
    const payment = await pay(wallet, 12_500n);
    const { height } = wallet.chain;
    const { available } = wallet.coins.totals();
    expect(available).toBe(9_987_500n);
    await close();

    const restored = await openWallet(copy);
    await refreshAll(restored.wallet, outputsOf(payment), height);
    expect(restored.wallet.coins.totals().available).toBe(available);
    await restored.close();
  });
});

describe('the addresses of a wallet', () => {
  it('follow from its words, each use in its own account', async () => {
    const [one, other] = [await newWallet({ words: WORDS }), await newWallet({ words: WORDS })];
    const keys = await DerivedKeys.of(WORDS);
    const receive = [0, 1].map((index) => keys.address({ account: 'receive', index }));
    for (const { wallet } of [one, other]) {
      expect([await wallet.newAddress(), await wallet.newAddress()]).toEqual(receive);
      expect(await wallet.chain.rewardAddress()).toBe(keys.address({ account: 'rewards', index: 0 }));
      await wallet.payments.createItem({ spec: 'Create', amount: 5n, metadata: null });
      expect([...wallet.keys.addresses.keys()]).toContain(keys.address({ account: 'items', index: 0 }));
    }
    await fund(one.wallet, [50n]);
    const { outputs } = await pay(one.wallet, 20n);
    expect(outputs[1]?.scriptPublicKey).toBe(keys.address({ account: 'change', index: 0 }));
    await one.close();
    await other.close();
  });

  it('go on after a restart where they were, and after a write that failed', async () => {
    let isBroken = false;
    const wrap = (kv: Kv): Kv =>
      withWrite(kv, (batch, options) => (isBroken ? Promise.reject(new Error('EIO')) : kv.write(batch, options)));
    const first = await newWallet({ words: WORDS, wrap });
    const keys = await DerivedKeys.of(WORDS);
    await first.wallet.newAddress();
    isBroken = true;
    for (let i = 0; i < 30; i++) {
      await expect(first.wallet.newAddress()).rejects.toMatchObject({ code: 'wallet_write_failed' });
    }
    isBroken = false;
    expect(await first.wallet.newAddress()).toBe(keys.address({ account: 'receive', index: 1 }));
    await first.close();
    const second = await openWallet(first.folder);
    expect(await second.wallet.newAddress()).toBe(keys.address({ account: 'receive', index: 2 }));
    await second.close();
  });

  it('that were imported are told from those that the words cover', async () => {
    const [one, other] = [await newWallet(), await newWallet()];
    const own = await one.wallet.newAddress();
    const foreign = await other.wallet.newAddress();
    await one.wallet.importKeyPairs(await other.wallet.exportKeyPairs()).catch(() => undefined);
    await one.wallet.importKeyPairs(await one.wallet.exportKeyPairs()).catch(() => undefined);
    const isCovered = (wallet: Wallet): readonly boolean[] =>
      [own, foreign].map((address) => wallet.keys.isCovered(address));
    expect(isCovered(one.wallet)).toEqual([true, false]);
    await one.close();
    const again = await openWallet(one.folder);
    expect([...again.wallet.keys.addresses.keys()].sort()).toEqual([own, foreign].sort());
    expect(isCovered(again.wallet)).toEqual([true, false]);
    await other.close();
    await again.close();
  });
});

describe('a wallet of an earlier version', () => {
  it('gets words when it is opened; its keys stay, and a copy of its keystore', async () => {
    const folder = await temporaryFolder();
    await cp(WALLET_1, folder, { recursive: true });
    const before = await readFile(join(folder, 'keystore.json'));
    const { passphrase, addresses } = JSON.parse(await readFile(join(folder, 'expected.json'), 'utf8'));
    const first = await openWallet(folder, { passphrase });
    const fresh = await first.wallet.newAddress();
    await first.close();
    const copies = (await readdir(folder)).filter((name) => name.startsWith('keystore-format-1-'));
    expect(copies).toHaveLength(1);
    expect(await readFile(join(folder, copies[0] ?? ''))).toEqual(before);
    expect((await stat(join(folder, copies[0] ?? ''))).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(join(folder, 'keystore.json'), 'utf8')).format).toBe(2);

    const second = await openWallet(folder, { passphrase });
    expect([...second.wallet.keys.addresses.keys()].sort()).toEqual([...addresses, fresh].sort());
    expect(second.wallet.keys.isCovered(fresh)).toBe(true);
    expect(addresses.some((address: string) => second.wallet.keys.isCovered(address))).toBe(false);
    await second.close();
    expect((await readdir(folder)).filter((name) => name.startsWith('keystore-format-1-'))).toEqual(copies);
  });

  it('gets others when its old keystore is put back: what the first words gave is not covered any more', async () => {
    const folder = await temporaryFolder();
    await cp(WALLET_1, folder, { recursive: true });
    const { passphrase } = JSON.parse(await readFile(join(folder, 'expected.json'), 'utf8'));
    const first = await openWallet(folder, { passphrase });
    const fresh = await first.wallet.newAddress();
    await first.close();
    await cp(join(WALLET_1, 'keystore.json'), join(folder, 'keystore.json'));
    const second = await openWallet(folder, { passphrase });
    expect(second.wallet.keys.owns(fresh)).toBe(true);
    expect(second.wallet.keys.isCovered(fresh)).toBe(false);
    await second.close();
  });
});

describe('a change of passphrase', () => {
  it('leaves no copy beside the keystore that the old one opens, and copies of others alone', async () => {
    const folder = await temporaryFolder();
    await cp(WALLET_1, folder, { recursive: true });
    const { passphrase } = JSON.parse(await readFile(join(folder, 'expected.json'), 'utf8'));
    const { wallet, close } = await openWallet(folder, { passphrase });
    const other = await newWallet({ passphrase });
    await other.close();
    await cp(join(other.folder, 'keystore.json'), join(folder, 'keystore-format-1-other.json'));
    await mkdir(join(folder, 'before-format-2'));
    await cp(join(WALLET_1, 'keystore.json'), join(folder, 'before-format-2', 'keystore.json'));
    await expect(wallet.keystore.changePassphrase('wrong', 'the new one')).rejects.toMatchObject({
      code: 'wrong_passphrase',
    });
    expect(await keystoreCopies(join(folder, 'keystore.json'))).toHaveLength(3);
    await wallet.keystore.changePassphrase(passphrase, 'the new one');
    expect(await keystoreCopies(join(folder, 'keystore.json'))).toEqual([
      join(folder, 'before-format-2', 'keystore.json'),
      join(folder, 'keystore-format-1-other.json'),
    ]);
    await close();
  });
});

describe('words that are given for a wallet that is there', () => {
  it('open it when they are its own; others are refused, and nothing changes', async () => {
    const { folder, close } = await newWallet({ words: WORDS });
    await close();
    const before = await readFile(join(folder, 'keystore.json'));
    const others = parseWords(`${'zoo '.repeat(11)}wrong`);
    await expect(openWallet(folder, { words: others })).rejects.toMatchObject({ code: 'wallet_exists' });
    const withExtra = { ...WORDS, extraWord: 'more' };
    await expect(openWallet(folder, { words: withExtra })).rejects.toMatchObject({ code: 'wallet_exists' });
    expect(await readFile(join(folder, 'keystore.json'))).toEqual(before);
    await (await openWallet(folder, { words: WORDS })).close();
  });

  it('are not those of a wallet of an earlier version, which has none', async () => {
    const folder = await temporaryFolder();
    await cp(WALLET_1, folder, { recursive: true });
    const { passphrase } = JSON.parse(await readFile(join(folder, 'expected.json'), 'utf8'));
    const before = await readFile(join(folder, 'keystore.json'));
    await expect(openWallet(folder, { passphrase, words: WORDS })).rejects.toMatchObject({ code: 'wallet_exists' });
    expect(await readFile(join(folder, 'keystore.json'))).toEqual(before);
  });
});

describe('a sweep', () => {
  it('moves what the words do not cover, tokens and items, and nothing else', async () => {
    const [one, other] = [await newWallet({ maxInputs: 3 }), await newWallet()];
    const foreign: string[] = [];
    for (let i = 0; i < 4; i++) foreign.push(await other.wallet.newAddress());
    await one.wallet.importKeyPairs(await other.wallet.exportKeyPairs()).catch(() => undefined);
    const own = await one.wallet.newAddress();
    const item = { kind: 'item', amount: 9n, genesisHash: 'g of the item', metadata: null } as const;
    const outputs: TxOut[] = [...foreign.map((address, i) => tokens(address, BigInt(i + 1))), tokens(own, 100n)];
    outputs.push({ value: item, locktime: 0n, scriptPublicKey: foreign[0] ?? '' });
    await one.wallet.chain.apply(nextBlock(one.wallet, [paymentFromOutside(outputs)]));
    expect(one.wallet.coverage.uncovered()).toBe(10n);

    const made = await one.wallet.coverage.sweep();
    expect(made.map(({ kind, transaction }) => [kind, transaction.inputs.length])).toEqual([
      ['merge', 3],
      ['merge', 1],
      ['merge', 1],
    ]);
    const paid = made.flatMap(({ transaction }) => transaction.outputs);
    expect(paid.map(({ value }) => value.amount)).toEqual([9n, 1n, 9n]);
    expect(paid.every(({ scriptPublicKey: to }) => one.wallet.keys.isCovered(to ?? ''))).toBe(true);
    expect(one.wallet.coverage.uncovered()).toBe(0n);
    expect(await one.wallet.coverage.sweep()).toEqual([]);
    await one.wallet.chain.apply(
      nextBlock(
        one.wallet,
        made.map(({ transaction }) => transaction),
      ),
    );
    expect(one.wallet.coins.totals().available).toBe(110n);
    await one.close();
    await other.close();
  });

  it('gives up an address for rewards that the words do not cover', async () => {
    const folder = await temporaryFolder();
    await cp(WALLET_1, folder, { recursive: true });
    const { passphrase } = JSON.parse(await readFile(join(folder, 'expected.json'), 'utf8'));
    const { wallet, close } = await openWallet(folder, { passphrase });
    await wallet.coverage.sweep();
    // Nothing that a block has is left to sweep.
    expect(wallet.coins.totals()).toMatchObject({ available: 100n, unconfirmed: 100n });
    expect(wallet.keys.isCovered(await wallet.chain.rewardAddress())).toBe(true);
    await close();
  });
});
