/**
 * The history of the wallet: every movement of its coins, once. It is a double entry: whatever changes the sum of the coins
 * is part of exactly one movement, staged in the same step as the change itself, so the movements that are not rejected add
 * up to the balance at any time. Movements keep the number under which the wallet learned of them; what is found out later
 * (the block, the end of a payment) changes the movement in its place.
 */

import type { FullBlock } from '../../chain/types.js';
import { encodeU64, prefixRange, readU64 } from '../../db/keys.js';
import type { Kv } from '../../db/kv.js';
import type { Logger } from '../../lib/logger.js';
import type { Coin } from '../coins/coin.js';
import type { TakenTransaction } from '../coins/taken.js';
import { keyNumber, movementKey, movementOfKey, PREFIX } from '../layout.js';
import type { MetaStore } from '../meta.js';
import type { OwnTransaction } from '../payments/outgoing.js';
import type { MovementKind } from '../service.js';
import type { WriteBuffer } from '../write-buffer.js';
import { buildHistory } from './build-history.js';
import { amountsOf, type Concerned, factsOf, seenOutputs } from './facts.js';
import { decodeMovement, encodeMovement, type Movement, type MovementFacts, sumOf, UNKNOWN } from './movement.js';

/** Movements kept in memory until they are surely on disk: far more than one flush ever holds. */
const MAX_RECENT = 10_000;

/** Where a transaction is in the chain. */
export interface BlockPlace {
  readonly height: number;
  /** Unix seconds. */
  readonly time: number;
}

export interface HistoryModules {
  readonly kv: Kv;
  readonly writes: WriteBuffer;
  readonly meta: MetaStore;
  /** Milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** True for an address of the wallet. */
  readonly owns: (address: string) => boolean;
  readonly logger: Logger;
}

export class History {
  readonly #modules: HistoryModules;
  /** Own transactions that are queued or sent, by hash. */
  readonly #open = new Map<string, Movement>();
  /** By hash. */
  readonly #recent = new Map<string, Movement>();
  /** Imported addresses that no refresh has brought up to date yet. */
  readonly #imported = new Set<string>();

  private constructor(modules: HistoryModules) {
    this.#modules = modules;
  }

  /**
   * Builds the history of a folder that has none, from its coins and payments. `inFlight`: hashes of own transactions that are queued or sent.
   */
  static async open(modules: HistoryModules, inFlight: Iterable<string>): Promise<History> {
    const history = new History(modules);
    const { meta } = modules;
    if (meta.current.movements === undefined) meta.update({ movements: await buildHistory(modules) });
    for (const hash of inFlight) {
      await history.prepare([hash]);
      const movement = history.#recent.get(hash);
      if (movement !== undefined) history.#open.set(hash, movement);
    }
    return history;
  }

  /** The number that the next movement will have. */
  get end(): number {
    return this.#modules.meta.current.movements ?? 0;
  }

  /** Reads what is known of transactions, so that the steps below find it; they read nothing themselves. */
  async prepare(hashes: readonly string[]): Promise<void> {
    const unknown = hashes.filter((hash) => this.find(hash) === undefined);
    for (const [hash, movement] of await this.#readAll(unknown)) {
      // What was staged while the disk was read is newer.
      if (this.find(hash) === undefined) this.#remember(hash, movement);
    }
  }

  /** The movements of transactions, by hash; those that there are. */
  async byHash(hashes: readonly string[]): Promise<ReadonlyMap<string, Movement>> {
    const found = await this.#readAll(hashes);
    for (const hash of hashes) {
      const newer = this.find(hash);
      if (newer !== undefined) found.set(hash, newer);
    }
    return found;
  }

  /** The movement of a transaction that is in flight, prepared or recent. */
  find(hash: string): Movement | undefined {
    return this.#open.get(hash) ?? this.#recent.get(hash);
  }

  // Own transactions

