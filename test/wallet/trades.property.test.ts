/** Whatever two wallets do with trades, in any order, over restarts: both halves or none, and coins are kept and freed once. */

import { afterAll, describe, expect } from 'vitest';
import { isTesseraError } from '../../src/lib/errors.js';
import type { Wallet } from '../../src/wallet/wallet.js';
import { ManualClock } from '../support/manual-clock.js';
import { fc, test } from '../support/property.js';
import { carried, TradingChain } from '../support/trading.js';
import { NOBODY, type OpenWallet, removeFolders, tokens } from '../support/wallet-fixtures.js';

const RUNS = 8;
const STEPS = ['offer', 'accept', 'confirm', 'finish', 'cancel', 'pay', 'send', 'mine', 'late', 'restart'] as const;

const step = fc.record({
  /** Mostly what brings a trade forward, or few would come to a block. */
  what: fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom(...STEPS) },
    { weight: 3, arbitrary: fc.constant('forward' as const) },
  ),
  /** Whose step it is. */
  who: fc.constantFrom(0, 1),
  /** Which of the trades that are open for it. */
  which: fc.nat(5),
  amount: fc.integer({ min: 1, max: 6 }),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

afterAll(removeFolders);

/** What a user may be told. */
async function attempt(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const codes = ['insufficient_funds', 'trade_closed', 'trade_refused', 'trade_not_found'] as const;
    if (!codes.some((code) => isTesseraError(error, code))) throw error;
  }
}

class World {
  readonly #clock = new ManualClock();
  readonly #chain = new TradingChain();
  #genesisHash = '';

