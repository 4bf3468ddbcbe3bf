/** Trades between two wallets, by documents: nothing is given that was not agreed upon (docs/wallet.md#trades). */

import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addressOf } from '../../src/chain/address.js';
import { assembleSigned, type SigningKey, txOut, unsignedInput } from '../../src/chain/builders.js';
import { transactionHash } from '../../src/chain/hash.js';
import { txInsAddress } from '../../src/chain/signable.js';
import { outPointKey } from '../../src/chain/transaction.js';
import { generateKeyPair } from '../../src/crypto/ed25519.js';
import { sha3Hex } from '../../src/crypto/sha3.js';
import type { Kv } from '../../src/db/kv.js';
import { LevelKv } from '../../src/db/level-kv.js';
import { systemRandom } from '../../src/lib/random.js';
import { tradeKey } from '../../src/wallet/layout.js';
import { startOver } from '../../src/wallet/start-over.js';
import {
  type Acceptance,
  druidOf,
  type Offer,
  offerId,
  readDocument,
  signDocument,
  type TradedAsset,
} from '../../src/wallet/trades/documents.js';
import { assetOfTraded, encodeTrade } from '../../src/wallet/trades/trade.js';
import { withWrite } from '../support/kv.js';
import { ManualClock } from '../support/manual-clock.js';
import { carried, TradingChain } from '../support/trading.js';
import { NOBODY, type OpenWallet, openWallet, removeFolders, tokens } from '../support/wallet-fixtures.js';

const clock = new ManualClock();
const options = { clock };
let chain: TradingChain;
let alice: OpenWallet;
let bob: OpenWallet;
let genesisHash: string;

const money = (amount: number): TradedAsset => ({ kind: 'token', amount: String(amount) });
const tickets = (amount: number): TradedAsset => ({ kind: 'item', amount: String(amount), genesis_hash: genesisHash });
const inAnHour = () => Math.floor(clock.now() / 1_000) + 3_600;

beforeEach(async () => {
  chain = new TradingChain();
  alice = await chain.wallet(options);
  bob = await chain.wallet(options);
  chain.grant([tokens(await alice.wallet.newAddress(), 100n), tokens(await bob.wallet.newAddress(), 5n)]);
  genesisHash = (await bob.wallet.payments.createItem({ spec: 'Create', amount: 10n, metadata: 'a ticket' })).hash;
  await chain.settle();
});
afterEach(() => Promise.all(chain.wallets.map((opened) => opened.close())));
afterAll(removeFolders);

/** Alice gives 30 for 3 tickets. */
const offer = async (give = money(30), want = tickets(3)) =>
  (await alice.wallet.trades.offer({ give, want, expiresAt: inAnHour(), peer: null })).offer;

async function agreed() {
  const made = await offer();
  const { acceptance, id } = await bob.wallet.trades.accept(carried(made));
  const { confirmation } = await alice.wallet.trades.complete(carried(acceptance));
  return { id, made, acceptance: carried(acceptance), confirmation: carried(confirmation) };
}

/** Tokens and tickets, and of each what can be spent. */
async function holdings({ wallet }: OpenWallet) {
  const [held] = await wallet.items.list();
  const { running, available } = wallet.coins.totals();
  return { tokens: [running, available], tickets: [held?.amount ?? 0n, held?.available ?? 0n] };
}

/** Movements that count add up to what the wallet has. */
async function expectBalanced({ wallet }: OpenWallet): Promise<void> {
  const { movements } = await wallet.history.movements({ limit: 100, newestFirst: false });
  const net = movements.reduce((sum, one) => sum + one.net, 0n);
  expect(net).toBe(wallet.coins.totals().running);
}