  /** This wallet has made a transaction: it takes `spent` and expects `made`. */
  takeOwn(own: Omit<OwnTransaction, 'state' | 'reason'>, spent: readonly Coin[], made: readonly Coin[]): void {
    const { hash, transaction, kind, peer, createdAt } = own;
    const taken = amountsOf(spent);
    const outputs = new Set(made.map(({ outPoint }) => outPoint.n));
    const movement = this.#add({
      ...factsOf({ hash, transaction, kind, inputs: spent.length, spent: taken, own: outputs }),
      hash,
      peer,
      isOwn: true,
      state: 'queued',
      seenAt: createdAt,
      received: amountsOf(made),
      spent: taken,
    });
    this.#open.set(hash, movement);
  }

  /** It never became durable. */
  discard(hash: string): void {
    const movement = this.find(hash);
    if (movement === undefined) return;
    this.#forget(hash);
    this.#modules.writes.del(movementKey(movement.number));
    this.#modules.writes.del(movementOfKey(hash));
  }

  /** An own transaction is in the chain, or never will be. */
  settle(hash: string, state: 'confirmed' | 'rejected', reason: string): void {
    const movement = this.find(hash);
    if (movement === undefined) return;
    this.#open.delete(hash);
    if (movement.state !== state) this.#put({ ...movement, state, reason });
  }

  /**
   * An own transaction is in the chain under another hash, and a refresh has brought the outputs of that copy as a movement
   * of their own: they are the ones that were expected.
   */
  joinCopy(hash: string, copyHash: string, expected: readonly Coin[]): void {
    const [own, copy] = [this.find(hash), this.find(copyHash)];
    if (own === undefined) return;
    this.#put({ ...own, copyHash });
    if (copy === undefined) return;
    const received = sumOf(copy.received, amountsOf(expected), -1n);
    if (received.size > 0) {
      this.#put({ ...copy, received });
      return;
    }
    this.#forget(copyHash);
    this.#modules.writes.del(movementKey(copy.number));
    this.#modules.writes.put(movementOfKey(copyHash), encodeU64(own.number));
  }

  // Blocks

  /** A block has this transaction. `copyOf`: the own transaction of which it is a copy. */
  take(taken: TakenTransaction, place: BlockPlace, copyOf?: string): void {
    const known = this.find(copyOf ?? taken.hash);
    if (known !== undefined) this.#takeKnown(known, taken, place);
    else if (taken.spent.length > 0 || taken.arrived.length > 0) this.#takeNew(taken, place);
  }

  /** A block that the wallet is ahead of tells where its transactions are, and what a refresh does not say of them. */
  locate({ block, transactions, miningTransaction }: FullBlock, place: BlockPlace): void {
    const all = [...transactions, miningTransaction];
    const rewardHash = block.header.miningTxHash;
    for (const [i, hash] of [...block.transactions, rewardHash].entries()) {
      const [known, transaction] = [this.find(hash), all[i]];
      if (known === undefined || known.height !== null || transaction === undefined) continue;
      this.#takeKnown(known, { hash, transaction, isReward: hash === rewardHash, spent: [], arrived: [] }, place);
    }
  }

  // Refreshes

  /** The funds of these addresses come with their keys, and not by a payment. */
  expectImport(addresses: Iterable<string>): void {
    for (const address of addresses) this.#imported.add(address);
  }

  endImport(addresses: Iterable<string>): void {
    for (const address of addresses) this.#imported.delete(address);
  }

  /** Coins that a refresh has brought; `since` is what `end` was when it began. */
  takeArrivals(coins: readonly Coin[], since: number): void {
    for (const [hash, group] of byTransaction(coins)) {
      const known = this.find(hash);
      const received = amountsOf(group);
      if (known?.state === 'rejected') {
        this.#put({ ...known, state: 'confirmed', reason: '', received, spent: new Map() });
      } else if (known !== undefined && !known.isOwn && known.number >= since) {
        this.#put({ ...known, ...seenOutputs(group, known), received: sumOf(known.received, received) });
      } else {
        this.#add({ ...seenOutputs(group), kind: this.#kindOf(group, known), hash, received }, known === undefined);
      }
    }
  }

  /** Coins that the chain no longer has, without a word on what has spent them. */
  takeVanished(coins: readonly Coin[]): void {
    if (coins.length === 0) return;
    this.#add({ ...seenOutputs([]), kind: 'unexplained', leaves: true, hash: null, spent: amountsOf(coins) });
  }

  /** The funds of a new chain. */
  takeSeeds(coins: readonly Coin[]): void {
    for (const [hash, group] of byTransaction(coins)) {
      this.#add({ ...seenOutputs(group), kind: 'genesis', hash, received: amountsOf(group) });
    }
  }

  /** Movements by number, from `first` on in the given order; at most `limit` are read. */
  async *read(first: number, isNewestFirst: boolean, limit: number): AsyncGenerator<Movement> {
    const range = prefixRange(PREFIX.movement);
    const bounds = isNewestFirst
      ? { ...range, lt: movementKey(first + 1), reverse: true, limit }
      : { ...range, gte: movementKey(first), limit };
    for await (const [key, record] of this.#modules.kv.entries(bounds)) yield decodeMovement(keyNumber(key), record);
  }

  async #readAll(hashes: readonly string[]): Promise<Map<string, Movement>> {
    const { kv } = this.#modules;
    const found = new Map<string, Movement>();
    if (hashes.length === 0) return found;
    const numbers = await kv.getMany(hashes.map(movementOfKey));
    const named = hashes.flatMap((hash, i) => {
      const number = numbers[i];
      return number === undefined ? [] : [{ hash, number: readU64(number, 0) }];
    });
    const records = await kv.getMany(named.map(({ number }) => movementKey(number)));
    for (const [i, { hash, number }] of named.entries()) {
      const record = records[i];
      if (record !== undefined) found.set(hash, decodeMovement(number, record));
    }
    return found;
  }

  #takeNew(taken: TakenTransaction, { height, time }: BlockPlace): void {
    const spent = amountsOf(taken.spent.map(({ coin }) => coin));
    const received = amountsOf(taken.arrived);
    this.#add({ ...factsOf(this.#concerned(taken)), height, time, hash: taken.hash, received, spent });
  }

  #takeKnown(known: Movement, taken: TakenTransaction, { height, time }: BlockPlace): void {
    const isCopy = known.hash !== taken.hash;
    const place = { height, time, state: 'confirmed' as const, reason: '', ...(isCopy && { copyHash: taken.hash }) };
    const spent = taken.spent.map(({ coin }) => coin);
    if (known.state === 'rejected') {
      this.#put({ ...known, ...place, received: amountsOf(taken.arrived), spent: amountsOf(spent) });
      return;
    }
    const expected = new Set(isCopy ? known.outputs.filter(({ own }) => own).map(({ n }) => n) : []);
    const arrived = taken.arrived.filter(({ outPoint }) => !expected.has(outPoint.n));
    const uncounted = taken.spent.filter(({ by }) => by !== known.hash).map(({ coin }) => coin);
    const moved = { ...known, ...place, spent: sumOf(known.spent, amountsOf(uncounted)) };
    if (!known.isOwn) {
      const kind = known.kind === 'genesis' ? { kind: known.kind } : {};
      const received = sumOf(known.received, amountsOf(arrived));
      this.#put({ ...moved, ...factsOf({ ...this.#concerned(taken), ...kind }), received });
      return;
    }
    this.#put(moved);
    if (arrived.length === 0) return;
    // The keys of these were imported after the payment was made.
    const received = amountsOf(arrived);
    this.#add({ ...seenOutputs(arrived), height, time, kind: 'import', hash: taken.hash, received }, false);
  }

  #concerned({ hash, transaction, isReward, spent }: TakenTransaction): Concerned {
    const { owns } = this.#modules;
    const outputs = [...transaction.outputs, ...transaction.fees];
    const own = outputs.flatMap(({ scriptPublicKey: to }, n) => (to !== null && owns(to) ? [n] : []));
    return {
      hash,
      transaction,
      isReward,
      own: new Set(own),
      inputs: spent.length,
      spent: amountsOf(spent.map(({ coin }) => coin)),
    };
  }

  #kindOf(group: readonly Coin[], known: Movement | undefined): MovementKind {
    if (group.some(({ address }) => this.#imported.has(address))) return 'import';
    return known === undefined ? 'payment' : 'unexplained';
  }

  #add(made: MovementFacts & Pick<Movement, 'hash'> & Partial<Movement>, isFirst = true): Movement {
    const { meta, now } = this.#modules;
    const number = this.end;
    meta.update({ movements: number + 1 });
    const movement: Movement = { ...UNKNOWN, seenAt: now(), ...made, number };
    this.#stage(movement);
    if (movement.hash !== null && isFirst) {
      this.#modules.writes.put(movementOfKey(movement.hash), encodeU64(number));
      this.#remember(movement.hash, movement);
    }
    return movement;
  }

  #put(movement: Movement): void {
    const { hash, copyHash, number } = movement;
    this.#stage(movement);
    if (hash === null) return;
    if (this.#open.has(hash)) this.#open.set(hash, movement);
    this.#remember(hash, movement);
    if (copyHash !== null) this.#modules.writes.put(movementOfKey(copyHash), encodeU64(number));
  }

  #stage(movement: Movement): void {
    this.#modules.writes.put(movementKey(movement.number), encodeMovement(movement));
  }

  #remember(hash: string, movement: Movement): void {
    this.#recent.delete(hash);
    this.#recent.set(hash, movement);
    for (const oldest of this.#recent.keys()) {
      if (this.#recent.size <= MAX_RECENT) break;
      this.#recent.delete(oldest);
    }
  }

  #forget(hash: string): void {
    this.#open.delete(hash);
    this.#recent.delete(hash);
  }
}

function byTransaction(coins: readonly Coin[]): ReadonlyMap<string, readonly Coin[]> {
  const groups = new Map<string, Coin[]>();
  for (const coin of coins) {
    const group = groups.get(coin.outPoint.tHash);
    if (group) group.push(coin);
    else groups.set(coin.outPoint.tHash, [coin]);
  }
  return groups;
}
