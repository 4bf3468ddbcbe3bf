/**
 * What a mempool node that a producer vouches for, and that lies, can make a wallet believe about its outputs, when the
 * wallet reads blocks from storage nodes: nothing (decision record 0028).
 */

import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addressOf } from '../../src/chain/address.js';
import { chainName } from '../../src/chain/certificate.js';
import { outPointKey } from '../../src/chain/transaction.js';
import { generateKeyPair, keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { sha3Bytes } from '../../src/crypto/sha3.js';
import { toHex } from '../../src/lib/bytes.js';
import { systemRandom } from '../../src/lib/random.js';
import { Signer } from '../../src/mempool/blocks/signer.js';
import type { PeerNetwork } from '../../src/peers/network.js';
import { createFakeStorage, type FakeStorage } from '../support/fake-storage.js';
import { createTestNet, next, order, type TestNet, type TestUser, until } from '../support/user.js';
import { block, newWallet, paymentFromOutside, removeFolders, tokens } from '../support/wallet-fixtures.js';

const producer = keyPairFromSeed(sha3Bytes(Uint8Array.of(22)));
const CHAIN = chainName('test', 'of unproven outputs');
const SIGNED = {
  signer: new Signer(producer, CHAIN),
  producers: { chain: CHAIN, keys: [toHex(producer.publicKey)] },
};
const STORAGE = '127.0.0.1:12330';

let net: TestNet;
let storage: FakeStorage;
let storageNetwork: PeerNetwork;
let victim: TestUser;
let address: string;

beforeEach(async () => {
  net = await createTestNet(undefined, SIGNED);
  storageNetwork = net.stranger('storage', 12_330);
  storage = createFakeStorage(storageNetwork, net.mempool.blocks);
  await storageNetwork.start();
  victim = await net.user({ storages: [STORAGE] });
  await until(() => victim.user.inStep);
  address = await victim.wallet.newAddress();
  await mine(payIn(address, 100n));
});
afterEach(() => net.stop());
afterAll(removeFolders);

const payIn = (to: string, amount: bigint) => paymentFromOutside([tokens(to, amount)]);

async function mine(...transactions: ReturnType<typeof payIn>[]): Promise<void> {
  for (const transaction of transactions) net.mempool.admit(transaction);
  net.mempool.mine();
  await until(() => victim.wallet.chain.height === net.mempool.height);
}

async function movements() {
  return (await victim.wallet.history.movements({ limit: 100, newestFirst: false })).movements;
}

/** The balance, which is what the movements add up to once they are on disk. */
async function balance(): Promise<bigint> {
  const { running } = victim.wallet.coins.totals();
  await until(async () => (await movements()).reduce((sum, { net: moved }) => sum + moved, 0n) === running);
  return running;
}

/** Asks the liar; resolves with the reason for which it lost its link. */
async function refreshAndLeave(): Promise<string> {
  const left = next(victim.network.linkDown).then(({ reason }) => reason);
  await refreshed();
  // An output may be in the block that is being made: that has to come before it is none.
  for (;;) {
    net.mempool.mine();
    const reason = await Promise.race([
      left,
      new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 250)),
    ]);
    if (reason !== undefined) return reason;
  }
}

/** Asks, and waits until the answer is judged. */
async function refreshed(): Promise<void> {
  const before = victim.refreshes();
  await victim.wallet.refresh({ all: true });
  await until(() => victim.refreshes() > before);
}

const onlyCoin = () => {
  const [coin] = [...net.mempool.utxos.values()].filter(([, { scriptPublicKey }]) => scriptPublicKey === address);
  if (coin === undefined) throw new Error('the mempool node has it');
  return coin;
};

describe('a mempool node that lies about unspent outputs', () => {
  it('loses its link when it names some that are in no block, and they are neither counted nor spent', async () => {
    net.mempool.grant([tokens(address, 1_000_000n), tokens(address, 5n)]);
    expect(await refreshAndLeave()).toMatch(/2 outputs that no block has/);
    expect(await balance()).toBe(100n);
    await expect(victim.user.payAddress(order(101n))).rejects.toMatchObject({ code: 'insufficient_funds' });
    // It may come back with the same: the chain is not read again for that.
    await until(() => victim.user.inStep);
    storage.given.length = 0;
    await refreshed();
    expect([await balance(), storage.given]).toEqual([100n, []]);
  });

  it('does not make a wallet forget what it has', async () => {
    net.mempool.utxos.delete(outPointKey(onlyCoin()[0]));
    await refreshed();
    expect(await balance()).toBe(100n);
    expect((await movements()).map(({ kind }) => kind)).toEqual(['payment']);
  });

  it('does not bring back what a block has spent', async () => {
    const [outPoint, output] = onlyCoin();
    const { txHash } = await victim.user.payAddress(order(100n));
    await until(() => net.mempool.statuses.get(txHash) === 'Pending');
    await mine();
    expect(await balance()).toBe(0n);
    net.mempool.utxos.set(outPointKey(outPoint), [outPoint, output]);
    expect(await refreshAndLeave()).toMatch(/1 output that a block has spent/);
    expect(await balance()).toBe(0n);
  });

  // Of a coin that holds more than is said, whoever has the payment could take the rest as a fee.
  it.each([
    ['more', 7_000n],
    ['less', 3n],
  ])('does not make %s of an output than its block says', async (_, said) => {
    const key = generateKeyPair(systemRandom);
    const own = addressOf(key.publicKey, null);
    await mine(payIn(own, 7n));
    for (const [name, [outPoint, output]] of net.mempool.utxos)
      if (output.scriptPublicKey === own) net.mempool.utxos.set(name, [outPoint, tokens(own, said)]);
    const down = next(victim.network.linkDown);
    await victim.wallet.importKeyPairs(pairOf(own, key));
    expect((await down).reason).toMatch(/1 output that no block has/);
    expect(await balance()).toBe(100n);
    // One lie about it must not hide what is true of it.
    for (const [name, [outPoint, output]] of net.mempool.utxos)
      if (output.scriptPublicKey === own) net.mempool.utxos.set(name, [outPoint, tokens(own, 7n)]);
    await until(() => victim.user.inStep);
    await refreshed();
    await until(() => victim.wallet.coins.totals().available === 107n);
  });
});

