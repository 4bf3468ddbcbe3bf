/**
 * Holds wallets against the chain: each payment that was asked for, what each wallet owns and what its history adds up to, items and trades. Of the time
 * that an older copy of its disk does not know, a wallet may have forgotten payments and keys, but what is at its addresses is its own.
 */

import type { Customers } from '../people/customers.js';
import { type Stage, type Violation, within } from '../play.js';
import type { Machine } from '../world/node.js';
import type { World } from '../world/world.js';

const PAGE = 1_000;

/** From when to when something was asked, in milliseconds of the world. */
export interface Request {
  readonly began: number;
  readonly ended: number;
}

/** A time that a wallet does not know, since it got a copy of its disk that is older. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

/** Something that a wallet is to do once. */
export interface Intent {
  readonly wallet: Machine;
  readonly key: string;
  readonly isToShop: boolean;
  readonly amount: number;
  isRefused: boolean;
  /** Hashes that were given for its key: one. */
  readonly hashes: Set<string>;
  readonly requests: Request[];
}

type Services = NonNullable<Machine['services']>;
type Books = Awaited<ReturnType<typeof booksOf>>;

export async function walletViolations(
  customers: Customers,
  stage: Stage,
  inBlocks: ReadonlySet<string>,
): Promise<Violation[]> {
  const { world, mempools } = stage;
  const [mempool] = mempools;
  const held = (addresses: readonly string[]) =>
    inNode(world, mempool, 'mempool', async (service) => service.balances(addresses));
  const shop = await held([customers.shop.address]);
  const arrived = [...(shop.addresses.get(customers.shop.address) ?? [])].map(({ value }) => Number(value.amount));
  const all = new Map<Machine, Books>();
  for (const wallet of customers.wallets) all.set(wallet, await booksOf(world, wallet));
  const found = customers.intents.flatMap((intent) => {
    const gaps = customers.gaps.get(intent.wallet) ?? [];
    const rejected = all.get(intent.wallet)?.rejected ?? new Set();
    return problemsOf(intent, { inBlocks, arrived, gaps, rejected });
  });
  const owned = [shop.items];
  for (const [wallet, books] of all) {
    const { tokens, items } = await held(books.addresses);
    owned.push(items);
    found.push(...problemsOfBooks(wallet.name, books, { tokens, items }));
    const missing = lostOf(wallet, customers).filter((address) => !books.addresses.includes(address));
    const ofUse = (await held(missing)).addresses;
    const lost = (customers.gaps.get(wallet) ?? []).length > 0 ? missing.filter((one) => ofUse.has(one)) : missing;
    if (lost.length > 0) found.push(`${wallet.name} has lost the addresses ${lost.join(', ')}`);
  }
  for (const [genesis, amount] of customers.bartered.creations) {
    const sum = owned.reduce((before, items) => before + (items.get(genesis) ?? 0n), 0n);
    if (sum !== BigInt(amount)) found.push(`of ${amount} items of ${genesis} there are ${sum}`);
  }
  return [...found.map((detail) => ({ rule: 'walletsAddUp', detail })), ...tradeViolations(all, inBlocks)];
}

/** Addresses that a wallet has given, and that it must still know. */
function lostOf(wallet: Machine, { given }: Customers): readonly string[] {
  return [...new Set((given.get(wallet) ?? []).map(({ address }) => address))];
}

interface Known {
  readonly inBlocks: ReadonlySet<string>;
  /** Amounts that the shop has got. */
  readonly arrived: readonly number[];
  /** Times that the wallet does not know. */
  readonly gaps: readonly Gap[];
  /** Payments that the wallet calls rejected. */
  readonly rejected: ReadonlySet<string>;
}

