/** Trades of the wallet library: with each other and with the wallets of nodes, by the same documents (docs/wallet.md#trades). */

import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withFixedHash } from '../../src/chain/assets.js';
import { druidSetFault } from '../../src/chain/druid.js';
import {
  type AcceptedOffer,
  acceptOffer,
  addressOf,
  balanceOf,
  completeTrade,
  confirmTrade,
  createOffer,
  type KeyPair,
  keyPairOf,
  type Offer,
  readTradeDocument,
  termsOf,
  transactionFault,
  type UnspentOutput,
} from '../../src/sdk/wallet.js';
import { ManualClock } from '../support/manual-clock.js';
import { fc, test } from '../support/property.js';
import { carried, TradingChain } from '../support/trading.js';
import { type OpenWallet, removeFolders, tokens } from '../support/wallet-fixtures.js';

const ITEM = `g${'3'.repeat(31)}`;
const [ALICE, BOB, EVE] = [1, 2, 3].map((byte) => keyPairOf(new Uint8Array(32).fill(byte))) as [
  KeyPair,
  KeyPair,
  KeyPair,
];
const NOW = 1_000_000_000_000;
const HERE = { network: 'test', now: NOW };
const IN_AN_HOUR = NOW / 1_000 + 3_600;

const owned = (key: KeyPair, n: number, amount: bigint, item?: string): UnspentOutput => ({
  outPoint: { tHash: `g${'4'.repeat(31)}`, n },
  address: addressOf(key.publicKey),
  value: item === undefined ? { kind: 'token', amount } : { kind: 'item', amount, genesisHash: item, metadata: null },
});

/** Alice's tokens and Bob's items. */
const MONEY = [owned(ALICE, 0, 100n)];
const TICKETS = [owned(BOB, 1, 10n, ITEM)];
const TERMS = { give: { amount: 30n }, want: { amount: 3n, item: ITEM } };

const offered = (): Offer => carried(createOffer({ ...TERMS, key: ALICE, expiresAt: IN_AN_HOUR, ...HERE }));
const accepted = (offer: Offer, key = BOB, unspent = TICKETS): AcceptedOffer =>
  acceptOffer(offer, { key, keys: [key], unspent, ...HERE });
const ofAlice = (offer: Offer) => ({ offer, key: ALICE, keys: [ALICE], unspent: MONEY, now: NOW });

describe('a trade between two pages', () => {
  test.prop([fc.bigInt({ min: 1n, max: 100n }), fc.bigInt({ min: 1n, max: 10n })])(
    'gives each what was agreed upon: both halves are valid, and meet what the other expects',
    (price, count) => {
      const terms = { give: { amount: price }, want: { amount: count, item: ITEM } };
      const offer = carried(createOffer({ ...terms, key: ALICE, expiresAt: IN_AN_HOUR, ...HERE }));
      expect(termsOf(offer)).toEqual({ makerGives: terms.give, takerGives: terms.want });
      const taken = accepted(offer);
      const { confirmation, half } = confirmTrade(carried(taken.acceptance), ofAlice(offer));
      const other = completeTrade(carried(confirmation), { ...taken, offer, now: NOW });
      const { druid } = half.transaction.druidInfo ?? { druid: '' };
      expect(druid).toMatch(/^DRUID0x[0-9a-f]{32}$/);
      expect(druidSetFault(druid, [half.transaction, other.transaction])).toBeNull();
      expect(transactionFault(half.transaction, MONEY)).toBeNull();
      expect(transactionFault(other.transaction, TICKETS)).toBeNull();
      expect(half.change?.value.amount ?? 0n).toBe(100n - price);
      expect(other.change?.value.amount ?? 0n).toBe(10n - count);
    },
  );

  it('needs no memory but the documents, its keys and the taker’s half', () => {
    const offer = offered();
    expect(readTradeDocument(JSON.parse(JSON.stringify(offer)))).toEqual(offer);
    const first = confirmTrade(accepted(offer).acceptance, ofAlice(offer));
    expect(confirmTrade(accepted(offer).acceptance, ofAlice(offer))).toEqual(first);
  });

  it.each<[string, (offer: Offer) => unknown]>([
    ['an offer that was changed', (one) => accepted({ ...one, want: { kind: 'token', amount: '1' } })],
    [
      'an offer of another network',
      (one) => acceptOffer(one, { key: BOB, keys: [BOB], unspent: TICKETS, network: 'other', now: NOW }),
    ],
    ['an own offer', (one) => accepted(one, ALICE)],
    ['an acceptance of another offer', (one) => confirmTrade(accepted(offered()).acceptance, ofAlice(one))],
    [
      'an acceptance that was changed',
      (one) => confirmTrade({ ...accepted(one).acceptance, to: addressOf(EVE.publicKey) }, ofAlice(one)),
    ],
    [
      'a confirmation of somebody else’s acceptance',
      (one) => {
        const { confirmation } = confirmTrade(accepted(one, EVE, [owned(EVE, 2, 5n, ITEM)]).acceptance, ofAlice(one));
        return completeTrade(confirmation, { ...accepted(one), offer: one, now: NOW });
      },
    ],
    [
      'a confirmation by somebody else',
      (one) => {
        const { confirmation } = confirmTrade(accepted(one).acceptance, { ...ofAlice(one), key: EVE });
        return completeTrade(confirmation, { ...accepted(one), offer: one, now: NOW });
      },
    ],
  ])('refuses %s', (_, trade) => {
    expect(() => trade(offered())).toThrow(expect.objectContaining({ code: 'trade_refused' }));
  });

  it('refuses an offer that has expired, and what the funds do not cover', () => {
    const late = { ...HERE, now: NOW + 3_600_000 };
    const closed = expect.objectContaining({ code: 'trade_closed' });
    expect(() => acceptOffer(offered(), { key: BOB, keys: [BOB], unspent: TICKETS, ...late })).toThrow(closed);
    expect(() => createOffer({ ...TERMS, key: ALICE, expiresAt: IN_AN_HOUR, ...late })).toThrow(closed);
    expect(() => accepted(offered(), BOB, [])).toThrow(expect.objectContaining({ code: 'insufficient_funds' }));
  });

  it('is not completed when the maker has confirmed long after the end of the offer, whatever its clock says', () => {
    const offer = offered();
    const taken = accepted(offer);
    const { confirmation } = confirmTrade(taken.acceptance, ofAlice(offer));
    const completedAt = (now?: number) => completeTrade(confirmation, { ...taken, offer, now });
    const end = offer.expires_at * 1_000;
    // As long as a node's wallet lets halves meet after the end.
    expect(completedAt(end + 119_999).hash).toBe(completedAt(NOW).hash);
    const closed = expect.objectContaining({ code: 'trade_closed' });
    expect(() => completedAt(end + 120_000)).toThrow(closed);
    expect(() => completedAt()).toThrow(closed);
  });
});

