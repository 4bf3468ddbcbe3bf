/** Offers that are sent to a peer, and their idempotency keys (docs/wallet.md#paid-exactly-once). */

import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import type { Kv } from '../../src/db/kv.js';
import { TesseraError } from '../../src/lib/errors.js';
import { createTestNet, richUser, type TestNet, type TestUser, until } from '../support/user.js';
import { PASSPHRASE, removeFolders } from '../support/wallet-fixtures.js';

const PEER = '127.0.0.1:12350';

let net: TestNet;
/** Ids of the offers that the peer has got, and what it answers. */
let offers: string[];
let answer: () => Promise<void>;
let stopPeer: () => Promise<void>;

beforeEach(async () => {
  net = await createTestNet();
  offers = [];
  answer = async () => undefined;
  const peer = net.stranger('user', 12_350);
  peer.handle('trade.offer', async (_, { body }) => {
    offers.push(body.document);
    await answer();
    return { type: 'trade.listed', body: {} };
  });
  await peer.start();
  stopPeer = () => peer.stop();
});
afterEach(() => net.stop());
afterAll(removeFolders);

const offer = ({ user }: TestUser) =>
  user.offerTrade({
    give: { kind: 'token', amount: 10n },
    want: { kind: 'item', amount: 1n, genesisHash: 'g0'.padEnd(32, '0'), metadata: null },
    validFor: 3_600,
    peer: PEER,
    isReachable: false,
    passphrase: PASSPHRASE,
    idempotencyKey: 'a',
  });

it('leaves the key free when the peer does not take the offer', async () => {
  const maker = await richUser(net, [100n]);
  answer = () => Promise.reject(new TesseraError('overloaded', 'this node keeps 100 offers of others already'));
  await expect(offer(maker)).rejects.toMatchObject({ code: 'overloaded' });
  expect(maker.user.trades()).toMatchObject([{ state: 'cancelled' }]);
  expect(maker.wallet.coins.totals().available).toBe(100n);
  answer = async () => undefined;
  expect(await offer(maker)).toMatchObject({ state: 'open' });
  expect(offers).toHaveLength(2);
});

it('sends it when the request is repeated and the node was killed before the peer had it', async () => {
  let isDead = false;
  const wrap = (kv: Kv): Kv =>
    new Proxy(kv, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        if (name !== 'write') return member.bind(target);
        // What a node writes after its end is on no disk.
        return (...args: unknown[]) => (isDead ? Promise.resolve() : member.apply(target, args));
      },
    });
  const killed = await richUser(net, [100n], { wrap });
  answer = () => new Promise(() => undefined);
  const lost = offer(killed).catch((error: unknown) => error);
  await until(() => offers.length === 1);
  const [made] = killed.user.trades();
  isDead = true;
  await killed.stop();
  expect(await lost).toBeInstanceOf(TesseraError);
  offers = [];
  answer = async () => undefined;
  const maker = await net.user({ folder: killed.folder });
  expect(await offer(maker)).toMatchObject({ id: made?.id, state: 'open' });
  expect(offers).toEqual([JSON.stringify(made?.offer)]);
});

it('is not sent again to a peer that has it', async () => {
  const maker = await richUser(net, [100n]);
  const made = await offer(maker);
  await stopPeer();
  expect(await offer(maker)).toEqual(made);
  await maker.stop();
  const again = await net.user({ folder: maker.folder });
  expect(await offer(again)).toMatchObject({ id: made.id, state: 'open' });
  expect(offers).toHaveLength(1);
});
