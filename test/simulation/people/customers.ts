/**
 * The customers of a world's wallets: they get addresses, which the clients pay, and pay from them under a key each: also twice at once, and again
 * after a lost answer. In some stories they make items, and trade (barter.ts). `wallet-books.ts` holds all of that against the chain.
 */

import { booksOf, type Gap, type Intent, type Request, walletViolations } from '../judge/wallet-books.js';
import type { Stage, Violation } from '../play.js';
import type { Call, Http, HttpAnswer } from '../world/http.js';
import type { Machine } from '../world/node.js';
import type { Process, World } from '../world/world.js';
import { Barter } from './barter.js';
import { type Person, personOf } from './people.js';

/** Of the nodes with wallets. */
export const PASSPHRASE = 'a passphrase';
/** Codes with which a payment is refused for good: its key has paid nothing. */
const REFUSED: ReadonlySet<string> = new Set(['insufficient_funds', 'payment_refused']);
/** Requests for one payment without a definite answer, until it is left alone. */
const MOST_REQUESTS = 12;
const MOST_ADDRESSES = 4;
/** The least amount of a payment: each has another one, by which it is found at an address that spends nothing. */
const LEAST = 1_000;

export interface CustomersModules {
  readonly world: World;
  readonly http: Http;
}

export interface GivenAddress extends Request {
  readonly address: string;
}

export class Customers {
  readonly #modules: CustomersModules;
  readonly wallets: readonly Machine[];
  readonly #process: Process;
  readonly #barter: Barter;
  /** Addresses that each wallet has given. */
  readonly given = new Map<Machine, GivenAddress[]>();
  readonly intents: Intent[] = [];
  /** Times of which wallets know nothing, because they got an older copy of their disk. */
  readonly gaps = new Map<Machine, Gap[]>();
  readonly shop: Person = personOf('a shop');
  #isOver = false;
  #atWork = 0;

  constructor(wallets: readonly Machine[], modules: CustomersModules) {
    this.wallets = wallets;
    this.#modules = modules;
    this.#process = modules.world.process('customers');
    this.#process.host = '10.0.3.2';
    this.#barter = new Barter(this, { ...modules, process: this.#process });
  }

  /** Whom the clients may pay. */
  get addresses(): readonly string[] {
    return [...this.given.values()].flat().map(({ address }) => address);
  }

  get isAtRest(): boolean {
    return this.#isOver && this.#atWork === 0;
  }

  /** The trades that were offered, and the items that were made. */
  get bartered(): Pick<Barter, 'creations'> {
    return this.#barter;
  }

  /** `pause`: milliseconds between two payments of a wallet. `barter`: so many of the acts are about items and trades. */
  start(pause: number, barter: number): void {
    for (const wallet of this.wallets) this.#loop(wallet, pause, barter);
  }

  end(): void {
    this.#isOver = true;
  }

  /** A wallet has an older copy of its disk. */
  gotOlder(wallet: Machine, gap: Gap): void {
    this.gaps.set(wallet, [...(this.gaps.get(wallet) ?? []), gap]);
  }

