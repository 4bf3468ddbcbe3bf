/**
 * What a wallet learns of the time in which its node was away: it reads the blocks from a storage node, each proven by a
 * producer, and believes nobody else (decision record 0028).
 */

import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chainName } from '../../src/chain/certificate.js';
import { transactionHash } from '../../src/chain/hash.js';
import type { FullBlock, Transaction } from '../../src/chain/types.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { sha3Bytes } from '../../src/crypto/sha3.js';
import { toHex } from '../../src/lib/bytes.js';
import { systemRandom } from '../../src/lib/random.js';
import { Signer } from '../../src/mempool/blocks/signer.js';
import type { PeerNetwork } from '../../src/peers/network.js';
import { newWords } from '../../src/wallet/keys/words.js';
import type { WalletMovement } from '../../src/wallet/service.js';
import { createFakeStorage, type FakeStorage } from '../support/fake-storage.js';
import { createTestNet, order, type TestNet, type TestUser, type TestUserOptions, until } from '../support/user.js';
import { NOBODY, paymentFromOutside, removeFolders, tokens } from '../support/wallet-fixtures.js';

const producer = keyPairFromSeed(sha3Bytes(Uint8Array.of(28)));
const CHAIN = chainName('test', 'of missed blocks');
const SIGNED = {
  signer: new Signer(producer, CHAIN),
  producers: { chain: CHAIN, keys: [toHex(producer.publicKey)] },
};
const [STORAGE, OTHER] = ['127.0.0.1:12330', '127.0.0.1:12331'];

let net: TestNet;
let storage: FakeStorage;
let storageNetwork: PeerNetwork;

beforeEach(async () => {
  net = await createTestNet(undefined, SIGNED);
  storageNetwork = net.stranger('storage', 12_330);
  storage = createFakeStorage(storageNetwork, net.mempool.blocks);
  await storageNetwork.start();
});
afterEach(() => net.stop());
afterAll(removeFolders);

const words = newWords(systemRandom, 12);
/** A node of the wallet of these words: each has a folder of its own. */
const twin = (options: TestUserOptions = {}) => net.user({ words, storages: [STORAGE], ...options });

async function inStep(node: TestUser): Promise<TestUser> {
  await until(() => node.user.inStep && node.wallet.chain.height === net.mempool.height);
  return node;
}

function mine(...transactions: readonly Transaction[]): void {
  for (const transaction of transactions) net.mempool.admit(transaction);
  net.mempool.mine();
}

/** What blocks say, not when and by whom it was seen. */
async function history({ wallet }: TestUser): Promise<readonly unknown[]> {
  const { movements } = await wallet.history.movements({ limit: 100, newestFirst: false });
  return movements.map(({ seenAt: _seen, peer: _peer, ...known }: WalletMovement) => known);
}

const payIn = (address: string, amount: bigint) => paymentFromOutside([tokens(address, amount)]);

describe('a wallet whose node was away', () => {
  it('has the history of one that was always there: blocks, times, senders, what came and went in between', async () => {
    const steady = await inStep(await twin());
    let away = await inStep(await twin());
    const address = await steady.wallet.newAddress();
    await away.wallet.newAddress();
    mine(payIn(address, 1_000n));
    await Promise.all([inStep(steady), inStep(away)]);
    const page = await history(away);
    await away.stop();

    const { txHash } = await steady.user.payAddress(order(300n));
    await until(() => net.mempool.statuses.get(txHash) === 'Pending');
    mine();
    await inStep(steady);
    mine(payIn(address, 40n), payIn(await steady.wallet.newAddress(), 2n));
    await inStep(steady);
    // What comes and goes while nobody looks leaves no trace in what is unspent.
    const { txHash: all } = await steady.user.payAddress(order(742n));
    await until(() => net.mempool.statuses.get(all) === 'Pending');
    mine();
    mine();
    mine();
    await inStep(steady);

    away = await inStep(await twin({ folder: away.folder }));
    const learned = await history(away);
    expect(learned).toEqual(await history(steady));
    expect(learned.length).toBe(5);
    expect(learned.map((one) => (one as WalletMovement).height)).toEqual([1, 2, 3, 3, 4]);
    expect(learned.slice(0, page.length)).toEqual(page);
    expect(away.wallet.coins.totals()).toEqual(steady.wallet.coins.totals());
  });

  it('settles its own payments by these blocks, also one whose inputs went elsewhere', async () => {
    let node = await inStep(await twin());
    const address = await node.wallet.newAddress();
    mine(payIn(address, 10n), payIn(address, 500n));
    await inStep(node);
    const sent = await node.user.payAddress(order(500n));
    await until(() => net.mempool.statuses.get(sent.txHash) === 'Pending');
    net.mempool.refuseWith = 'overloaded';
    const queued = await node.user.payAddress(order(10n));
    const [{ transaction } = { transaction: undefined }] = node.wallet.outgoing
      .inFlight()
      .filter(({ hash }) => hash === queued.txHash);
    if (transaction === undefined) throw new Error('it is in flight');
    await node.stop();
    // Another copy of the wallet has paid with the same coin.
    const elsewhere = { ...transaction, outputs: [tokens(NOBODY, 9n)] };
    mine(elsewhere);
    mine();
    node = await inStep(await twin({ folder: node.folder }));
    const states = new Map(
      (await node.wallet.history.payments()).map(({ hash, state, height }) => [hash, [state, height]]),
    );
    expect(states.get(sent.txHash)).toEqual(['confirmed', 2]);
    expect(states.get(queued.txHash)?.[0]).toBe('rejected');
    expect(
      (await history(node)).find((one) => (one as WalletMovement).hash === transactionHash(elsewhere)),
    ).toMatchObject({
      height: 2,
      direction: 'out',
    });
  });

  it('reads the chain from the beginning for words that are older than its folder, and nothing for new ones', async () => {
    const old = await inStep(await twin());
    mine(payIn(await old.wallet.newAddress(), 7n));
    for (let i = 0; i < 5; i++) mine();
    await inStep(old);
    storage.given.length = 0;
    const restored = await inStep(await twin());
    expect(storage.given).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(await history(restored)).toEqual(await history(old));
    storage.given.length = 0;
    await inStep(await net.user({ storages: [STORAGE] }));
    expect(storage.given).toEqual([]);
  });

  it('takes blocks without a certificate of their own when a later one has it', async () => {
    let node = await inStep(await twin());
    const address = await node.wallet.newAddress();
    await node.stop();
    for (let i = 0; i < 7; i++) mine(payIn(address, 1n));
    storage.hasCertificate = (height) => height === 7;
    node = await inStep(await twin({ folder: node.folder }));
    expect(node.wallet.coins.totals().running).toBe(7n);
  });
});

