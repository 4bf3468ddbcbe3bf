/** Items are paid like money: by address and to a peer, once for a key, with change, and their metadata is seen by both. */

import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createItemTransaction } from '../../src/chain/builders.js';
import { encodeTransaction } from '../../src/chain/codec.js';
import { transactionHash } from '../../src/chain/hash.js';
import { generateKeyPair } from '../../src/crypto/ed25519.js';
import { toHex } from '../../src/lib/bytes.js';
import { systemRandom } from '../../src/lib/random.js';
import { createTestNet, order, richUser, stateOf, type TestNet, type TestUser, until } from '../support/user.js';
import { paymentFromOutside, removeFolders, tokens } from '../support/wallet-fixtures.js';

let net: TestNet;

beforeEach(async () => {
  net = await createTestNet();
});
afterEach(() => net.stop());
afterAll(removeFolders);

/** A user with so many items of a new class. */
async function withItems(amount: bigint): Promise<{ readonly node: TestUser; readonly genesisHash: string }> {
  const node = await richUser(net, [100n]);
  const { txHash } = await node.user.createItem({ spec: 'Create', amount, metadata: 'a ticket' });
  await until(async () => (await stateOf(node, txHash)) === 'sent');
  net.mempool.mine();
  await until(() => node.wallet.outgoing.inFlight().length === 0);
  return { node, genesisHash: txHash };
}

async function settled(node: TestUser, txHash: string): Promise<void> {
  await until(async () => (await stateOf(node, txHash)) === 'sent');
  net.mempool.mine();
  await until(async () => (await stateOf(node, txHash)) === 'confirmed');
}

describe('a payment with items', () => {
  it('goes to an address, with change, and stands in the history', async () => {
    const { node, genesisHash } = await withItems(10n);
    const { txHash } = await node.user.payAddress({ ...order(3n), genesisHash });
    // Own change can be spent at once, as that of tokens.
    const second = await node.user.payAddress({ ...order(7n), genesisHash });
    await until(async () => (await stateOf(node, second.txHash)) === 'sent');
    await settled(node, txHash);
    expect(await node.wallet.items.list()).toEqual([]);
    expect(node.wallet.coins.totals().running).toBe(100n);
    const { movements } = await node.wallet.history.movements({ limit: 10, newestFirst: true });
    const paid = movements.find(({ hash }) => hash === txHash);
    expect(paid).toMatchObject({ kind: 'payment', direction: 'out', amount: 0n, items: new Map([[genesisHash, 3n]]) });
  });

  it('is made once for an idempotency key, which stands for these items (docs/wallet.md#paid-exactly-once)', async () => {
    const { node, genesisHash } = await withItems(5n);
    const payment = { ...order(2n), genesisHash, idempotencyKey: 'rent' };
    const first = await node.user.payAddress(payment);
    expect(await node.user.payAddress(payment)).toEqual(first);
    const tokensInstead = { ...order(2n), idempotencyKey: 'rent' };
    await expect(node.user.payAddress(tokensInstead)).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    expect(await node.wallet.items.list()).toMatchObject([{ amount: 3n }]);
  });

  it('is refused at once when there are not as many, and nothing else is paid instead', async () => {
    const { node, genesisHash } = await withItems(5n);
    const short = { code: 'insufficient_funds', message: expect.stringContaining(`items ${genesisHash}`) };
    await expect(node.user.payAddress({ ...order(6n), genesisHash })).rejects.toMatchObject(short);
    await expect(node.user.payAddress({ ...order(1n), genesisHash: 'g0' })).rejects.toMatchObject({
      code: 'insufficient_funds',
    });
    expect(node.wallet.outgoing.inFlight()).toEqual([]);
  });

  it('goes to a peer, who sees the metadata: the creation proves it', async () => {
    const { node, genesisHash } = await withItems(5n);
    const payee = await net.user();
    const told = new Promise((resolve) => payee.user.announced.on(resolve));
    await node.user.payPeer({ ...order(2n), genesisHash, address: payee.address });
    const [made] = node.wallet.outgoing.inFlight();
    await settled(node, made?.hash ?? '');
    await told;
    await until(async () => (await payee.wallet.items.list()).length === 1);
    const seen = { genesisHash, amount: 2n, available: 2n, metadata: 'a ticket' };
    expect(await payee.wallet.items.list()).toEqual([seen]);
    // What is left after the payment is change, and still has its metadata; so has what the payee pays on.
    expect(await node.wallet.items.list()).toMatchObject([{ amount: 3n, metadata: 'a ticket' }]);
    await payee.wallet.newAddress();
    await payee.stop();
    const again = await net.user({ folder: payee.folder });
    expect(await again.wallet.items.list()).toEqual([seen]);
  });

  it('brings no metadata that its name does not prove', async () => {
    const payee = await richUser(net, []);
    const key = generateKeyPair(systemRandom);
    const creation = createItemTransaction({ bNum: 0n, amount: 1n, spec: 'Create', metadata: 'gold' }, key);
    const other = createItemTransaction({ bNum: 0n, amount: 1n, spec: 'Create', metadata: 'tin' }, key);
    const stranger = net.stranger('user');
    await stranger.start();
    const link = await stranger.dial(payee.address, { timeoutMs: 60_000 });
    const address = await payee.wallet.newAddress();
    const tell = (metadata: Uint8Array) => {
      const told = new Promise((resolve) => payee.user.announced.on(resolve));
      link.send(
        'payment.sent',
        { creation: toHex(metadata) },
        encodeTransaction(paymentFromOutside([tokens(address, 1n)])),
      );
      return told;
    };
    await tell(encodeTransaction(other));
    const genesisHash = transactionHash(creation);
    expect(await payee.wallet.items.creationOf(genesisHash)).toBeUndefined();
    await tell(encodeTransaction(creation));
    expect(await payee.wallet.items.creationOf(genesisHash)).toEqual(creation);
    // What is in no block is no item of this wallet, whatever was told.
    expect(await payee.wallet.items.list()).toEqual([]);
  });
});