  #loop(wallet: Machine, pause: number, barter: number): void {
    const { world } = this.#modules;
    const { luck } = this.#process;
    const next = (): void => {
      if (this.#isOver) return;
      this.#atWork++;
      this.#act(wallet, barter)
        .catch((error: unknown) => world.onUncaught(this.#process, error))
        .finally(() => {
          this.#atWork--;
          world.later(this.#process, luck.between(0.2, 1) * pause, next);
        });
    };
    world.later(this.#process, luck.between(0, pause), next);
  }

  async #act(wallet: Machine, barter: number): Promise<void> {
    const { luck } = this.#process;
    const own = this.given.get(wallet) ?? [];
    if (own.length === 0 || (own.length < MOST_ADDRESSES && luck.chance(0.1))) return this.#newAddress(wallet);
    if (barter > 0 && luck.chance(barter)) return this.#barter.act(wallet);
    // Two payments at once want the same coins.
    const payments = [this.#payment(wallet), ...(luck.chance(0.3) ? [this.#payment(wallet)] : [])];
    await Promise.all(payments);
  }

  async #payment(wallet: Machine): Promise<void> {
    const { luck } = this.#process;
    const address = luck.chance(0.6) ? this.shop.address : luck.pick(this.addresses);
    const amount = LEAST + this.intents.length;
    const body = { kind: 'address', address, amount, locktime: null, passphrase: PASSPHRASE };
    await this.intend(
      wallet,
      { method: 'POST', url: '/v1/payments', body },
      { amount, isToShop: address === this.shop.address },
    );
  }

  /** Has something done once, by a key of its own; gives its hash, where it is told. */
  async intend(
    wallet: Machine,
    call: Omit<Call, 'key'>,
    { amount, isToShop }: Pick<Intent, 'amount' | 'isToShop'>,
  ): Promise<string | undefined> {
    const { luck } = this.#process;
    const key = `payment ${this.intents.length}`;
    const intent: Intent = { wallet, key, isToShop, amount, isRefused: false, hashes: new Set(), requests: [] };
    this.intents.push(intent);
    const keyed = { ...call, key };
    const requests = [this.#askUntilKnown(intent, keyed)];
    if (luck.chance(0.3)) requests.push(this.#askUntilKnown(intent, keyed));
    await Promise.all(requests);
    // Whoever asks once more is told the same.
    if (luck.chance(0.3)) await this.#ask(intent, keyed);
    const [hash] = intent.hashes;
    return hash;
  }

  async #newAddress(wallet: Machine): Promise<void> {
    const { http, world } = this.#modules;
    const began = world.now;
    const got = await http.send(this.#process, wallet, { method: 'POST', url: '/v1/wallet/addresses' });
    if (got.kind !== 'answer' || got.status >= 300) return;
    const { address } = got.body as { readonly address: string };
    this.given.set(wallet, [...(this.given.get(wallet) ?? []), { address, began, ended: world.now }]);
  }

  async #askUntilKnown(intent: Intent, call: Call): Promise<void> {
    const { world } = this.#modules;
    for (let i = 0; i < MOST_REQUESTS; i++) {
      if (await this.#ask(intent, call)) return;
      const ms = this.#process.luck.between(50, 1_500);
      await new Promise<void>((resolve) => void world.later(this.#process, ms, resolve));
    }
  }

  /** True if the answer is definite. */
  async #ask(intent: Intent, call: Call): Promise<boolean> {
    const { http, world } = this.#modules;
    const began = world.now;
    const got = await http.send(this.#process, intent.wallet, call);
    const { hash = await this.#hashOf(intent, got), code } = meaningOf(got);
    intent.requests.push({ began, ended: world.now });
    if (hash === undefined) world.note(`${intent.wallet.name} answers "${intent.key}" with ${code}`);
    if (hash !== undefined) intent.hashes.add(hash);
    // Another request with the same key may find funds.
    intent.isRefused = hash === undefined && REFUSED.has(code);
    return hash !== undefined || intent.isRefused;
  }

  /** The answer to who makes items does not name the transaction; the history does. */
  async #hashOf({ wallet, key }: Intent, got: HttpAnswer): Promise<string | undefined> {
    if (got.kind !== 'answer' || got.status >= 300) return undefined;
    const url = `/v1/wallet/movements?idempotency_key=${encodeURIComponent(key)}`;
    const found = await this.#modules.http.send(this.#process, wallet, { method: 'GET', url });
    if (found.kind !== 'answer' || found.status >= 300) return undefined;
    const { movements } = found.body as { readonly movements: readonly { readonly tx_hash: string }[] };
    return movements[0]?.tx_hash;
  }

  /** All addresses that own what is paid to wallets and by them. */
  async owners({ world }: Stage): Promise<string[]> {
    const all = [this.shop.address];
    for (const wallet of this.wallets) all.push(...(await booksOf(world, wallet)).addresses);
    return all;
  }

  /** What is wrong in a world at rest. */
  violations(stage: Stage, inBlocks: ReadonlySet<string>): Promise<Violation[]> {
    return walletViolations(this, stage, inBlocks);
  }
}

function meaningOf(got: HttpAnswer): { readonly hash?: string; readonly code: string } {
  if (got.kind !== 'answer') return { code: got.kind };
  const { tx_hash: hash, code = '' } = (got.body ?? {}) as { readonly tx_hash?: string; readonly code?: string };
  return got.status < 300 && hash !== undefined ? { hash, code } : { code };
}
