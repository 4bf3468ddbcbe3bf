import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { addressOf } from '../../src/chain/address.js';
import { coinbaseTransaction } from '../../src/chain/builders.js';
import { transactionHash } from '../../src/chain/hash.js';
import { outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import type { AddressVersion, OutPoint, TxOut } from '../../src/chain/types.js';
import { encodePkcs8, keyPairFromSeed } from '../../src/crypto/ed25519.js';
import type { Kv } from '../../src/db/kv.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { isTesseraError, TesseraError } from '../../src/lib/errors.js';
import type { OwnTransaction } from '../../src/wallet/payments/outgoing.js';
import type { KeyPairRecord, OwnPayment } from '../../src/wallet/service.js';
import type { Wallet } from '../../src/wallet/wallet.js';
import { withWrite } from '../support/kv.js';
import { encodeSecretKey64 } from '../support/secret-key-64.js';
import { transactionFault } from '../support/validate.js';
import {
  block,
  fund,
  NOBODY,
  newWallet,
  nextBlock,
  type OpenWallet,
  openWallet,
  paymentFromOutside,
  refreshOnce,
  removeFolders,
  tokens,
} from '../support/wallet-fixtures.js';

let open: OpenWallet;
let wallet: Wallet;
let reopened: OpenWallet | undefined;

beforeEach(async () => {
  open = await newWallet();
  wallet = open.wallet;
});
afterEach(async () => {
  await (reopened ?? open).close();
  reopened = undefined;
});
afterAll(removeFolders);

async function reopen(): Promise<Wallet> {
  await (reopened ?? open).close();
  reopened = await openWallet(open.folder);
  return reopened.wallet;
}

async function mine(made: readonly OwnTransaction[], to: Wallet = wallet): Promise<void> {
  const { full, hash } = nextBlock(
    to,
    made.map(({ transaction }) => transaction),
  );
  await to.chain.apply({ full, hash });
}

const pay = (amount: bigint, address = NOBODY) => wallet.payments.pay({ address, amount, locktime: 0n });
const outpointsOf = async (options: { page?: number; spent?: boolean } = {}) =>
  [...(await wallet.info(options)).addresses.values()].flat().map(({ outPoint }) => outPointKey(outPoint));

describe('payments (decision V14)', () => {
  it('pays, gives change to a fresh address, and settles with the block', async () => {
    await fund(wallet, [100n]);
    const before = [...wallet.keys.addresses.keys()];
    const { hash, transaction } = await pay(30n);
    expect(transaction.outputs.map(({ value }) => value.amount)).toEqual([30n, 70n]);
    const change = transaction.outputs[1]?.scriptPublicKey ?? '';
    expect(before).not.toContain(change);
    expect(wallet.keys.owns(change)).toBe(true);
    expect(wallet.coins.totals()).toEqual({ running: 70n, available: 70n, locked: 0n, unconfirmed: 70n });
    await mine([{ ...(await wallet.outgoing.latest())[0] } as OwnTransaction]);
    expect(wallet.coins.totals()).toEqual({ running: 70n, available: 70n, locked: 0n, unconfirmed: 0n });
    expect((await wallet.outgoing.latest()).map(({ hash: h, state }) => [h, state])).toEqual([[hash, 'confirmed']]);
  });

  it('signs transactions that the rules of the chain accept', async () => {
    await fund(wallet, [40n, 50n, 60n]);
    const utxos = new Map<string, TxOut>();
    for (const [address, list] of (await wallet.info({})).addresses) {
      for (const { outPoint, value } of list) {
        utxos.set(outPointKey(outPoint), { value, locktime: 0n, scriptPublicKey: address });
      }
    }
    const { transaction } = await pay(145n);
    const verdict = transactionFault(transaction, 1n, (outPoint: OutPoint) => utxos.get(outPointKey(outPoint)));
    expect(verdict).toBeNull();
  });

  it.each<AddressVersion>([null, 0, 99999])('spends coins of address version %s with that version', async (version) => {
    const pair = keyPairFromSeed(new Uint8Array(32).fill(9));
    const address = addressOf(pair.publicKey, version);
    const record = { publicKey: pair.publicKey, secretKey: pair.seed, addressVersion: version };
    await wallet.importKeyPairs(new Map([[address, record]])).catch(() => undefined);
    const funding = paymentFromOutside([tokens(address, 10n)]);
    const { full, hash } = block(0, [funding]);
    await wallet.chain.apply({ full, hash });
    const { transaction } = await pay(10n);
    expect(transactionFault(transaction, 1n, () => tokens(address, 10n))).toBeNull();
  });

  it('makes no output below the least amount of its network, and says how to pay all the same (decision B18)', async () => {
    const other = await newWallet({ minOutputAmount: 10n });
    onTestFinished(() => other.close());
    await fund(other.wallet, [100n]);
    const order = (amount: bigint) => other.wallet.payments.pay({ address: NOBODY, amount, locktime: 0n });
    await expect(order(9n)).rejects.toMatchObject({ code: 'payment_refused' });
    await expect(order(91n)).rejects.toMatchObject({
      code: 'insufficient_funds',
      message: expect.stringContaining('pay 9 more, or less'),
    });
    await expect(order(90n)).resolves.toMatchObject({ state: 'queued' });
  });

  it('refuses with the shortfall', async () => {
    await fund(wallet, [100n]);
    const locked = nextBlock(wallet, [], coinbaseTransaction(1n, 50n, await wallet.newAddress()));
    await wallet.chain.apply(locked);
    await expect(pay(120n)).rejects.toMatchObject({
      code: 'insufficient_funds',
      message: 'the payment needs 120 raw units: available 100, locked 50, short of 20',
    });
    expect(wallet.coins.totals().available).toBe(100n);
  });

  it.each([
    [0n, NOBODY, 0n, /at least 1/],
    [2n ** 63n, NOBODY, 0n, /at most 9223372036854775807/],
    [-1n, NOBODY, 0n, /at least 1/],
    [1n, 'abc', 0n, /is not an address: .* \(it has 3 bytes\)/],
    [1n, 'z'.repeat(64), 0n, /is not an address/],
    [1n, 'A'.repeat(64), 0n, /is not an address/],
    [1n, 'é'.repeat(32), 0n, /is not an address/],
    [1n, `${'0'.repeat(63)}\ud800`, 0n, /is not an address/],
    [1n, NOBODY, 2n ** 64n, /locktime/],
  ])('refuses %s to %s with locktime %s', async (amount, address, locktime, message) => {
    await fund(wallet, [100n]);
    const refused = wallet.payments.pay({ address, amount, locktime });
    await expect(refused).rejects.toMatchObject({ code: 'payment_refused' });
    await expect(refused).rejects.toThrow(message);
    expect(await wallet.outgoing.latest()).toEqual([]);
    expect(wallet.coins.totals().available).toBe(100n);
  });

  it('uses no outpoint twice in 200 parallel payments and conserves the sum', async () => {
    await fund(
      wallet,
      Array.from({ length: 150 }, (_, i) => BigInt(10 + (i % 7))),
    );
    const total = wallet.coins.totals().running;
    const results = await Promise.allSettled(Array.from({ length: 200 }, () => pay(11n)));
    const made = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    for (const result of results) {
      if (result.status === 'rejected') expect(isTesseraError(result.reason, 'insufficient_funds')).toBe(true);
    }
    expect(made.length).toBeGreaterThan(50);
    const spent = made.flatMap(({ transaction }) => spentOutPoints(transaction).map(outPointKey));
    expect(new Set(spent).size).toBe(spent.length);
    expect(wallet.coins.totals().running).toBe(total - BigInt(made.length) * 11n);
    expect(wallet.outgoing.inFlight()).toHaveLength(made.length);
  });

  it('turns payments away when a thousand are being made (rule P6)', async () => {
    const results = await Promise.allSettled(Array.from({ length: 1_001 }, () => pay(1n)));
    const codes = results.map((result) =>
      result.status === 'rejected' ? (result.reason as TesseraError).code : 'paid',
    );
    expect(codes.slice(0, 1_000).every((code) => code === 'insufficient_funds')).toBe(true);
    expect(codes[1_000]).toBe('overloaded');
    await fund(wallet, [1n]);
    await pay(1n);
  });

  it('keeps acknowledged payments over a restart, with the same bytes', async () => {
    await fund(wallet, [100n, 200n]);
    const made = [await pay(10n), await pay(20n)];
    const totals = wallet.coins.totals();
    const again = await reopen();
    expect(again.outgoing.inFlight()).toEqual(made);
    expect(again.coins.totals()).toEqual(totals);
    expect([again.outgoing.takeQueued()?.hash, again.outgoing.takeQueued()?.hash, again.outgoing.takeQueued()]).toEqual(
      [made[0]?.hash, made[1]?.hash, undefined],
    );
  });

  it('gives the inputs of a rejected payment back and keeps the reason (decision V13)', async () => {
    await fund(wallet, [100n]);
    const settled: OwnTransaction[] = [];
    wallet.settlement.settled.on((transaction) => settled.push(transaction));
    const { hash } = await pay(30n);
    await wallet.settlement.markRejected(hash, 'double_spend: elsewhere');
    expect(wallet.coins.totals()).toEqual({ running: 100n, available: 100n, locked: 0n, unconfirmed: 0n });
    expect(settled).toMatchObject([{ hash, state: 'rejected', reason: 'double_spend: elsewhere' }]);
    const again = await reopen();
    expect(await again.outgoing.latest()).toMatchObject([
      { hash, state: 'rejected', reason: 'double_spend: elsewhere' },
    ]);
    expect(again.coins.totals().available).toBe(100n);
  });

  it('pays items and gives change of the same kind', async () => {
    const made = await wallet.payments.createItem({ spec: 'Create', amount: 5n, metadata: 'm' });
    await mine([made]);
    const { transaction } = await wallet.payments.pay({
      address: NOBODY,
      amount: 2n,
      genesisHash: made.hash,
      locktime: 0n,
    });
    const item = (amount: bigint) => ({ kind: 'item', amount, genesisHash: made.hash, metadata: null });
    expect(transaction.outputs.map(({ value }) => value)).toEqual([item(2n), item(3n)]);
    const created = made.transaction.outputs[0] as TxOut;
    const value = { ...created.value, genesisHash: made.hash };
    expect(transactionFault(transaction, 1n, () => ({ ...created, value }) as TxOut)).toBeNull();
  });

  it('sends nothing that is not durable yet (rule P1)', async () => {
    await open.close();
    const gate = createDeferred<void>();
    const reached = createDeferred<void>();
    let isHeld = false;
    const slow = (kv: Kv): Kv =>
      withWrite(kv, async (batch, options) => {
        if (isHeld) {
          reached.resolve();
          await gate.promise;
        }
        await kv.write(batch, options);
      });
    reopened = await newWallet({ wrap: slow });
    await fund(reopened.wallet, [100n]);
    isHeld = true;
    const paid = reopened.wallet.payments.pay({ address: NOBODY, amount: 60n, locktime: 0n });
    await reached.promise;
    expect(reopened.wallet.outgoing.takeQueued()).toBeUndefined();
    gate.resolve();
    const { hash } = await paid;
    expect(reopened.wallet.outgoing.takeQueued()?.hash).toBe(hash);
  });

  it('has no address that it could not write, not later either', async () => {
    await open.close();
    let broken = false;
    const wrap = (kv: Kv): Kv =>
      withWrite(kv, (batch, options) => (broken ? Promise.reject(new Error('disk full')) : kv.write(batch, options)));
    const pair = keyPairFromSeed(Buffer.alloc(32, 5));
    const secret = { publicKey: pair.publicKey, secretKey: pair.seed, addressVersion: null };
    const elsewhere = new Map([[addressOf(pair.publicKey), secret]]);
    reopened = await openWallet(open.folder, { wrap });
    const before = [...reopened.wallet.keys.addresses.keys()];
    broken = true;
    await expect(reopened.wallet.newAddress()).rejects.toMatchObject({ code: 'wallet_write_failed' });
    await expect(reopened.wallet.importKeyPairs(elsewhere)).rejects.toMatchObject({ code: 'wallet_write_failed' });
    expect([...reopened.wallet.keys.addresses.keys()]).toEqual(before);
    broken = false;
    const after = await reopened.wallet.newAddress();
    expect([...reopened.wallet.keys.addresses.keys()]).toEqual([...before, after]);
    await reopened.close();
    reopened = await openWallet(open.folder);
    expect([...reopened.wallet.keys.addresses.keys()].sort()).toEqual([...before, after].sort());
  });

  it('takes nothing when the store cannot be written', async () => {
    await open.close();
    let broken = false;
    const wrap = (kv: Kv): Kv =>
      withWrite(kv, (batch, options) => (broken ? Promise.reject(new Error('disk full')) : kv.write(batch, options)));
    reopened = await openWallet(open.folder, { wrap });
    const { wallet: fragile } = reopened;
    await fund(fragile, [100n]);
    broken = true;
    await expect(fragile.payments.pay({ address: NOBODY, amount: 1n, locktime: 0n })).rejects.toMatchObject({
      code: 'wallet_write_failed',
    });
    expect(fragile.outgoing.takeQueued()).toBeUndefined();
    expect(fragile.coins.totals().available).toBe(100n);
    broken = false;
    await fragile.payments.pay({ address: NOBODY, amount: 1n, locktime: 0n });
    expect((await fragile.outgoing.latest()).length).toBe(1);
  });
});

describe('own payments', () => {
  it('are listed with state, reason and what stays in the wallet, oldest first, also over a restart', async () => {
    await fund(wallet, [100n, 60n, 7n]);
    const [first, second] = [await pay(90n), await pay(50n)];
    const third = await pay(7n);
    await wallet.settlement.markSent(second.hash);
    await mine([first]);
    await wallet.settlement.markRejected(third.hash, 'double_spend: gone');
    const expected = [
      [first.hash, 'confirmed', ''],
      [second.hash, 'sent', ''],
      [third.hash, 'rejected', 'double_spend: gone'],
    ];
    const states = (list: readonly OwnPayment[]) => list.map(({ hash, state, reason }) => [hash, state, reason]);
    expect(states(await wallet.history.payments())).toEqual(expected);
    expect(states(await (await reopen()).history.payments())).toEqual(expected);
    const payments = await (reopened ?? open).wallet.history.payments();
    expect(payments[0]?.outputs.map(({ own, value }) => [own, value.amount])).toEqual([
      [false, 90n],
      [true, 10n],
    ]);
    expect(states(await (reopened ?? open).wallet.history.payments(1))).toEqual(expected.slice(2));
  });
});

describe('items', () => {
  it.each([
    ['Create' as const, undefined],
    ['Default' as const, 'default_genesis_hash'],
  ])('creates with %s; the item is in wallet and totals under its genesis hash', async (spec, genesisHash) => {
    const made = await wallet.payments.createItem({ spec, amount: 7n, metadata: 'x'.repeat(800) });
    await mine([made]);
    const info = await wallet.info({});
    expect(info.items).toEqual(new Map([[genesisHash ?? made.hash, 7n]]));
    expect([...info.addresses.values()].flat()[0]?.value).toMatchObject({ genesisHash: genesisHash ?? made.hash });
  });

  it.each([
    [0n, null],
    [2n ** 63n, null],
    [1n, 'x'.repeat(801)],
  ])('refuses amount %s with metadata %s', async (amount, metadata) => {
    const refused = wallet.payments.createItem({ spec: 'Create', amount, metadata });
    await expect(refused).rejects.toMatchObject({ code: 'payment_refused' });
  });
});

describe('coins', () => {
  it('shows pages of 25, by arrival then outpoint; one past the end is empty (decision V12)', async () => {
    await fund(wallet, new Array<bigint>(30).fill(1n));
    await fund(wallet, new Array<bigint>(30).fill(2n));
    const pages = await Promise.all([0, 1, 2, 3].map((page) => outpointsOf({ page })));
    expect(pages.map((page) => page.length)).toEqual([25, 25, 10, 0]);
    expect(pages.flat()).toEqual(await outpointsOf());
    const values = [...(await wallet.info({ page: 0 })).addresses.values()].flat().map(({ value }) => value.amount);
    expect(new Set(values)).toEqual(new Set([1n]));
  });

  it('shows the spent outpoints, and spent wins over page (decision V12)', async () => {
    await fund(wallet, [10n, 20n]);
    const made = await pay(10n);
    const input = spentOutPoints(made.transaction).map(outPointKey);
    expect(await outpointsOf({ spent: true, page: 5 })).toEqual(input);
    await mine([made]);
    expect(await outpointsOf({ spent: true })).toEqual(input);
  });

  it('locks a coinbase for a hundred blocks', async () => {
    const { full, hash } = block(0, [], { mining: coinbaseTransaction(0n, 80n, await wallet.chain.rewardAddress()) });
    await wallet.chain.apply({ full, hash });
    for (let bNum = 1; bNum < 100; bNum++) await mine([]);
    expect(wallet.coins.totals()).toMatchObject({ running: 80n, available: 0n, locked: 80n });
    wallet = await reopen();
    expect(wallet.coins.totals()).toMatchObject({ running: 80n, available: 0n, locked: 80n });
    await mine([]);
    expect(wallet.coins.totals()).toMatchObject({ running: 80n, available: 80n, locked: 0n });
  });

  it('counts a fee output paid to an own address after the outputs (decision B5)', async () => {
    const address = await wallet.newAddress();
    const funding = { ...paymentFromOutside([tokens(address, 5n)]), fees: [tokens(address, 6n)] };
    const { full, hash } = block(0, [funding]);
    await wallet.chain.apply({ full, hash });
    expect(await outpointsOf()).toEqual([`0-${transactionHash(funding)}`, `1-${transactionHash(funding)}`]);
    expect(wallet.coins.totals().running).toBe(11n);
  });

  it('settles a payment of a block that a refresh was ahead of', async () => {
    await fund(wallet, [10n]);
    const { hash, transaction } = await pay(4n);
    const next = block(1, [transaction]);
    const change = transaction.outputs[1] as TxOut;
    await refreshOnce(wallet, [...wallet.keys.addresses.keys()], [[{ tHash: hash, n: 1 }, change]], 1);
    await wallet.chain.advanceTo({ height: 1, hash: null });
    expect(await wallet.chain.apply(next)).toBe('known');
    expect(await wallet.outgoing.latest()).toMatchObject([{ hash, state: 'confirmed' }]);
    expect(wallet.coins.totals()).toMatchObject({ running: 6n, available: 6n });
  });

  it('takes in a block once, and none after a gap', async () => {
    const funding = paymentFromOutside([tokens(await wallet.newAddress(), 5n)]);
    const { full, hash } = block(0, [funding]);
    expect(await wallet.chain.apply({ full, hash })).toBe('applied');
    expect(await wallet.chain.apply({ full, hash })).toBe('known');
    const later = block(2, [paymentFromOutside([tokens(await wallet.newAddress(), 9n)])]);
    expect(await wallet.chain.apply(later)).toBe('gap');
    expect(wallet.coins.totals().running).toBe(5n);
  });

  it('does not believe a block whose transaction is not the one it lists', async () => {
    const address = await wallet.newAddress();
    const { full, hash } = block(1, [paymentFromOutside([tokens(NOBODY, 5n)])]);
    const forged = { ...full, transactions: [paymentFromOutside([tokens(address, 5n)])] };
    await expect(wallet.chain.apply({ full: forged, hash })).rejects.toMatchObject({ code: 'protocol_violation' });
    await expect(wallet.chain.apply({ full, hash: 'b00' })).rejects.toMatchObject({ code: 'protocol_violation' });
    expect(wallet.coins.totals().running).toBe(0n);
  });

  it('refreshes only the addresses named (decision V13)', async () => {
    await fund(wallet, [10n, 20n]);
    const [first = '', second = ''] = [...wallet.keys.addresses.keys()];
    const utxos = [
      [{ tHash: 'new', n: 0 }, tokens(first, 7n)],
      [{ tHash: 'alien', n: 0 }, tokens(second, 99n)],
    ] as const;
    expect(await refreshOnce(wallet, [first], utxos, 0)).toBe(true);
    expect(wallet.coins.totals().running).toBe(27n);
    expect(await refreshOnce(wallet, [first], utxos, 0)).toBe(true);
    expect(wallet.coins.totals().running).toBe(27n);
  });

  it('keeps own unconfirmed spends spent in a refresh (decision V13)', async () => {
    await fund(wallet, [10n]);
    const [address = ''] = [...wallet.keys.addresses.keys()];
    const { transaction } = await pay(4n);
    const [outPoint] = spentOutPoints(transaction);
    if (outPoint === undefined) throw new Error('no input');
    await refreshOnce(wallet, [...wallet.keys.addresses.keys()], [[outPoint, tokens(address, 10n)]], 0);
    expect(wallet.coins.totals()).toMatchObject({ running: 6n, available: 6n });
    await expect(pay(7n)).rejects.toMatchObject({ code: 'insufficient_funds' });
  });

  it('gives inputs back after a rejection even when a refresh has missed them, and names them to be asked for', async () => {
    const address = await wallet.newAddress();
    const outPoint = { tHash: 'given', n: 0 };
    await refreshOnce(wallet, [address], [[outPoint, tokens(address, 100n)]], 0);
    const made = await pay(100n);
    await refreshOnce(wallet, [address], [], 0);
    expect(await wallet.settlement.markRejected(made.hash, 'a rule')).toEqual([address]);
    expect(wallet.coins.totals().available).toBe(100n);
  });

  it('does not take an answer that is older than its last block', async () => {
    await fund(wallet, [10n]);
    await fund(wallet, [10n]);
    expect(await refreshOnce(wallet, [...wallet.keys.addresses.keys()], [], 0)).toBe(false);
    expect(wallet.coins.totals().running).toBe(20n);
  });
});

describe('keys (decision V11)', () => {
  const pair = keyPairFromSeed(new Uint8Array(32).fill(3));
  const record = (secretKey: Uint8Array, addressVersion: AddressVersion = null): KeyPairRecord => ({
    publicKey: pair.publicKey,
    secretKey,
    addressVersion,
  });
  const address = addressOf(pair.publicKey);
  const other = keyPairFromSeed(new Uint8Array(32).fill(5));

  it('are durable when they are made or imported, also if the process ends at once (rule P1)', async () => {
    const killed = await newWallet();
    killed.wallet.setRefresher(async () => undefined);
    await killed.wallet.importKeyPairs(new Map([[address, record(pair.seed)]]));
    const made = await killed.wallet.newAddress();
    // The store is closed without the wallet: what was not written is lost.
    await killed.kv.close();
    const again = await openWallet(killed.folder);
    expect(new Set([...again.wallet.keys.addresses.keys()])).toEqual(new Set([made, address]));
    again.wallet.setRefresher(async () => undefined);
    await again.wallet.importKeyPairs(
      new Map([[addressOf(other.publicKey), { ...record(other.seed), publicKey: other.publicKey }]]),
    );
    await again.kv.close();
    const last = await openWallet(killed.folder);
    expect(last.wallet.keys.owns(addressOf(other.publicKey))).toBe(true);
    await last.close();
  });

  it.each([
    ['PKCS#8', encodePkcs8(pair)],
    ['a 32-byte seed', pair.seed],
    ['a 64-byte secret', encodeSecretKey64(pair)],
  ])('imports %s and exports PKCS#8', async (_, secretKey) => {
    const asked: string[][] = [];
    wallet.setRefresher(async (addresses) => void asked.push([...addresses]));
    expect(await wallet.importKeyPairs(new Map([[address, record(secretKey)]]))).toEqual([address]);
    expect(asked).toEqual([[address]]);
    const again = await reopen();
    expect((await again.exportKeyPairs()).get(address)).toEqual(record(encodePkcs8(pair)));
  });

  it.each([
    ['the address of another version', address, record(pair.seed, 0)],
    ['the public key of another', address, { ...record(pair.seed), publicKey: new Uint8Array(32) }],
    [
      'the public key of another with its address',
      addressOf(other.publicKey),
      { ...record(pair.seed), publicKey: other.publicKey },
    ],
    ['a secret of 33 bytes', address, record(new Uint8Array(33))],
    ['an address of another key', NOBODY, record(pair.seed)],
  ])('refuses %s, and all the others with it', async (_, wrongAddress, wrong) => {
    const good = keyPairFromSeed(new Uint8Array(32).fill(4));
    const goodAddress = addressOf(good.publicKey);
    const goodRecord = { publicKey: good.publicKey, secretKey: good.seed, addressVersion: null };
    const pairs = new Map<string, KeyPairRecord>([
      [goodAddress, goodRecord],
      [wrongAddress, wrong],
    ]);
    await expect(wallet.importKeyPairs(pairs)).rejects.toMatchObject({ code: 'malformed_key_pair' });
    expect([...wallet.keys.addresses.keys()]).toEqual([]);
  });

  it('keeps the keys when the refresh cannot be requested', async () => {
    wallet.setRefresher(() => Promise.reject(new TesseraError('mempool_unreachable', 'down')));
    const imported = wallet.importKeyPairs(new Map([[address, record(pair.seed)]]));
    await expect(imported).rejects.toMatchObject({ code: 'refresh_failed' });
    expect([...(await reopen()).keys.addresses.keys()]).toEqual([address]);
  });

  it('asks for a refresh of what is named, and of nothing that is not its own', async () => {
    const asked: (readonly string[])[] = [];
    wallet.setRefresher(async (addresses) => void asked.push(addresses));
    const own = await wallet.newAddress();
    await expect(wallet.refresh({ addresses: [] })).rejects.toMatchObject({ code: 'no_addresses' });
    await expect(wallet.refresh({ addresses: [NOBODY] })).rejects.toMatchObject({ code: 'no_addresses' });
    await wallet.refresh({ addresses: [own, NOBODY, own] });
    await wallet.refresh({ all: true });
    expect(asked).toEqual([[own], wallet.keys.watched()]);
    expect(wallet.keys.watched()).toContain(own);
  });

  it('keeps seeds when a refresh comes before block 0, in which they will be (decision V13)', async () => {
    const key = keyPairFromSeed(new Uint8Array(32).fill(3));
    const seed = {
      tHash: '000000',
      n: 0,
      secretKey: key.seed,
      publicKey: key.publicKey,
      amount: 9n,
      addressVersion: null,
    };
    const { wallet } = await newWallet({ seeds: [seed] });
    expect(await refreshOnce(wallet, [...wallet.keys.addresses.keys()], [], -1)).toBe(true);
    expect((await wallet.info({})).available).toBe(9n);
    expect(await refreshOnce(wallet, [...wallet.keys.addresses.keys()], [], 0)).toBe(true);
    expect((await wallet.info({})).available).toBe(0n);
  });

  it('loads seeds once (docs/chain.md#genesis)', async () => {
    const seed = {
      tHash: '000000',
      n: 3,
      secretKey: pair.seed,
      publicKey: pair.publicKey,
      amount: 12n,
      addressVersion: null,
    };
    await open.close();
    const fresh = await newWallet({ seeds: [seed] });
    expect(fresh.wallet.coins.totals().available).toBe(12n);
    await fresh.wallet.payments.pay({ address: NOBODY, amount: 12n, locktime: 0n });
    await fresh.close();
    reopened = await openWallet(fresh.folder, { seeds: [seed] });
    expect(reopened.wallet.coins.totals().running).toBe(0n);
  });
});

describe('rewards', () => {
  it('keeps its address until a reward came to it, also over a restart', async () => {
    const address = await wallet.chain.rewardAddress();
    expect(await wallet.chain.rewardAddress()).toBe(address);
    wallet = await reopen();
    expect(await wallet.chain.rewardAddress()).toBe(address);
    const { full, hash } = block(0, [], { mining: coinbaseTransaction(0n, 80n, address) });
    await wallet.chain.apply({ full, hash });
    expect(await wallet.chain.rewardAddress()).not.toBe(address);
  });

  it('joins a thousand rewards in two transactions of at most 500 inputs', async () => {
    await open.close();
    reopened = await newWallet({ aggregateAbove: 5 });
    ({ wallet } = reopened);
    const merges: OwnTransaction[] = [];
    wallet.settlement.queued.on((made) => merges.push(made));
    await fund(wallet, new Array<bigint>(1_000).fill(8n));
    while (merges.length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(merges.map(({ transaction }) => transaction.inputs.length)).toEqual([500, 498]);
    expect(wallet.coins.totals()).toMatchObject({ running: 8_000n, available: 8_000n, unconfirmed: 7_984n });
    await mine(merges);
    expect(wallet.coins.totals()).toMatchObject({ running: 8_000n, available: 8_000n });
    expect(await outpointsOf()).toHaveLength(4);
  });
});