it('an open offer keeps the address where it is paid for itself, over restarts', async () => {
  const { id } = await alice.wallet.trades.offer({
    give: money(30),
    want: tickets(3),
    expiresAt: inAnHour(),
    peer: null,
  });
  await alice.wallet.trades.cancel(id);
  // The address of the cancelled one is free, and taken for this one.
  const first = await offer(money(10), tickets(1));
  alice = await chain.reopen(alice, options);
  const second = await offer(money(10), tickets(1));
  expect(second.to).not.toBe(first.to);
});

it('an offer whose end cannot be written keeps its address', async () => {
  let isFull = false;
  const full = async (): Promise<never> => {
    throw new Error('no space left on device');
  };
  const wrap = (kv: Kv): Kv => withWrite(kv, (...write) => (isFull ? full() : kv.write(...write)));
  alice = await chain.reopen(alice, { ...options, wrap });
  const first = await offer(money(10), tickets(1));
  isFull = true;
  await expect(alice.wallet.trades.cancel(offerId(first))).rejects.toMatchObject({ code: 'wallet_write_failed' });
  isFull = false;
  expect(alice.wallet.trades.get(offerId(first)).state).toBe('open');
  expect((await offer(money(10), tickets(1))).to).not.toBe(first.to);
});

it('a done trade whose block is lost stands again when the wallet starts over, and its end gives all back', async () => {
  const { id, confirmation } = await agreed();
  await bob.wallet.trades.complete(confirmation);
  await chain.settle();
  const { folder } = alice;
  await alice.close();
  const kv = await LevelKv.open(join(folder, 'db'), { createIfMissing: false });
  await startOver(kv, clock.now());
  await kv.close();
  alice = await openWallet(folder, { networkName: 'test', ...options });
  chain.wallets.splice(0, 1, alice);
  expect(alice.wallet.trades.get(id)).toMatchObject({ state: 'agreed', reason: '' });
  await alice.wallet.trades.cancel(id);
  expect(alice.wallet.trades.get(id).state).not.toBe('done');
});