/** An accepted payment is made once, an unknown one at most once, a refused one not at all. What an older copy does not know may be made once more. */
function problemsOf(intent: Intent, { inBlocks, arrived, gaps, rejected }: Known): string[] {
  const { key, amount, isToShop, isRefused, hashes, requests } = intent;
  const forgotten = gaps.filter((gap) => requests.some(({ began, ended }) => began < gap.to && ended >= gap.from));
  const most = 1 + forgotten.length;
  const times = arrived.filter((one) => one === amount).length;
  // A wallet that knows too little pays from what is spent already, and says so in the end.
  const isLate = gaps.some(({ to }) => requests.some(({ ended }) => ended > to));
  const lost = [...hashes].filter((hash) => !inBlocks.has(hash) && !(isLate && rejected.has(hash)));
  return [
    ...(hashes.size > most ? [`"${key}" was made as ${[...hashes].join(' and ')}`] : []),
    ...(lost.length > forgotten.length ? [`"${key}" was accepted as ${lost.join(' and ')}, and is in no block`] : []),
    ...(isToShop && times > most ? [`"${key}" has arrived ${times} times`] : []),
    ...(isToShop &&
    hashes.size > 0 &&
    times === 0 &&
    lost.length === 0 &&
    [...hashes].some((hash) => inBlocks.has(hash))
      ? [`"${key}" has not arrived`]
      : []),
    ...(isToShop && isRefused && hashes.size === 0 && times > forgotten.length
      ? [`"${key}" was refused, and has arrived`]
      : []),
  ];
}

interface Holdings {
  readonly tokens: bigint;
  readonly items: ReadonlyMap<string, bigint>;
}

/** What a wallet says that it has, against the chain and against its history. */
function problemsOfBooks(name: string, { running, net, open, items, moved }: Books, chain: Holdings): string[] {
  const classes = new Set([...items.keys(), ...chain.items.keys(), ...moved.keys()]);
  return [
    ...(running !== chain.tokens ? [`${name} has ${running}, and the chain ${chain.tokens}`] : []),
    ...(net !== running ? [`the history of ${name} adds up to ${net}, and it has ${running}`] : []),
    ...(open.length > 0 ? [`payments of ${name} are open for ever: ${open.join(', ')}`] : []),
    ...[...classes].flatMap((genesis) => {
      const [own, there, sum] = [items, chain.items, moved].map((of) => of.get(genesis) ?? 0n);
      return own === there && own === sum
        ? []
        : [`${name} has ${own} items of ${genesis}, the chain ${there}, and its history adds up to ${sum}`];
    }),
  ];
}

/** Both halves of a trade are in blocks or none is, and both wallets know which. */
function tradeViolations(all: ReadonlyMap<Machine, Books>, inBlocks: ReadonlySet<string>): Violation[] {
  const byId = new Map<string, { readonly name: string; readonly state: string; readonly half: string | null }[]>();
  for (const [{ name }, { trades }] of all) {
    for (const { id, state, half } of trades) byId.set(id, [...(byId.get(id) ?? []), { name, state, half }]);
  }
  return [...byId].flatMap(([id, sides]) => {
    const made = sides.filter(({ half }) => half !== null && inBlocks.has(half));
    const torn = made.length === 1 ? [`one half of the trade ${id} is in a block, and no other`] : [];
    const wrong = sides.filter(({ state, half }) => (state === 'done') !== (half !== null && inBlocks.has(half)));
    return [...torn, ...wrong.map(({ name, state }) => `${name} calls the trade ${id} ${state}`)].map((detail) => ({
      rule: 'tradesAreWhole',
      detail,
    }));
  });
}

/** What a wallet says that it has, and what its history adds up to. */
export async function booksOf(world: World, machine: Machine) {
  const trades = await inNode(world, machine, 'user', async (user) => user.trades());
  const books = await inNode(world, machine, 'wallet', async (wallet) => {
    const addresses = [...(await wallet.exportKeyPairs()).keys()];
    const { running, items } = await wallet.info({});
    let [net, cursor]: [bigint, number | null] = [0n, 0];
    const [open, rejected, moved] = [[] as string[], new Set<string>(), new Map<string, bigint>()];
    while (cursor !== null) {
      const { movements, next } = await wallet.history.movements({ cursor, limit: PAGE, newestFirst: false });
      for (const { state, hash, net: change, direction, items: ofItems } of movements) {
        if (state === 'queued' || state === 'sent') open.push(String(hash));
        if (state === 'rejected') {
          rejected.add(String(hash));
          continue;
        }
        net += change;
        for (const [genesis, amount] of ofItems) {
          const sign = direction === 'in' ? 1n : direction === 'out' ? -1n : 0n;
          moved.set(genesis, (moved.get(genesis) ?? 0n) + sign * amount);
        }
      }
      cursor = next;
    }
    return { addresses, running, net, open, rejected, items, moved };
  });
  return { ...books, trades };
}

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