const pairOf = (own: string, { publicKey, seed }: ReturnType<typeof generateKeyPair>) =>
  new Map([[own, { publicKey, secretKey: seed, addressVersion: null }]]);

describe('outputs that a refresh names and the wallet has not seen', () => {
  it('count when a block has them and none has spent them: those of an imported key', async () => {
    const key = generateKeyPair(systemRandom);
    const own = addressOf(key.publicKey, null);
    await mine(payIn(own, 7n), payIn(own, 30n));
    await victim.wallet.importKeyPairs(pairOf(own, key));
    await until(() => victim.wallet.coins.totals().available === 137n);
    expect(await balance()).toBe(137n);
    expect((await movements()).map(({ kind, net: moved }) => [kind, moved])).toEqual([
      ['payment', 100n],
      ['import', expect.any(BigInt)],
      ['import', expect.any(BigInt)],
    ]);
    await victim.user.payAddress(order(137n));
  });

  it('come with their key, however many there are', async () => {
    const key = generateKeyPair(systemRandom);
    const own = addressOf(key.publicKey, null);
    const hundreds = () => paymentFromOutside(Array.from({ length: 250 }, () => tokens(own, 1n)));
    await mine(hundreds(), hundreds(), hundreds());
    await victim.wallet.importKeyPairs(pairOf(own, key));
    await until(() => victim.wallet.coins.totals().available === 850n);
    expect(await balance()).toBe(850n);
    const [own100, ...others] = (await movements()).map(({ kind, net: moved }) => [kind, moved]);
    expect(own100).toEqual(['payment', 100n]);
    expect(others).toEqual([
      ['import', 250n],
      ['import', 250n],
      ['import', 250n],
    ]);
    // What is paid to it from now on is a payment.
    await mine(payIn(own, 3n));
    await until(async () => (await movements()).length === 5);
    expect((await movements()).at(-1)).toMatchObject({ kind: 'payment', net: 3n });
  });

  it('come with their key, however many that no block has are named beside them', async () => {
    const key = generateKeyPair(systemRandom);
    const own = addressOf(key.publicKey, null);
    await mine(payIn(own, 7n), payIn(own, 30n));
    const [, missed] = [...net.mempool.utxos].filter(([, [, { scriptPublicKey }]]) => scriptPublicKey === own);
    if (missed === undefined) throw new Error('the mempool node has both');
    net.mempool.utxos.delete(missed[0]);
    net.mempool.grant(Array.from({ length: 600 }, () => tokens(own, 1n)));
    storage.end = 0;
    await victim.wallet.importKeyPairs(pairOf(own, key));
    await until(() => victim.user.unproven === 601);
    storage.end = Number.POSITIVE_INFINITY;
    await mine();
    await until(() => victim.wallet.coins.totals().available === 107n);
    // The import is over: what a refresh finds from now on is a payment that the wallet has missed.
    net.mempool.utxos.set(...missed);
    await until(() => victim.user.unproven === 0 && victim.user.inStep);
    await refreshed();
    await until(() => victim.wallet.coins.totals().available === 137n);
    await balance();
    expect((await movements()).map(({ kind }) => kind)).toEqual(['payment', 'import', 'payment']);
  });

  it('wait while no storage node answers, and come when one does', async () => {
    const key = generateKeyPair(systemRandom);
    const own = addressOf(key.publicKey, null);
    await mine(payIn(own, 7n));
    storage.end = 0;
    await victim.wallet.importKeyPairs(pairOf(own, key));
    await until(() => victim.user.unproven > 0);
    expect([victim.user.inStep, await balance()]).toEqual([true, 100n]);
    storage.end = Number.POSITIVE_INFINITY;
    await mine();
    await until(() => victim.wallet.coins.totals().available === 107n);
    await until(() => victim.user.unproven === 0);
    expect(await balance()).toBe(107n);
  });
});

describe('block 0', () => {
  it('is the one of the genesis file, whoever brings it: nothing else binds what it pays', async () => {
    const genuine = paymentFromOutside([tokens('nobody', 5n)]);
    const genesis = new Map([['the first', genuine]]);
    const { wallet } = await newWallet({ genesis });
    const own = await wallet.newAddress();
    const { full, hash } = block(0, [genuine], { names: ['the first'] });
    const forged = { ...full, transactions: [paymentFromOutside([tokens(own, 5n)])] };
    await expect(wallet.chain.apply({ full: forged, hash })).rejects.toThrow(/genesis file/);
    await expect(wallet.chain.apply({ full, hash })).resolves.toBe('applied');
  });
});