describe('a trade', () => {
  it('gives each what was agreed, in one block, and stands in both histories with the other party', async () => {
    const { id, confirmation } = await agreed();
    await bob.wallet.trades.complete(confirmation);
    await chain.settle();
    expect([alice, bob].map(({ wallet }) => wallet.trades.get(id).state)).toEqual(['done', 'done']);
    expect(await holdings(alice)).toEqual({ tokens: [70n, 70n], tickets: [3n, 3n] });
    expect(await holdings(bob)).toEqual({ tokens: [35n, 35n], tickets: [7n, 7n] });
    const ofAlice = await alice.wallet.history.movements({ limit: 10, newestFirst: true, kind: 'trade' });
    const ofBob = await bob.wallet.history.movements({ limit: 10, newestFirst: true, kind: 'trade' });
    expect(
      ofAlice.movements.map(({ direction, amount, items }) => [direction, amount, items.get(genesisHash)]),
    ).toEqual(
      expect.arrayContaining([
        ['in', 0n, 3n],
        ['out', 30n, undefined],
      ]),
    );
    const sent = ofBob.movements.find(({ direction }) => direction === 'out');
    expect(sent?.outputs.map(({ address }) => address)).toEqual([bob.wallet.trades.get(id).offer.to]);
    expect(new Set([...ofAlice.movements, ...ofBob.movements].map(({ height }) => height)).size).toBe(1);
    // Who has got them knows what they are: the offer of tickets shows their creation, but Alice got them without.
    expect((await bob.wallet.items.list())[0]?.metadata).toBe('a ticket');
    await expectBalanced(alice);
    await expectBalanced(bob);
  });

  it('shows with the offer what the items are, and the taker keeps it', async () => {
    const { offer: made, id } = await bob.wallet.trades.offer({
      ...{ give: tickets(2), want: money(7), expiresAt: inAnHour(), peer: null },
    });
    const { acceptance } = await alice.wallet.trades.accept(carried(made));
    await alice.wallet.trades.complete(carried((await bob.wallet.trades.complete(carried(acceptance))).confirmation));
    await chain.settle();
    expect(alice.wallet.trades.get(id).state).toBe('done');
    expect(await alice.wallet.items.list()).toMatchObject([{ amount: 2n, metadata: 'a ticket' }]);
    const other = carried(made);
    const lie = { ...other, give: { ...other.give, genesis_hash: 'g0' } };
    expect(() => readDocument(lie)).toThrow('not as it was signed');
  });

  it('keeps aside exactly what it gives; the rest of a wallet with one output pays at once', async () => {
    await offer();
    expect(await holdings(alice)).toMatchObject({ tokens: [100n, 70n] });
    await alice.wallet.payments.pay({ address: NOBODY, amount: 70n, locktime: 0n });
    await expect(alice.wallet.payments.pay({ address: NOBODY, amount: 1n, locktime: 0n })).rejects.toMatchObject({
      code: 'insufficient_funds',
    });
    await chain.settle();
    expect(await holdings(alice)).toMatchObject({ tokens: [30n, 0n] });
    await expectBalanced(alice);
  });

  it('shows its half to nobody: it would be a payment without its DRUID, which is not signed', async () => {
    const { id, confirmation } = await agreed();
    const half = alice.wallet.trades.get(id).half;
    await chain.send(alice);
    const stripped = alice.wallet.outgoing.inFlight().find(({ hash }) => hash === half)?.transaction;
    if (stripped === undefined) throw new Error('no half');
    const shown = JSON.stringify(
      [confirmation, alice.wallet.trades.list(), await alice.wallet.history.outgoing()],
      (_, value) => (typeof value === 'bigint' ? String(value) : value),
    );
    for (const { script } of stripped.inputs) {
      const signature = script.find(({ kind }) => kind === 'signature');
      if (signature?.kind !== 'signature') throw new Error('no signature');
      expect(shown).not.toContain(Buffer.from(signature.bytes).toString('hex'));
    }
    expect((await alice.wallet.history.outgoing()).map(([hash]) => hash)).not.toContain(half);
    // A mempool node could do it, and is the only one: the wallet tells truly what has happened then.
    chain.submit({ ...stripped, druidInfo: null });
    await chain.mine();
    expect(alice.wallet.trades.get(id)).toMatchObject({
      state: 'failed',
      reason: 'what it gives was paid, and what it gets has not come',
    });
    await expectBalanced(alice);
  });

  it('goes on when its half was found in a block before the wallet has seen it, also over a restart', async () => {
    const { id, confirmation } = await agreed();
    await bob.wallet.trades.complete(confirmation);
    await chain.send(alice);
    await chain.send(bob);
    await alice.wallet.settlement.markConfirmed(alice.wallet.trades.get(id).half ?? '');
    await alice.wallet.trades.settled();
    alice = await chain.reopen(alice, options);
    expect(alice.wallet.trades.get(id)).toMatchObject({ state: 'agreed', reason: '' });
    await chain.mine();
    await alice.wallet.trades.settled();
    expect(alice.wallet.trades.get(id).state).toBe('done');
    expect(await holdings(alice)).toEqual({ tokens: [70n, 70n], tickets: [3n, 3n] });
    await expectBalanced(alice);
  });

  it('has failed when what it gets does not come with the next blocks either', async () => {
    const { id } = await agreed();
    await chain.send(alice);
    await alice.wallet.settlement.markConfirmed(alice.wallet.trades.get(id).half ?? '');
    await alice.wallet.trades.settled();
    const states: string[] = [];
    for (let i = 0; i < 10; i++) {
      states.push(alice.wallet.trades.get(id).state);
      await chain.mine();
      await alice.wallet.trades.settled();
    }
    expect(states).toEqual(new Array(10).fill('agreed'));
    expect(alice.wallet.trades.get(id)).toMatchObject({ state: 'failed', reason: expect.stringContaining('not come') });
    await expectBalanced(alice);
  });

  it('has failed when what it gets is locked: no expectation of a half covers that', async () => {
    const pair = generateKeyPair(systemRandom);
    const mallory: SigningKey = { publicKey: pair.publicKey, seed: pair.seed };
    const address = addressOf(mallory.publicKey);
    chain.grant([txOut(assetOfTraded(tickets(3)), address)]);
    await chain.settle();
    const [spent] = [...chain.unspent.values()].find(([, output]) => output.scriptPublicKey === address) ?? [];
    if (spent === undefined) throw new Error('no tickets');
    const made = await offer();
    const outputs = [txOut(assetOfTraded(tickets(3)), made.to, 2n ** 64n - 1n)];
    const half = assembleSigned({ inputs: [unsignedInput(spent)], outputs }, new Map([[outPointKey(spent), mallory]]));
    const form = { kind: 'tessera-trade-acceptance' as const, format: 1 as const, offer: offerId(made) };
    const acceptance = signDocument<Acceptance>({ ...form, to: address, from: txInsAddress(half.inputs) }, mallory);
    const { id, confirmation } = await alice.wallet.trades.complete(carried(acceptance));
    const expectations = [{ from: carried(confirmation).from, to: address, asset: assetOfTraded(money(30)) }];
    const druidInfo = { druid: druidOf(acceptance), participants: 2n, expectations, genesisHash: null };
    expect(chain.submit({ ...half, druidInfo })).toBeNull();
    await chain.settle();
    expect(alice.wallet.trades.get(id)).toMatchObject({
      state: 'failed',
      reason: `what it gets is locked until block ${2n ** 64n - 1n}`,
    });
    await expectBalanced(alice);
  });

  it('is neither accepted by its maker, nor in another network, nor late, nor for itself, nor without the funds', async () => {
    const made = carried(await offer());
    await expect(alice.wallet.trades.accept(made)).rejects.toMatchObject({ code: 'trade_refused' });
    await expect(offer(money(3), money(4))).rejects.toMatchObject({ code: 'trade_refused' });
    await expect(offer(money(71))).rejects.toMatchObject({ code: 'insufficient_funds' });
    const dear = carried(await offer(money(1), tickets(11)));
    await expect(bob.wallet.trades.accept(dear)).rejects.toMatchObject({ code: 'insufficient_funds' });
    const foreign = await chain.reopen(bob, { ...options, networkName: 'other' });
    bob = foreign;
    await expect(bob.wallet.trades.accept(made)).rejects.toMatchObject({ message: expect.stringContaining('network') });
    bob = await chain.reopen(bob, options);
    clock.advance(3_600_000);
    await expect(bob.wallet.trades.accept(made)).rejects.toMatchObject({ code: 'trade_closed' });
  });
});

