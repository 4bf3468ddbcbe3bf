/**
 * The customers of a world's wallets: they get addresses, which the clients pay, and pay from them under a key each: also twice at once, and again
 * after a lost answer. At the end each payment is held against the chain, and each wallet against what it owns there.
 */

import { type Person, personOf } from './clients.js';
import { type Stage, type Violation, within } from './play.js';
import type { Http, HttpAnswer } from './world/http.js';
import type { Machine } from './world/node.js';
import type { Process, World } from './world/world.js';

/** Of the user nodes. */
export const PASSPHRASE = 'a passphrase';
/** Codes with which a payment is refused for good: its key has paid nothing. */
const REFUSED: ReadonlySet<string> = new Set(['insufficient_funds', 'payment_refused']);
/** Requests for one payment without a definite answer, until it is left alone. */
const MOST_REQUESTS = 12;
const MOST_ADDRESSES = 4;
/** The least amount of a payment: each has another one, by which it is found at an address that spends nothing. */
const LEAST = 1_000;
const PAGE = 1_000;

interface Intent {
  readonly wallet: Machine;
  readonly key: string;
  readonly address: string;
  readonly amount: number;
  isRefused: boolean;
  /** Hashes that were given for its key: one. */
  readonly hashes: Set<string>;
}

export interface CustomersModules {
  readonly world: World;
  readonly http: Http;
}

export class Customers {
  readonly #modules: CustomersModules;
  readonly #wallets: readonly Machine[];
  readonly #process: Process;
  /** Addresses that each wallet has given. */
  readonly #addresses = new Map<Machine, string[]>();
  readonly #intents: Intent[] = [];
  readonly #shop: Person = personOf('a shop');
  #isOver = false;
  #atWork = 0;

  constructor(wallets: readonly Machine[], modules: CustomersModules) {
    this.#wallets = wallets;
    this.#modules = modules;
    this.#process = modules.world.process('customers');
    this.#process.host = '10.0.3.2';
  }