  async begin(): Promise<void> {
    const [alice, bob] = [await this.#wallet(), await this.#wallet()];
    this.#chain.grant([tokens(await alice.wallet.newAddress(), 20n), tokens(await bob.wallet.newAddress(), 20n)]);
    this.#genesisHash = (await bob.wallet.payments.createItem({ spec: 'Create', amount: 20n, metadata: null })).hash;
    await this.#chain.settle();
  }

  async take({ what, who, which, amount }: Step): Promise<void> {
    const own = this.#at(who);
    const { payments, trades } = own.wallet;
    const other = this.#at(1 - who).wallet.trades.list();
    const pick = <T>(list: readonly T[]): T | undefined => list[which % Math.max(list.length, 1)];
    const open = trades.list().filter(({ state }) => ['open', 'accepted', 'agreed'].includes(state));
    const [money, items] = [
      { kind: 'token' as const, amount: String(amount) },
      { kind: 'item' as const, amount: String(which + 1), genesis_hash: this.#genesisHash },
    ];
    const [give, want] = which % 2 === 0 ? [money, items] : [items, money];
    const expiresAt = Math.floor(this.#clock.now() / 1_000) + 3_600;
    const offered = pick(other.filter(({ side }) => side === 'maker'))?.offer;
    const answer = pick(other)?.[what === 'confirm' ? 'acceptance' : 'confirmation'];
    if (what === 'offer') await attempt(() => trades.offer({ give, want, expiresAt, peer: null }));
    if (what === 'accept' && offered) await attempt(() => trades.accept(carried(offered)));
    if ((what === 'confirm' || what === 'finish') && answer) await attempt(() => trades.complete(carried(answer)));
    if (what === 'cancel') await attempt(() => trades.cancel(pick(open)?.id ?? ''));
    if (what === 'pay') await attempt(() => payments.pay({ address: NOBODY, amount: BigInt(amount), locktime: 0n }));
    if (what === 'forward') await this.#forward(which);
    if (what === 'send') await this.#chain.send(own);
    if (what === 'mine') await this.#mine();
    if (what === 'late') {
      this.#clock.advance(1_000_000);
      for (const { wallet } of this.#chain.wallets) await wallet.trades.expire();
    }
    if (what === 'restart') await this.#chain.reopen(own, { clock: this.#clock });
    for (const { wallet } of this.#chain.wallets) await this.#checkBalance(wallet);
  }

  /** The next step of a trade, by whoever has to take it. */
  async #forward(which: number): Promise<void> {
    const trades = [this.#at(0), this.#at(1)].map(({ wallet }) => wallet.trades);
    const going = [0, 1].flatMap((maker) =>
      (trades[maker]?.list() ?? []).flatMap((one) =>
        one.side === 'maker' && (one.state === 'open' || one.state === 'agreed')
          ? [{ one, taker: trades[1 - maker] }]
          : [],
      ),
    );
    const picked = going[which % Math.max(going.length, 1)];
    if (picked === undefined) return;
    const { one, taker } = picked;
    const [taken, makers] = [taker?.list().find(({ id }) => id === one.id), trades.find((all) => all !== taker)];
    if (taken === undefined) await attempt(async () => taker?.accept(carried(one.offer)));
    else if (one.state === 'open') await attempt(async () => makers?.complete(carried(taken.acceptance)));
    else if (taken.state === 'accepted') await attempt(async () => taker?.complete(carried(one.confirmation)));
    else await this.#sendAndMine();
  }

  async #sendAndMine(): Promise<void> {
    for (const opened of [...this.#chain.wallets]) await this.#chain.send(opened);
    await this.#mine();
  }

  /** In the end nothing is kept or on its way, and what was done by one was done by both. */
  async end(): Promise<void> {
    for (let i = 0; i < 3; i++) {
      await this.#chain.settle();
      this.#clock.advance(4_000_000);
      for (const { wallet } of this.#chain.wallets) await wallet.trades.expire();
    }
    await this.#chain.settle();
    const [ofAlice, ofBob] = this.#chain.wallets.map(
      ({ wallet }) => new Map(wallet.trades.list().map(({ id, state }) => [id, state])),
    );
    for (const [id, state] of [...(ofAlice ?? []), ...(ofBob ?? [])]) {
      expect(['done', 'cancelled', 'expired', 'failed']).toContain(state);
      if (state === 'done') expect([ofAlice?.get(id), ofBob?.get(id)]).toEqual(['done', 'done']);
    }
    for (const { wallet } of this.#chain.wallets) {
      const { running, available } = wallet.coins.totals();
      const held = [...this.#chain.unspent.values()].filter(([, { scriptPublicKey: to }]) =>
        wallet.keys.owns(to ?? ''),
      );
      const sum = (kind: string) =>
        held.reduce((total, [, { value }]) => (value.kind === kind ? total + value.amount : total), 0n);
      expect([running, available]).toEqual([sum('token'), sum('token')]);
      const items = await wallet.items.list();
      expect(items.every((one) => one.amount === one.available)).toBe(true);
      expect(items.reduce((total, one) => total + one.amount, 0n)).toBe(sum('item'));
      await this.#checkBalance(wallet);
    }
  }

  async close(): Promise<void> {
    for (const opened of this.#chain.wallets) await opened.close();
  }

  /** A block has both halves of a trade, side by side, or none. */
  async #mine(): Promise<void> {
    const counts = new Map<string, number>();
    for (const { druidInfo } of await this.#chain.mine()) {
      if (druidInfo !== null) counts.set(druidInfo.druid, (counts.get(druidInfo.druid) ?? 0) + 1);
    }
    expect([...counts.values()].every((count) => count === 2)).toBe(true);
  }

  /** The movements that count add up to what the wallet has. */
  async #checkBalance(wallet: Wallet): Promise<void> {
    const { movements } = await wallet.history.movements({ limit: 1_000, newestFirst: false });
    expect(movements.reduce((sum, { net }) => sum + net, 0n)).toBe(wallet.coins.totals().running);
  }

  #wallet(): Promise<OpenWallet> {
    return this.#chain.wallet({ clock: this.#clock });
  }

  #at(who: number): OpenWallet {
    const found = this.#chain.wallets[who];
    if (found === undefined) throw new Error('no wallet');
    return found;
  }
}

describe('two wallets that trade', () => {
  test.prop([fc.array(step, { minLength: 40, maxLength: 60 })], { numRuns: RUNS })(
    'keep what they have, whatever they do and in whatever order',
    async (steps) => {
      const world = new World();
      await world.begin();
      try {
        for (const one of steps) await world.take(one);
        await world.end();
      } finally {
        await world.close();
      }
    },
  );
});