describe('a document that is not what it was', () => {
  const other = 'ab'.repeat(32);

  it.each<[string, (offer: Offer) => unknown]>([
    ['asks for more', (one) => ({ ...one, want: { ...one.want, amount: '9' } })],
    ['gives less', (one) => ({ ...one, give: { ...one.give, amount: '1' } })],
    ['names another address', (one) => ({ ...one, to: other })],
    ['lasts longer', (one) => ({ ...one, expires_at: one.expires_at + 1 })],
    ['names another node', (one) => ({ ...one, peer: '127.0.0.1:1' })],
    ['has no end', ({ expires_at: _, ...one }) => one],
    ['is something else', () => ({ kind: 'tessera-trade' })],
    ['is of a kind that every object has', () => ({ kind: 'constructor' })],
    ['gives what every object has', (one) => ({ ...one, give: { kind: 'constructor' } })],
    ['gives nothing', (one) => ({ ...one, give: null })],
    ['has no nonce', ({ nonce: _, ...one }) => one],
    ['is nothing', () => null],
    ['has an amount of 0', (one) => ({ ...one, give: { ...one.give, amount: '0' } })],
  ])('as an offer that %s is refused by name, and keeps nothing aside', async (_, change) => {
    const made = carried(await offer());
    expect(() => readDocument(change(made))).toThrow(expect.objectContaining({ code: 'trade_refused' }));
    expect(await holdings(bob)).toEqual({ tokens: [5n, 5n], tickets: [10n, 10n] });
  });

  it.each<[string, (one: Acceptance) => Acceptance]>([
    ['names another address', (one) => ({ ...one, to: other })],
    ['names another half', (one) => ({ ...one, from: other })],
    ['is of another offer', (one) => ({ ...one, offer: other })],
    ['is signed by another key', (one) => ({ ...one, public_key: other })],
  ])('as an acceptance that %s is refused by name, and nothing is sent', async (_, change) => {
    const { acceptance } = await bob.wallet.trades.accept(carried(await offer()));
    expect(() => readDocument(change(carried(acceptance)))).toThrow('not as it was signed');
    expect(alice.wallet.outgoing.inFlight().filter(({ kind }) => kind === 'trade')).toEqual([]);
  });

  it('as a confirmation of another acceptance, or by another key, is refused', async () => {
    const { confirmation } = await agreed();
    await expect(bob.wallet.trades.complete({ ...confirmation, from: other })).rejects.toMatchObject({
      code: 'trade_refused',
    });
    await expect(bob.wallet.trades.complete({ ...confirmation, acceptance: other })).rejects.toMatchObject({
      code: 'trade_refused',
    });
    expect(bob.wallet.outgoing.inFlight().filter(({ kind }) => kind === 'trade')).toEqual([]);
  });

  it('as a half that pays less than agreed makes the mempool refuse both, and both have theirs again', async () => {
    const { id, acceptance, confirmation } = await agreed();
    await chain.send(alice);
    await chain.send(bob);
    await chain.mine();
    const [half] = alice.wallet.outgoing.inFlight().filter(({ kind }) => kind === 'trade');
    if (half?.transaction.druidInfo === undefined || half.transaction.druidInfo === null) throw new Error('no half');
    // Bob confirms something else to himself: his wallet expects what was offered, from the half that was named.
    await bob.wallet.trades.complete(confirmation);
    const [ofBob] = bob.wallet.outgoing.inFlight().filter(({ kind }) => kind === 'trade');
    const info = ofBob?.transaction.druidInfo;
    if (ofBob === undefined || info === undefined || info === null) throw new Error('no half');
    expect(info.expectations).toEqual([
      { from: confirmation.from, to: acceptance.to, asset: assetOfTraded(money(30)) },
    ]);
    const wrong = {
      ...ofBob.transaction,
      druidInfo: { ...info, expectations: [{ ...info.expectations[0], to: other }] },
    };
    expect(chain.submit(wrong as typeof ofBob.transaction)).toBe('DRUID trade expectations not met');
    expect(chain.halves).toEqual([]);
    // Neither is alone in a block, and the true halves still meet when both are sent again.
    await chain.mine();
    expect([alice, bob].map(({ wallet }) => wallet.trades.get(id).state)).toEqual(['agreed', 'agreed']);
    expect(chain.submit(half.transaction)).toBeNull();
    await chain.settle();
    expect([alice, bob].map(({ wallet }) => wallet.trades.get(id).state)).toEqual(['done', 'done']);
    expect(transactionHash(half.transaction)).toBe(half.hash);
  });
});