describe('a storage node that lies, or is not there', () => {
  it.each<[string, (full: FullBlock) => FullBlock]>([
    ['leaves a payment out', (full) => ({ ...full, block: { ...full.block, transactions: [] }, transactions: [] })],
    [
      'adds one',
      (full) => {
        const riches = payIn(NOBODY, 1n);
        return {
          ...full,
          block: { ...full.block, transactions: [...full.block.transactions, transactionHash(riches)] },
          transactions: [...full.transactions, riches],
        };
      },
    ],
    [
      'has another transaction under the name of a payment',
      (full) => ({ ...full, transactions: full.transactions.map(() => payIn(NOBODY, 1n)) }),
    ],
    [
      'has another mining transaction under its name',
      (full) =>
        full.block.header.bNum === 0n
          ? full
          : { ...full, miningTransaction: { ...full.miningTransaction, outputs: [tokens(NOBODY, 1n)] } },
    ],
    [
      'changes the header',
      (full) => ({ ...full, block: { ...full.block, header: { ...full.block.header, timestamp: 9n } } }),
    ],
  ])('loses its link when it %s, and the next one is asked', async (_, alter) => {
    const honest = net.stranger('storage', 12_331);
    createFakeStorage(honest, net.mempool.blocks);
    await honest.start();
    let node = await inStep(await twin());
    const address = await node.wallet.newAddress();
    await node.stop();
    mine(payIn(address, 5n));
    storage.alter = alter;
    const farewells: string[] = [];
    storageNetwork.linkDown.on(({ reason }) => farewells.push(reason));
    node = await inStep(await twin({ folder: node.folder, storages: [STORAGE, OTHER] }));
    expect(node.wallet.coins.totals().running).toBe(5n);
    await until(() => farewells.length > 0);
    expect(await history(node)).toMatchObject([{ height: 1, net: 5n }]);
  });

  it('is waited for, and named: nothing is taken from a refresh meanwhile', async () => {
    let node = await inStep(await twin());
    const address = await node.wallet.newAddress();
    await node.stop();
    mine(payIn(address, 5n));
    mine();
    storage.end = 2;
    node = await twin({ folder: node.folder });
    await until(() => node.user.problem !== null);
    expect(node.user.problem).toMatch(/no storage node gives block 2/);
    expect([node.user.inStep, node.wallet.chain.height]).toEqual([false, 1]);
    storage.end = 3;
    await inStep(node);
    expect(node.user.problem).toBeNull();
    expect(await history(node)).toMatchObject([{ height: 1, net: 5n }]);
  });

  it('is asked for nothing on the word of a mempool node that no producer has signed', async () => {
    let node = await inStep(await twin());
    const address = await node.wallet.newAddress();
    await node.stop();
    mine(payIn(address, 5n));
    mine();
    net.mempool.sign = false;
    storage.given.length = 0;
    node = await twin({ folder: node.folder });
    const reasons: string[] = [];
    node.network.linkDown.on(({ reason }) => reasons.push(reason));
    await until(() => reasons.some((reason) => /no producer has signed for block 2/.test(reason)));
    expect(storage.given).toEqual([]);
    net.mempool.sign = true;
    await inStep(node);
    expect(await history(node)).toMatchObject([{ height: 1, net: 5n }]);
  });

  it('is not needed by a wallet that was told of none: it refreshes, as before', async () => {
    let node = await inStep(await twin({ storages: [] }));
    const address = await node.wallet.newAddress();
    await node.stop();
    mine(payIn(address, 5n));
    node = await inStep(await twin({ folder: node.folder, storages: [] }));
    expect(await history(node)).toMatchObject([{ height: null, net: 5n }]);
  });
});
