/** What customers do with items: they have wallets create them, pay them, and trade them for tokens and for each other, by documents and over links. */

import type { Call } from '../world/http.js';
import { Machine } from '../world/node.js';
import type { Process } from '../world/world.js';
import type { Customers, CustomersModules } from './customers.js';
import { PASSPHRASE } from './customers.js';

/** Requests for one step without a definite answer, until the trade is left alone. */
const MOST_REQUESTS = 6;
const MOST_CLASSES = 4;
/** Items of a class: at least, and so many more at most. */
const LEAST_ITEMS = 5;
const MORE_ITEMS = 40;
/** Seconds for which an offer stands, at most. */
const MOST_SECONDS = 12;
/** So many of the steps of a trade are not taken: somebody has changed their mind. */
const SHARE_OF_LEFT = 0.1;
const TOKENS_GIVEN = 50_000;

export interface BarterModules extends CustomersModules {
  readonly process: Process;
}

interface Asset {
  readonly kind: 'token' | 'item';
  readonly amount: number;
  readonly genesis_hash?: string;
}

type Json = Readonly<Record<string, unknown>>;

export class Barter {
  readonly #customers: Customers;
  readonly #modules: BarterModules;
  /** Numbers of items that were made, by class. */
  readonly creations = new Map<string, number>();
  /** Offers so far: each has a key. */
  #offers = 0;

  constructor(customers: Customers, modules: BarterModules) {
    this.#customers = customers;
    this.#modules = modules;
  }

  async act(wallet: Machine): Promise<void> {
    const { luck } = this.#modules.process;
    if (this.creations.size === 0 || (this.creations.size < MOST_CLASSES && luck.chance(0.2)))
      return this.#create(wallet);
    if (luck.chance(0.3)) return this.#payItems(wallet);
    return this.#trade(wallet);
  }

  async #create(wallet: Machine): Promise<void> {
    const amount = LEAST_ITEMS + this.#modules.process.luck.below(MORE_ITEMS);
    const body = { item_amount: amount, genesis_hash_spec: 'Create', metadata: 'a ticket' };
    const call = { method: 'POST', url: '/v1/items', body } as const;
    const hash = await this.#customers.intend(wallet, call, { amount, isToShop: false });
    if (hash !== undefined) this.creations.set(hash, amount);
  }

  async #payItems(wallet: Machine): Promise<void> {
    const { luck } = this.#modules.process;
    const address = luck.chance(0.3) ? this.#customers.shop.address : luck.pick(this.#customers.addresses);
    const [amount, genesis] = [1 + luck.below(3), luck.pick([...this.creations.keys()])];
    const body = { kind: 'address', address, amount, genesis_hash: genesis, locktime: null, passphrase: PASSPHRASE };
    const call = { method: 'POST', url: '/v1/item-payments', body } as const;
    await this.#customers.intend(wallet, call, { amount, isToShop: false });
  }

  async #trade(maker: Machine): Promise<void> {
    const { luck } = this.#modules.process;
    const others = this.#customers.wallets.filter((one) => one !== maker);
    const [one, other] = [this.#someItems(), luck.chance(0.2) ? this.#someItems() : this.#someTokens()];
    if (others.length === 0 || one.genesis_hash === other.genesis_hash) return;
    const taker = luck.pick(others);
    const [give, want] = luck.chance(0.5) ? [one, other] : [other, one];
    const way = luck.pick(['documents', 'reachable', 'peer'] as const);
    const body = {
      give,
      want,
      valid_for: 2 + luck.below(MOST_SECONDS),
      passphrase: PASSPHRASE,
      ...(way === 'peer' && { peer: Machine.addressOf(taker.host) }),
      ...(way === 'reachable' && { reachable: true }),
    };
    const key = `offer ${this.#offers++}`;
    const offered = await this.#ask(maker, { method: 'POST', url: '/v1/trades', body, key });
    if (offered === undefined || (await this.#isLeft(maker, offered))) return;
    const accept = { offer: offered.offer, passphrase: PASSPHRASE };
    const accepted = await this.#ask(taker, { method: 'POST', url: '/v1/trades/accept', body: accept });
    if (accepted === undefined || (await this.#isLeft(taker, offered)) || way !== 'documents') return;
    const confirmed = await this.#complete(maker, accepted.acceptance);
    if (confirmed === undefined || (await this.#isLeft(maker, offered))) return;
    await this.#complete(taker, confirmed.confirmation);
    await this.#isLeft(taker, offered);
  }

  #someItems(): Asset {
    const { luck } = this.#modules.process;
    return { kind: 'item', amount: 1 + luck.below(3), genesis_hash: luck.pick([...this.creations.keys()]) };
  }

  #someTokens(): Asset {
    return { kind: 'token', amount: TOKENS_GIVEN + this.#modules.process.luck.below(TOKENS_GIVEN) };
  }

  #complete(wallet: Machine, document: unknown): Promise<Json | undefined> {
    return this.#ask(wallet, { method: 'POST', url: '/v1/trades/complete', body: { document } });
  }

  /** True if a trade is left alone after a step; at times its wallet is told. */
  async #isLeft(wallet: Machine, offered: Json): Promise<boolean> {
    const { luck } = this.#modules.process;
    await this.#pause(luck.chance(0.5) ? 0 : luck.between(0, 2_000));
    if (!luck.chance(SHARE_OF_LEFT)) return false;
    if (luck.chance(0.7)) await this.#ask(wallet, { method: 'POST', url: `/v1/trades/${offered.trade_id}/cancel` });
    return true;
  }

  /** The answer, where there is one that says yes. */
  async #ask(wallet: Machine, call: Call): Promise<Json | undefined> {
    const { http, process, world } = this.#modules;
    for (let i = 0; i < MOST_REQUESTS; i++) {
      const got = await http.send(process, wallet, call);
      const answer = got.kind === 'answer' ? `${got.status} ${(got.body as Json | undefined)?.code ?? ''}` : got.kind;
      world.note(`${call.url} at ${wallet.name}: ${answer}`);
      if (got.kind === 'answer' && got.status < 300) return got.body as Json;
      if (got.kind === 'answer' && got.status < 429) return undefined;
      await this.#pause(process.luck.between(50, 1_500));
    }
    return undefined;
  }

  #pause(ms: number): Promise<void> {
    const { world, process } = this.#modules;
    return new Promise((resolve) => void world.later(process, ms, resolve));
  }
}