describe('the same document again', () => {
  it('changes nothing, at every step, over restarts', async () => {
    const { id, made, acceptance, confirmation } = await agreed();
    expect((await bob.wallet.trades.accept(made)).acceptance).toEqual(acceptance);
    alice = await chain.reopen(alice, options);
    expect((await alice.wallet.trades.complete(acceptance)).confirmation).toEqual(confirmation);
    await bob.wallet.trades.complete(confirmation);
    bob = await chain.reopen(bob, options);
    await bob.wallet.trades.complete(confirmation);
    await chain.settle();
    expect(await holdings(alice)).toEqual({ tokens: [70n, 70n], tickets: [3n, 3n] });
    await expect(bob.wallet.trades.accept(made)).rejects.toMatchObject({ code: 'trade_closed' });
    expect((await bob.wallet.trades.complete(confirmation)).id).toBe(id);
  });

  it('of an offer serves the first who accepts', async () => {
    const made = await offer();
    const carol = await chain.reopen(bob, options);
    bob = carol;
    const { acceptance } = await bob.wallet.trades.accept(carried(made));
    await alice.wallet.trades.complete(carried(acceptance));
    await bob.wallet.trades.cancel(alice.wallet.trades.list()[0]?.id ?? '');
    await expect(bob.wallet.trades.accept(carried(made))).rejects.toMatchObject({ code: 'trade_closed' });
  });
});

