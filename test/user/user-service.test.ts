import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { encodeTransaction } from '../../src/chain/codec.js';
import { transactionHash } from '../../src/chain/hash.js';
import { outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import { TesseraError } from '../../src/lib/errors.js';
import type { OwnTransaction } from '../../src/wallet/payments/outgoing.js';
import { encodeFullBlock } from '../support/full-block.js';
import {
  createTestNet,
  MEMPOOL,
  next,
  order,
  richUser,
  stateOf,
  type TestNet,
  type TestUser,
  until,
} from '../support/user.js';
import {
  block,
  NOBODY,
  paymentFromOutside,
  removeFolders,
  temporaryFolder,
  tokens,
} from '../support/wallet-fixtures.js';

let net: TestNet;

beforeEach(async () => {
  net = await createTestNet();
});
afterEach(() => net.stop());
afterAll(removeFolders);

describe('payments by address', () => {
  it('sends a payment to the mempool and settles it with the block', async () => {
    const node = await richUser(net, [100n]);
    const { txHash } = await node.user.payAddress(order(30n));
    await until(async () => (await stateOf(node, txHash)) === 'sent');
    const settled = next(node.wallet.settlement.settled);
    net.mempool.mine();
    expect(await settled).toMatchObject({ hash: txHash, state: 'confirmed' });
    expect(node.wallet.coins.totals()).toMatchObject({ running: 70n, available: 70n });
  });

  it('checks the passphrase before anything else', async () => {
    const node = await richUser(net, [100n]);
    const wrong = { ...order(0n), passphrase: 'wrong' };
    await expect(node.user.payAddress(wrong)).rejects.toMatchObject({ code: 'wrong_passphrase' });
    await expect(node.user.payPeer({ ...wrong, address: 'nonsense' })).rejects.toMatchObject({
      code: 'wrong_passphrase',
    });
  });

  it('queues while no mempool node is there, and sends when one is', async () => {
    const lonely = await richUser(net, [100n]);
    await lonely.stop();
    await net.mempoolNetwork.stop();
    const node = await net.user({ folder: lonely.folder });
    const { txHash } = await node.user.payAddress(order(30n));
    expect(await stateOf(node, txHash)).toBe('queued');
    await node.stop();
    const later = await createTestNet();
    for (const [key, entry] of net.mempool.utxos) later.mempool.utxos.set(key, entry);
    const again = await later.user({ folder: lonely.folder });
    await until(async () => (await stateOf(again, txHash)) === 'sent');
    expect(later.mempool.submissions).toEqual([txHash]);
    await later.stop();
  });

  it.each(['mempool_full', 'overloaded', 'mempool_unreachable'] as const)('tries again after %s', async (code) => {
    const node = await richUser(net, [100n]);
    net.mempool.refuseWith = code;
    const { txHash } = await node.user.payAddress(order(30n));
    await until(() => net.mempool.submissions.length >= 1);
    expect(await stateOf(node, txHash)).toBe('queued');
    net.mempool.refuseWith = undefined;
    await until(async () => (await stateOf(node, txHash)) === 'sent');
    expect(new Set(net.mempool.submissions)).toEqual(new Set([txHash]));
  });

  it('keeps the reason of a refusal, and the inputs come back (decision V13)', async () => {
    const node = await richUser(net, [100n]);
    net.mempool.refuseWith = 'transaction_rejected';
    const settled = next(node.wallet.settlement.settled);
    await node.user.payAddress(order(30n));
    expect(await settled).toMatchObject({ state: 'rejected', reason: 'transaction_rejected: as the test wants' });
    expect(node.wallet.coins.totals()).toMatchObject({ running: 100n, available: 100n });
  });

  it.each(['unknown_input', 'double_spend'] as const)(
    'keeps a payment and its inputs while the mempool node answers %s for a moment',
    async (code) => {
      const node = await richUser(net, [100n]);
      net.mempool.refuseWith = code;
      const { txHash } = await node.user.payAddress(order(30n));
      await until(() => net.mempool.submissions.length >= 2);
      expect(await stateOf(node, txHash)).toBe('queued');
      // Nothing was taken back: there is its change and no more, and what spends that waits for it.
      await expect(node.user.payAddress(order(71n))).rejects.toMatchObject({ code: 'insufficient_funds' });
      const child = await node.user.payAddress(order(30n));
      const again = net.mempool.submissions.length + 2;
      await until(() => net.mempool.submissions.length >= again);
      expect(new Set(net.mempool.submissions)).toEqual(new Set([txHash]));
      net.mempool.refuseWith = undefined;
      await until(async () => (await stateOf(node, child.txHash)) === 'sent');
      net.mempool.mine();
      await until(async () => (await stateOf(node, child.txHash)) === 'confirmed');
      expect(await stateOf(node, txHash)).toBe('confirmed');
      expect(node.wallet.coins.totals()).toMatchObject({ running: 40n, available: 40n });
    },
  );

  it('rejects a payment when a block shows that another has spent its input, and takes back the others', async () => {
    const node = await richUser(net, [100n, 50n]);
    net.mempool.refuseWith = 'double_spend';
    const { txHash } = await node.user.payAddress(order(150n));
    const [taken] = [...net.mempool.utxos.values()].filter(([, { value }]) => value.amount === 100n);
    if (taken === undefined) throw new Error('no coin');
    const theft = { ...paymentFromOutside([tokens(NOBODY, 100n)]), inputs: [{ previousOut: taken[0], script: [] }] };
    net.mempool.admit(theft);
    await until(() => net.mempool.submissions.length >= 1);
    expect(await stateOf(node, txHash)).toBe('queued');
    net.mempool.mine();
    await until(async () => (await stateOf(node, txHash)) === 'rejected');
    expect((await node.wallet.outgoing.latest())[0]?.reason).toContain(transactionHash(theft));
    expect(node.wallet.coins.totals()).toMatchObject({ running: 50n, available: 50n });
  });

  it.each([
    ['in a block that it sees', false],
    ['while the node was down', true],
  ])('counts a payment as confirmed whose copy with another version was mined %s', async (_, isDown) => {
    const node = await richUser(net, [100n]);
    net.mempool.refuseWith = 'double_spend';
    const { txHash } = await node.user.payAddress(order(30n));
    await until(() => net.mempool.submissions.length >= 1);
    const [made] = node.wallet.outgoing.inFlight();
    if (made === undefined) throw new Error('no payment');
    net.mempool.admit({ ...made.transaction, version: 7n });
    if (isDown) await node.stop();
    net.mempool.mine();
    const again = isDown ? await net.user({ folder: node.folder }) : node;
    await until(async () => (await stateOf(again, txHash)) === 'confirmed');
    expect(again.wallet.coins.totals()).toMatchObject({ running: 70n, available: 70n });
    expect((await again.wallet.info({})).addresses.size).toBe(1);
  });

  it('does not hold up others by a payment that fails for a while', async () => {
    const node = await richUser(net, [100n, 50n]);
    let held = '';
    net.mempool.refuseWith = (hash) => (held === '' || held === hash ? 'overloaded' : undefined);
    held = (await node.user.payAddress(order(100n))).txHash;
    const after = net.mempool.submissions.length + 3;
    await until(() => net.mempool.submissions.length >= after);
    const { txHash } = await node.user.payAddress(order(50n));
    await until(async () => (await stateOf(node, txHash)) === 'sent');
    expect(await stateOf(node, held)).toBe('queued');
    // It was sent at once, not in the turn of the one that fails.
    expect(net.mempool.submissions.slice(after).filter((hash) => hash === held)).toEqual([]);
  });

  it('pays 200 times in parallel: each admitted once, no outpoint twice, sums conserved', async () => {
    // The last payment gathers the change of more others than a mempool node takes by default.
    net.mempool.maxAncestors = 200;
    const node = await richUser(net, new Array<bigint>(120).fill(10n));
    const results = await Promise.allSettled(Array.from({ length: 200 }, () => node.user.payAddress(order(7n))));
    const paid = results.filter(({ status }) => status === 'fulfilled').length;
    // All of it: change is spent as soon as it is made.
    expect(paid).toBe(171);
    await until(() => node.wallet.outgoing.inFlight().every(({ state }) => state === 'sent'));
    expect(new Set(net.mempool.submissions).size).toBe(171);
    net.mempool.mine();
    await until(() => node.wallet.outgoing.inFlight().length === 0);
    expect(node.wallet.coins.totals()).toMatchObject({ running: 3n, available: 3n });
    const toNobody = [...net.mempool.utxos.values()].filter(([, { scriptPublicKey: to }]) => to === NOBODY);
    expect(toNobody.filter(([, { value }]) => value.amount === 7n)).toHaveLength(171);
  });

  it('creates an item that the wallet has after the block', async () => {
    const node = await richUser(net, []);
    const { txHash } = await node.user.createItem({ spec: 'Create', amount: 3n, metadata: 'm' });
    await until(async () => (await stateOf(node, txHash)) === 'sent');
    net.mempool.mine();
    await until(() => node.wallet.outgoing.inFlight().length === 0);
    expect((await node.wallet.info({})).items).toEqual(new Map([[txHash, 3n]]));
  });
});

describe('following the chain', () => {
  it('refreshes when it starts', async () => {
    const folder = await temporaryFolder();
    const first = await net.user({ folder });
    const address = await first.wallet.newAddress();
    await first.stop();
    net.mempool.grant([tokens(address, 5n)]);
    const again = await net.user({ folder });
    await until(() => again.wallet.coins.totals().available === 5n);
  });

  it('asks for fewer addresses at once when the answer would be too large', async () => {
    net.mempool.maxUtxos = 3;
    const node = await richUser(net, [1n, 2n, 3n, 4n, 5n, 6n, 7n]);
    expect(node.wallet.coins.totals().available).toBe(28n);
  });

  it('refreshes when blocks are missing', async () => {
    const node = await richUser(net, []);
    const address = await node.wallet.newAddress();
    net.mempool.mine();
    await until(() => node.wallet.chain.height === 1);
    net.mempool.mine({ rewardTo: address, reward: 9n, tell: false });
    net.mempool.mine();
    await until(() => node.wallet.chain.height === 3);
    expect(node.wallet.coins.totals()).toMatchObject({ running: 9n, locked: 9n });
  });

  it('sends again what the mempool does not know, and only the same bytes', async () => {
    const node = await richUser(net, [100n]);
    const { txHash } = await node.user.payAddress(order(30n));
    await until(async () => (await stateOf(node, txHash)) === 'sent');
    await node.stop();
    const later = await createTestNet();
    for (const [key, entry] of net.mempool.utxos) later.mempool.utxos.set(key, entry);
    const again = await later.user({ folder: node.folder });
    await until(() => later.mempool.submissions.length === 1);
    expect(later.mempool.submissions).toEqual([txHash]);
    await until(async () => (await stateOf(again, txHash)) === 'sent');
    await later.stop();
  });

  it.each([
    ['the status says so', false],
    ['the status is forgotten, by what is left of it on the chain', true],
  ])('settles a payment that was mined while the node was down, because %s', async (_, forget) => {
    const node = await richUser(net, [100n]);
    const { txHash } = await node.user.payAddress(order(100n));
    await until(async () => (await stateOf(node, txHash)) === 'sent');
    await node.stop();
    net.mempool.mine();
    if (forget) net.mempool.statuses.clear();
    const again = await net.user({ folder: node.folder });
    await until(async () => (await stateOf(again, txHash)) === 'confirmed');
    expect(net.mempool.submissions).toEqual([txHash]);
    expect(again.wallet.coins.totals()).toMatchObject({ running: 0n });
  });

  it('does not take a rejection at its word: only a block shows that the inputs went elsewhere', async () => {
    const node = await richUser(net, [100n, 50n]);
    const { txHash } = await node.user.payAddress(order(150n));
    await until(async () => (await stateOf(node, txHash)) === 'sent');
    await node.stop();
    net.mempool.forget();
    net.mempool.statuses.set(txHash, 'Rejected');
    net.mempool.refuseWith = 'unknown_input';
    const again = await net.user({ folder: node.folder });
    await until(() => net.mempool.submissions.filter((hash) => hash === txHash).length >= 2);
    expect(await stateOf(again, txHash)).toBe('queued');
    expect(again.wallet.coins.totals()).toMatchObject({ running: 0n, available: 0n });
    net.mempool.refuseWith = undefined;
    net.mempool.forget();
    await until(async () => (await stateOf(again, txHash)) === 'sent');
  });

  it.each([
    ['says so', true],
    ['has forgotten the payment', false],
  ])('keeps a payment from a coin whose block was given up, when the mempool node %s', async (_, isToldOfPayment) => {
    const node = await richUser(net, []);
    const foreign = paymentFromOutside([tokens(await node.wallet.newAddress(), 100n)]);
    const outPoint = { tHash: transactionHash(foreign), n: 0 };
    // The outputs of the block that is being made are among those that a wallet is told of.
    net.mempool.utxos.set(outPointKey(outPoint), [outPoint, foreign.outputs[0] ?? tokens(NOBODY, 0n)]);
    net.mempool.statuses.set(outPoint.tHash, 'Pending');
    await node.wallet.refresh({ all: true });
    await until(() => node.wallet.coins.totals().available === 100n);
    const { txHash } = await node.user.payAddress(order(100n));
    await until(async () => (await stateOf(node, txHash)) === 'sent');
    await node.stop();

    net.mempool.forget();
    net.mempool.utxos.delete(outPointKey(outPoint));
    net.mempool.statuses.set(outPoint.tHash, 'Rejected');
    if (isToldOfPayment) net.mempool.statuses.set(txHash, 'Rejected');
    net.mempool.refuseWith = 'unknown_input';
    const again = await net.user({ folder: node.folder });
    await until(() => net.mempool.submissions.filter((hash) => hash === txHash).length >= 2);
    expect(await stateOf(again, txHash)).toBe('queued');
  });

  it('settles a payment that was admitted without an answer, and pays it once', async () => {
    const node = await richUser(net, [100n]);
    net.mempool.silent = true;
    const { txHash } = await node.user.payAddress(order(30n));
    await until(() => net.mempool.submissions.length === 1);
    await node.stop();
    net.mempool.silent = false;
    net.mempool.mine();
    net.mempool.statuses.clear();
    const again = await net.user({ folder: node.folder });
    await until(async () => (await stateOf(again, txHash)) === 'confirmed');
    expect(again.wallet.coins.totals()).toMatchObject({ running: 70n, available: 70n });
    expect(net.mempool.submissions).toEqual([txHash]);
  });

  it('believes no blocks of a mempool node that it was not told of', async () => {
    const node = await richUser(net, [1n]);
    const address = await node.wallet.newAddress();
    const stranger = net.stranger('mempool');
    await stranger.start();
    // A link that this node opened itself: someone asked it to pay there.
    await expect(node.user.payPeer(order(1n, stranger.address))).rejects.toMatchObject({ code: 'peer_unreachable' });
    const [link] = stranger.links;
    const { full, hash } = block(node.wallet.chain.height + 1, [paymentFromOutside([tokens(address, 1_000n)])]);
    link?.send('block.mined', { block_num: node.wallet.chain.height + 1, hash }, encodeFullBlock(full));
    net.mempool.mine();
    await until(() => node.wallet.chain.height === 1);
    expect(node.wallet.coins.totals().running).toBe(1n);
  });

  it('refuses a refresh that cannot be requested', async () => {
    const node = await net.user({ mempools: ['127.0.0.1:1'] });
    const own = await node.wallet.newAddress();
    await expect(node.wallet.refresh({ addresses: [own] })).rejects.toMatchObject({ code: 'refresh_failed' });
  });
});

describe('payments by ip (decision V15)', () => {
  it('asks for an address, pays it, tells the peer, and both wallets agree', async () => {
    const alice = await richUser(net, [100n]);
    const bob = await richUser(net, []);
    const announced = next(bob.user.announced);
    await alice.user.payPeer(order(40n, bob.address));
    const { hash } = await announced;
    expect(bob.wallet.coins.totals().running).toBe(0n);
    net.mempool.mine();
    await until(() => bob.wallet.coins.totals().running === 40n && alice.wallet.outgoing.inFlight().length === 0);
    expect(alice.wallet.coins.totals().running).toBe(60n);
    expect((await alice.wallet.outgoing.latest()).map((entry: OwnTransaction) => entry.hash)).toEqual([hash]);
    // Only own payments are listed (decision V14).
    expect(await bob.wallet.outgoing.latest()).toEqual([]);
    await bob.user.payPeer(order(15n, alice.address));
    await until(() => bob.wallet.outgoing.inFlight()[0]?.state === 'sent');
    net.mempool.mine();
    await until(() => alice.wallet.coins.totals().running === 75n && bob.wallet.coins.totals().running === 25n);
  });

  it('does not pay a peer that cannot be reached, or an address that is none', async () => {
    const alice = await richUser(net, [100n]);
    await expect(alice.user.payPeer(order(1n, '127.0.0.1:9'))).rejects.toMatchObject({ code: 'peer_unreachable' });
    await expect(alice.user.payPeer(order(1n, 'nonsense'))).rejects.toMatchObject({ code: 'invalid_socket_address' });
    await expect(alice.user.payPeer(order(0n, '127.0.0.1:9'))).rejects.toMatchObject({ code: 'payment_refused' });
    await expect(alice.user.payPeer(order(1n, MEMPOOL))).rejects.toMatchObject({ code: 'peer_unreachable' });
    expect(await alice.wallet.outgoing.latest()).toEqual([]);
  });

  it.each(['storage', 'mempool'] as const)(
    'tells nobody of a payment where a %s node has taken the place of the payee',
    async (role) => {
      const unhandled: unknown[] = [];
      const note = (reason: unknown): void => void unhandled.push(reason);
      process.on('unhandledRejection', note);
      onTestFinished(() => void process.off('unhandledRejection', note));
      const rich = await richUser(net, [100n]);
      await rich.stop();
      // Without a mempool node the payment waits, and with it what the payee is told.
      const alone = await net.user({ folder: rich.folder, mempools: ['127.0.0.1:1'] });
      const payee = net.stranger('user');
      payee.handle('address.get', () => ({ type: 'address', body: { address: NOBODY } }));
      await payee.start();
      await alone.user.payPeer(order(1n, payee.address));
      await alone.stop();
      await payee.stop();
      const other = net.stranger(role, Number(payee.address.split(':').at(-1)));
      await other.start();
      const alice = await net.user({ folder: rich.folder });
      await until(() => [...other.links].some(({ role: of }) => of === 'user'));
      // What came of the link was decided before an answer over it comes back.
      await alice.network.dial(other.address, { timeoutMs: 1_000 });
      net.mempool.mine();
      await until(() => alice.wallet.outgoing.inFlight().length === 0);
      expect(unhandled).toEqual([]);
    },
  );

  it('pays nothing to a peer that answers with garbage', async () => {
    const alice = await richUser(net, [100n]);
    const liar = net.stranger('user');
    liar.handle('address.get', () => ({ type: 'address', body: { address: 'short' } }));
    await liar.start();
    await expect(alice.user.payPeer(order(1n, liar.address))).rejects.toMatchObject({ code: 'peer_unreachable' });
    const confused = net.stranger('user');
    confused.handle('address.get', () => ({ type: 'donation.reply', body: { accepted: true, reason: '' } }));
    await confused.start();
    await expect(alice.user.payPeer(order(1n, confused.address))).rejects.toMatchObject({ code: 'peer_unreachable' });
    const fraud = net.stranger('user');
    fraud.handle('address.get', () => {
      throw new TesseraError('wrong_passphrase', 'your passphrase is wrong');
    });
    await fraud.start();
    await expect(alice.user.payPeer(order(1n, fraud.address))).rejects.toMatchObject({ code: 'peer_unreachable' });
    expect(await alice.wallet.outgoing.latest()).toEqual([]);
  });

  it('does not pay an address that nobody asked for', async () => {
    const alice = await richUser(net, [100n], { donationAmount: 5n });
    const pusher = net.stranger('user');
    await pusher.start();
    const link = await pusher.dial(alice.address, { timeoutMs: 1_000 });
    link.send('address', { address: NOBODY });
    await link.request('address.get', {}).catch(() => undefined);
    expect(await alice.wallet.outgoing.latest()).toEqual([]);
  });

  it('gives a peer the same address until it was paid to', async () => {
    const bob = await richUser(net, []);
    const asker = net.stranger('user');
    await asker.start();
    const link = await asker.dial(bob.address, { timeoutMs: 1_000 });
    const ask = async () => (await link.request('address.get', {})).body as { address: string };
    const { address } = await ask();
    expect((await ask()).address).toBe(address);
    expect([...bob.wallet.keys.addresses.keys()]).toEqual([address]);
    net.mempool.grant([tokens(address, 1n)]);
    await bob.wallet.refresh({ all: true });
    await until(() => bob.wallet.coins.isUsed(address));
    expect((await ask()).address).not.toBe(address);
  });

  it('believes no payment that is only announced', async () => {
    const bob = await richUser(net, []);
    const liar = net.stranger('user');
    await liar.start();
    const link = await liar.dial(bob.address, { timeoutMs: 1_000 });
    const { address } = (await link.request('address.get', {})).body as { address: string };
    const announced = next(bob.user.announced);
    // What pays somebody else is not even passed on.
    link.send('payment.sent', {}, encodeTransaction(paymentFromOutside([tokens(NOBODY, 1_000n)])));
    const toBob = paymentFromOutside([tokens(address, 1_000n)]);
    link.send('payment.sent', {}, encodeTransaction(toBob));
    expect((await announced).hash).toBe(transactionHash(toBob));
    expect(bob.wallet.coins.totals().running).toBe(0n);
  });
});

describe('donations (decision V15)', () => {
  it('pays the configured amount to a peer that asks, both ways', async () => {
    const alice = await richUser(net, [100n], { donationAmount: 5n });
    const bob = await richUser(net, [100n], { donationAmount: 7n, role: 'miner' });
    await bob.user.requestDonation(alice.address);
    await alice.user.requestDonation(bob.address);
    await until(() => [alice, bob].every(({ wallet }) => wallet.outgoing.inFlight()[0]?.state === 'sent'));
    net.mempool.mine();
    await until(() => alice.wallet.coins.totals().running === 102n && bob.wallet.coins.totals().running === 98n);
    await until(async () => (await alice.wallet.outgoing.latest())[0]?.state === 'confirmed');
    expect(await alice.wallet.outgoing.latest()).toMatchObject([{ kind: 'donation' }]);
  });

  it('gives nothing when switched off', async () => {
    const alice = await richUser(net, [100n]);
    const bob = await richUser(net, []);
    await bob.user.requestDonation(alice.address);
    expect(await alice.wallet.outgoing.latest()).toEqual([]);
  });

  it('keeps to the limit for a peer and day, also over a restart', async () => {
    const alice = await richUser(net, [10n, 10n, 10n], { donationAmount: 5n });
    const asker = net.stranger('user');
    asker.handle('payment.sent', () => undefined);
    await asker.start();
    const ask = async (to: TestUser) => {
      const link = await asker.dial(to.address, { timeoutMs: 1_000 });
      return (await link.request('donation.request', { address: NOBODY })).body;
    };
    expect(await ask(alice)).toEqual({ accepted: true, reason: '' });
    expect(await ask(alice)).toEqual({ accepted: true, reason: '' });
    await alice.stop();
    const again = await net.user({ folder: alice.folder, donationAmount: 5n });
    expect(await ask(again)).toEqual({ accepted: false, reason: 'no more donations today' });
    expect(await again.wallet.outgoing.latest()).toHaveLength(2);
  });

  it('keeps to the limit of a day over all peers', async () => {
    const alice = await richUser(net, [10n, 10n], { donationAmount: 5n, donationsPerDay: 1 });
    const replies: unknown[] = [];
    for (let i = 0; i < 2; i++) {
      const asker = net.stranger('user');
      asker.handle('payment.sent', () => undefined);
      await asker.start();
      const link = await asker.dial(alice.address, { timeoutMs: 1_000 });
      replies.push((await link.request('donation.request', { address: NOBODY })).body);
    }
    expect(replies).toMatchObject([{ accepted: true }, { accepted: false }]);
  });

  it('does not tell a stranger what is in the wallet, and does not count what was not paid', async () => {
    const poor = await richUser(net, [1n], { donationAmount: 5n });
    const asker = net.stranger('user');
    await asker.start();
    const link = await asker.dial(poor.address, { timeoutMs: 1_000 });
    for (let i = 0; i < 4; i++) {
      const { body } = await link.request('donation.request', { address: NOBODY });
      expect(body).toEqual({ accepted: false, reason: 'the donation cannot be paid now' });
    }
  });

  it('says when the peer cannot be asked', async () => {
    const bob = await richUser(net, []);
    await expect(bob.user.requestDonation('127.0.0.1:9')).rejects.toMatchObject({ code: 'peer_unreachable' });
  });
});

describe('spending', () => {
  it('never submits two transactions with the same input', async () => {
    const node = await richUser(net, [10n, 20n, 30n]);
    await Promise.all([5n, 15n, 25n].map((amount) => node.user.payAddress(order(amount))));
    const inputs = node.wallet.outgoing
      .inFlight()
      .flatMap(({ transaction }) => spentOutPoints(transaction).map(outPointKey));
    expect(new Set(inputs).size).toBe(inputs.length);
  });
});