describe('a trade with the wallet of a node', () => {
  const clock = new ManualClock();
  let chain: TradingChain;
  let node: OpenWallet;
  let ticket: string;
  const expiresAt = () => Math.floor(clock.now() / 1_000) + 3_600;
  const here = () => ({ network: 'test', now: clock.now() });

  /** What the chain has for a key. */
  const holdingsOf = ({ publicKey }: KeyPair): UnspentOutput[] =>
    [...chain.unspent.values()]
      .filter(([, { scriptPublicKey }]) => scriptPublicKey === addressOf(publicKey))
      .map(([outPoint, txOut]) => ({
        outPoint,
        address: addressOf(publicKey),
        value: withFixedHash(txOut.value, outPoint),
      }));

  beforeEach(async () => {
    chain = new TradingChain();
    node = await chain.wallet({ clock });
    chain.grant([tokens(addressOf(ALICE.publicKey), 100n), tokens(await node.wallet.newAddress(), 5n)]);
    ticket = (await node.wallet.payments.createItem({ spec: 'Create', amount: 10n, metadata: 'a ticket' })).hash;
    await chain.settle();
  });
  afterEach(() => Promise.all(chain.wallets.map((opened) => opened.close())));
  afterAll(removeFolders);

  it('takes its offer', async () => {
    const give = { kind: 'item' as const, amount: '3', genesis_hash: ticket };
    const want = { kind: 'token' as const, amount: '30' };
    const made = await node.wallet.trades.offer({ give, want, expiresAt: expiresAt(), peer: null });
    const offer = carried(made.offer);
    const taken = acceptOffer(offer, { key: ALICE, keys: [ALICE], unspent: holdingsOf(ALICE), ...here() });
    const { confirmation } = await node.wallet.trades.complete(carried(taken.acceptance));
    const half = completeTrade(carried(confirmation), { ...taken, offer, now: clock.now() });
    expect(chain.submit(half.transaction)).toBeNull();
    await chain.settle();
    expect(node.wallet.trades.get(made.id).state).toBe('done');
    expect([balanceOf(holdingsOf(ALICE)), balanceOf(holdingsOf(ALICE), ticket)]).toEqual([70n, 3n]);
  });

  it('makes it an offer', async () => {
    const terms = { give: { amount: 30n }, want: { amount: 3n, item: ticket } };
    const offer = createOffer({ ...terms, key: ALICE, expiresAt: expiresAt(), ...here() });
    const { acceptance, id } = await node.wallet.trades.accept(carried(offer));
    const funds = { keys: [ALICE], unspent: holdingsOf(ALICE) };
    const { confirmation, half } = confirmTrade(carried(acceptance), { offer, key: ALICE, ...funds, now: clock.now() });
    expect(chain.submit(half.transaction)).toBeNull();
    await node.wallet.trades.complete(carried(confirmation));
    await chain.settle();
    expect(node.wallet.trades.get(id).state).toBe('done');
    expect([balanceOf(holdingsOf(ALICE)), balanceOf(holdingsOf(ALICE), ticket)]).toEqual([70n, 3n]);
  });
});