describe('the end of a trade that does not take place', () => {
  it('gives back what was kept at once, while no half is out', async () => {
    const { id } = (await alice.wallet.trades.list())[0] ?? { id: (await agreedOffer()).id };
    await bob.wallet.trades.cancel(id);
    expect(await holdings(bob)).toEqual({ tokens: [5n, 5n], tickets: [10n, 10n] });
    await alice.wallet.trades.cancel(id);
    expect(await holdings(alice)).toMatchObject({ tokens: [100n, 100n] });
    await expect(alice.wallet.trades.cancel(id)).rejects.toMatchObject({ code: 'trade_closed' });
    await expect(alice.wallet.trades.cancel('ab')).rejects.toMatchObject({ code: 'trade_not_found' });
  });

  async function agreedOffer() {
    const made = await offer();
    return bob.wallet.trades.accept(carried(made));
  }

  it('pays the inputs of a half that is out back to the wallet, and has ended with their block', async () => {
    const { id, confirmation } = await agreed();
    await chain.send(alice);
    await chain.mine();
    const cancelled = await alice.wallet.trades.cancel(id);
    expect(cancelled.state).toBe('cancelling');
    // It could still take place: nobody may spend what it gives.
    expect(await holdings(alice)).toMatchObject({ tokens: [100n, 70n] });
    await expectBalanced(alice);
    alice = await chain.reopen(alice, options);
    await chain.settle();
    expect(alice.wallet.trades.get(id).state).toBe('cancelled');
    expect(await holdings(alice)).toMatchObject({ tokens: [100n, 100n] });
    // The other half finds nobody, and its wallet takes its inputs back when the offer has expired.
    await bob.wallet.trades.complete(confirmation);
    await chain.send(bob);
    clock.advance(4_000_000);
    await bob.wallet.trades.expire();
    await chain.settle();
    expect(bob.wallet.trades.get(id).state).toBe('expired');
    expect(await holdings(bob)).toEqual({ tokens: [5n, 5n], tickets: [10n, 10n] });
    await expectBalanced(bob);
  });

  it('is told truly when the other half was faster than the cancelling', async () => {
    const { id, confirmation } = await agreed();
    await bob.wallet.trades.complete(confirmation);
    await chain.send(alice);
    await chain.send(bob);
    await alice.wallet.trades.cancel(id);
    await chain.settle();
    expect(alice.wallet.trades.get(id).state).toBe('done');
    expect(await holdings(alice)).toEqual({ tokens: [70n, 70n], tickets: [3n, 3n] });
    await expectBalanced(alice);
  });

  it('comes by itself when the time is over, over a restart', async () => {
    const made = await offer();
    await bob.wallet.trades.accept(carried(made));
    clock.advance(3_600_000);
    bob = await chain.reopen(bob, options);
    for (const { wallet } of [alice, bob]) await wallet.trades.expire();
    expect(alice.wallet.trades.list().map(({ state }) => state)).toEqual(['expired']);
    expect(await holdings(alice)).toMatchObject({ tokens: [100n, 100n] });
    expect(await holdings(bob)).toEqual({ tokens: [5n, 5n], tickets: [10n, 10n] });
  });
});