  /** Whom the clients may pay. */
  get addresses(): readonly string[] {
    return [...this.#addresses.values()].flat();
  }

  get isAtRest(): boolean {
    return this.#isOver && this.#atWork === 0;
  }

  /** `pause`: milliseconds between two payments of a wallet. */
  start(pause: number): void {
    for (const wallet of this.#wallets) this.#loop(wallet, pause);
  }

  end(): void {
    this.#isOver = true;
  }

  #loop(wallet: Machine, pause: number): void {
    const { world } = this.#modules;
    const { luck } = this.#process;
    const next = (): void => {
      if (this.#isOver) return;
      this.#atWork++;
      this.#act(wallet)
        .catch((error: unknown) => world.onUncaught(this.#process, error))
        .finally(() => {
          this.#atWork--;
          world.later(this.#process, luck.between(0.2, 1) * pause, next);
        });
    };
    world.later(this.#process, luck.between(0, pause), next);
  }

  async #act(wallet: Machine): Promise<void> {
    const { luck } = this.#process;
    const own = this.#addresses.get(wallet) ?? [];
    if (own.length === 0 || (own.length < MOST_ADDRESSES && luck.chance(0.1))) return this.#newAddress(wallet);
    // Two payments at once want the same coins.
    const payments = [this.#payment(wallet), ...(luck.chance(0.3) ? [this.#payment(wallet)] : [])];
    await Promise.all(payments);
  }

  async #payment(wallet: Machine): Promise<void> {
    const { luck } = this.#process;
    const key = `payment ${this.#intents.length}`;
    const address = luck.chance(0.6) ? this.#shop.address : luck.pick(this.addresses);
    const amount = LEAST + this.#intents.length;
    const intent: Intent = { wallet, key, address, amount, isRefused: false, hashes: new Set() };
    this.#intents.push(intent);
    const requests = [this.#payUntilKnown(intent)];
    if (luck.chance(0.3)) requests.push(this.#payUntilKnown(intent));
    await Promise.all(requests);
    // Whoever asks once more is told the same.
    if (luck.chance(0.3)) await this.#pay(intent);
  }

  async #newAddress(wallet: Machine): Promise<void> {
    const got = await this.#modules.http.send(this.#process, wallet, { method: 'POST', url: '/v1/wallet/addresses' });
    if (got.kind !== 'answer' || got.status >= 300) return;
    const { address } = got.body as { readonly address: string };
    this.#addresses.set(wallet, [...(this.#addresses.get(wallet) ?? []), address]);
  }

  async #payUntilKnown(intent: Intent): Promise<void> {
    const { world } = this.#modules;
    for (let i = 0; i < MOST_REQUESTS; i++) {
      if (await this.#pay(intent)) return;
      const ms = this.#process.luck.between(50, 1_500);
      await new Promise<void>((resolve) => void world.later(this.#process, ms, resolve));
    }
  }

  /** True if the answer is definite. */
  async #pay(intent: Intent): Promise<boolean> {
    const { wallet, key, address, amount } = intent;
    const body = { kind: 'address', address, amount, locktime: null, passphrase: PASSPHRASE };
    const got = await this.#modules.http.send(this.#process, wallet, {
      method: 'POST',
      url: '/v1/payments',
      body,
      key,
    });
    const { hash, code } = meaningOf(got);
    if (hash !== undefined) intent.hashes.add(hash);
    // Another request with the same key may find funds.
    intent.isRefused = hash === undefined && REFUSED.has(code);
    return hash !== undefined || intent.isRefused;
  }

  /** All addresses that own what is paid to wallets and by them. */
  async owners({ world }: Stage): Promise<string[]> {
    const all = [this.#shop.address];
    for (const wallet of this.#wallets) all.push(...(await booksOf(world, wallet)).addresses);
    return all;
  }

  /** What is wrong in a world at rest. */
  async violations({ world, mempools }: Stage, inBlocks: ReadonlySet<string>): Promise<Violation[]> {
    const [mempool] = mempools;
    const held = (addresses: readonly string[]) =>
      inNode(world, mempool, 'mempool', async (service) => service.balances(addresses));
    const shop = (await held([this.#shop.address])).addresses.get(this.#shop.address);
    const arrived = [...(shop ?? [])].map(({ value }) => Number(value.amount));
    const found = this.#intents.flatMap((intent) =>
      problemsOf(intent, { inBlocks, arrived, shop: this.#shop.address }),
    );
    for (const wallet of this.#wallets) {
      const { addresses, running, net, open } = await booksOf(world, wallet);
      const { tokens } = await held(addresses);
      const lost = (this.#addresses.get(wallet) ?? []).filter((address) => !addresses.includes(address));
      if (lost.length > 0) found.push(`${wallet.name} has lost the addresses ${lost.join(', ')}`);
      if (running !== tokens) found.push(`${wallet.name} has ${running}, and the chain ${tokens}`);
      if (net !== running) found.push(`the history of ${wallet.name} adds up to ${net}, and it has ${running}`);
      if (open.length > 0) found.push(`payments of ${wallet.name} are open for ever: ${open.join(', ')}`);
    }
    return found.map((detail) => ({ rule: 'walletsAddUp', detail }));
  }
}

interface Arrived {
  readonly inBlocks: ReadonlySet<string>;
  /** Amounts that the shop has got. */
  readonly arrived: readonly number[];
  readonly shop: string;
}

/** An accepted payment is made once, an unknown one at most once, a refused one not at all. */
function problemsOf(
  { key, amount, address, isRefused, hashes }: Intent,
  { inBlocks, arrived, shop }: Arrived,
): string[] {
  const [hash, ...others] = hashes;
  const times = arrived.filter((one) => one === amount).length;
  return [
    ...(others.length > 0 ? [`"${key}" was made as ${[...hashes].join(' and ')}`] : []),
    ...(hash !== undefined && !inBlocks.has(hash) ? [`"${key}" was accepted as ${hash}, and is in no block`] : []),
    ...(times > 1 ? [`"${key}" has arrived ${times} times`] : []),
    ...(address === shop && hash !== undefined && times === 0 ? [`"${key}" has not arrived`] : []),
    ...(isRefused && hash === undefined && times > 0 ? [`"${key}" was refused, and has arrived`] : []),
  ];
}

/** What a wallet says that it has, and what its history adds up to. */
function booksOf(world: World, machine: Machine) {
  return inNode(world, machine, 'wallet', async (wallet) => {
    const addresses = [...(await wallet.exportKeyPairs()).keys()];
    const { running } = await wallet.info({});
    let [net, cursor]: [bigint, number | null] = [0n, 0];
    const open: string[] = [];
    while (cursor !== null) {
      const { movements, next } = await wallet.history.movements({ cursor, limit: PAGE, newestFirst: false });
      for (const { state, hash, net: change } of movements) {
        if (state !== 'rejected') net += change;
        if (state === 'queued' || state === 'sent') open.push(String(hash));
      }
      cursor = next;
    }
    return { addresses, running, net, open };
  });
}

type Services = NonNullable<Machine['services']>;

function inNode<K extends keyof Services, T>(
  world: World,
  machine: Machine | undefined,
  name: K,
  work: (service: NonNullable<Services[K]>) => Promise<T>,
): Promise<T> {
  const [process, service] = [machine?.process, machine?.services?.[name]];
  if (process === undefined || !service) throw new Error(`${machine?.name} is not there at the end`);
  return within(world, process, () => work(service as NonNullable<Services[K]>));
}

function meaningOf(got: HttpAnswer): { readonly hash?: string; readonly code: string } {
  if (got.kind !== 'answer') return { code: got.kind };
  const { tx_hash: hash, code = '' } = (got.body ?? {}) as { readonly tx_hash?: string; readonly code?: string };
  return got.status < 300 && hash !== undefined ? { hash, code } : { code };
}