describe('a wallet with as many ended trades as it keeps', () => {
  it('starts when one more ends at the start, and tells of that one', async () => {
    const { trades } = alice.wallet;
    const made = await offer();
    const trade = trades.get(offerId(made));
    const batch = alice.kv.batch();
    for (let i = 0; i < 1_000; i++) {
      const id = sha3Hex(`trade ${i}`);
      const ended = { ...trade, id, state: 'cancelled' as const, coins: [], createdAt: trade.createdAt + 1 + i };
      batch.put(tradeKey(id), encodeTrade(ended));
    }
    await alice.kv.write(batch, { sync: false });
    chain.wallets.splice(chain.wallets.indexOf(alice), 1);
    await alice.wallet.close();
    // What was kept for the open one is gone.
    await startOver(alice.kv, clock.now());
    await alice.kv.close();
    const again = await openWallet(alice.folder, { networkName: 'test', ...options });
    expect(again.wallet.trades.get(trade.id).state).toBe('failed');
    expect(again.wallet.trades.list()).toHaveLength(1_000);
    await again.close();
  });
});

describe('offers that others send', () => {
  it.each<[string, number]>([
    ['at a time that no date has', Number.MAX_SAFE_INTEGER],
    ['more than 30 days from now', 30 * 86_400 + 3_601],
  ])('are refused when they end %s', async (_, validFor) => {
    const pair = generateKeyPair(systemRandom);
    const { signature: _signature, public_key: _key, ...content } = await offer();
    const expiresAt = Math.min(Number.MAX_SAFE_INTEGER, Math.floor(clock.now() / 1_000) + validFor);
    const theirs = { ...content, to: addressOf(pair.publicKey), expires_at: expiresAt };
    const made = signDocument<Offer>(theirs, { publicKey: pair.publicKey, seed: pair.seed });
    expect(readDocument(carried(made))).toEqual(made);
    const { trades } = bob.wallet;
    for (const attempt of [() => trades.receive(made, 'a:1', 'a'), () => trades.accept(made)]) {
      await expect(attempt()).rejects.toMatchObject({
        code: 'trade_refused',
        message: expect.stringContaining('30 days'),
      });
    }
    expect(bob.wallet.trades.list()).toEqual([]);
  });

  it('are listed and keep nothing aside, ten of each sender, whatever it says of itself', async () => {
    for (let i = 0; i < 12; i++) {
      await bob.wallet.trades.receive(carried(await offer(money(1), tickets(i + 1))), `a:${i}`, '10.0.0.1');
    }
    const received = () => bob.wallet.trades.list().filter(({ state }) => state === 'received');
    expect(received()).toHaveLength(10);
    expect(await holdings(bob)).toEqual({ tokens: [5n, 5n], tickets: [10n, 10n] });
    const [last] = received();
    if (last === undefined) throw new Error('none');
    await bob.wallet.trades.cancel(last.id);
    expect(received()).toHaveLength(9);
    clock.advance(3_600_000);
    await bob.wallet.trades.expire();
    expect(received()).toEqual([]);
  });

  it('make room for those of others when there are a hundred: nobody closes the list', async () => {
    const received = () => bob.wallet.trades.list().filter(({ state }) => state === 'received');
    const receive = async (sender: string, n: number) => {
      clock.advance(1);
      const made = await offer(money(1), tickets(n));
      await alice.wallet.trades.cancel(offerId(made));
      await bob.wallet.trades.receive(carried(made), 'a:1', sender);
    };
    for (let i = 0; i < 100; i++) await receive(`10.0.0.${Math.floor(i / 10)}`, i + 1);
    await receive('192.168.0.1', 101);
    const senders = received().map(({ sender }) => sender);
    expect([senders.length, senders[0]]).toEqual([100, '192.168.0.1']);
    expect(senders.filter((sender) => sender?.startsWith('10.0.0.'))).toHaveLength(99);
  });
});
