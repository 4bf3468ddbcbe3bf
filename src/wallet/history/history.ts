/**
 * The history of the wallet, a double entry: whatever changes the sum of the coins is part of exactly one movement, staged in the same
 * step, so movements that are not rejected add up to the balance. Numbers never change; facts learned later change the movement in
 * place.
 */

import { namesOf, transactionAt } from '../../chain/transaction.js';
import type { OpenBlock, OutPoint } from '../../chain/types.js';
import { encodeU64, prefixRange, readU64 } from '../../db/keys.js';
import type { Kv } from '../../db/kv.js';
import type { HasLogger } from '../../observability/modules.js';
import type { Coin } from '../coins/coin.js';
import type { TakenTransaction } from '../coins/taken.js';
import { importedKey, keyNumber, keyText, movementKey, movementOfKey, PREFIX } from '../layout.js';
import type { MetaStore } from '../meta.js';
import type { Outgoing, OwnTransaction } from '../payments/outgoing.js';
import type { WriteBuffer } from '../write-buffer.js';
import { buildHistory } from './build-history.js';
import {
  amountsOf,
  byTransaction,
  type Concerned,
  changeNumber,
  counts,
  decodeMovement,
  encodeMovement,
  factsOf,
  joined,
  type Movement,
  type MovementFacts,
  ownNumbers,
  seenOutputs,
  sumOf,
  UNKNOWN,
} from './movement.js';

/** Movements kept in memory until they are surely on disk: far more than one flush ever writes. */
const MAX_RECENT = 10_000;

export interface BlockPlace {
  readonly height: number;
  /** Unix seconds of the block. */
  readonly time: number;
}

export interface HistoryModules extends HasLogger {
  readonly kv: Kv;
  readonly writes: WriteBuffer;
  readonly meta: MetaStore;
  /** Gives the time, in milliseconds since the Unix epoch. */
  readonly now: () => number;
  readonly owns: (address: string) => boolean;
  /** True for an address whose key the words give: it was the wallet's from the beginning. */
  readonly isCovered: (address: string) => boolean;
  /** Own payments; the state of each is the state of its movement. */
  readonly outgoing: Pick<Outgoing, 'loadRejected' | 'revive'>;
}

export class History {
  readonly #modules: HistoryModules;
  readonly #open = new Map<string, Movement>();
  readonly #recent = new Map<string, Movement>();
  readonly #imported = new Set<string>();

  private constructor(modules: HistoryModules) {
    this.#modules = modules;
  }

  /** Builds a missing history from coins and payments. `inFlight`: hashes of own transactions that are queued or sent. */
  static async open(modules: HistoryModules, inFlight: Iterable<string>): Promise<History> {
    const history = new History(modules);
    const { meta } = modules;
    if (meta.current.movements === undefined) meta.update({ movements: await buildHistory(modules) });
    for await (const [key] of modules.kv.entries(prefixRange(PREFIX.imported))) history.#imported.add(keyText(key));
    for (const hash of inFlight) {
      await history.prepare([hash]);
      const movement = history.#recent.get(hash);
      if (movement !== undefined) history.#open.set(hash, movement);
    }
    return history;
  }

  get end(): number {
    return this.#modules.meta.current.movements ?? 0;
  }

  /** Reads the movements of transactions, so that the steps below find them; those read nothing themselves. */
  async prepare(hashes: readonly string[]): Promise<void> {
    const unknown = hashes.filter((hash) => this.find(hash) === undefined);
    for (const [hash, movement] of await this.#readAll(unknown)) {
      // A movement that was staged while the disk was read is newer.
      if (this.find(hash) === undefined) this.#remember(hash, movement);
    }
    const rejected = hashes.filter((hash) => this.#isRejectedOwn(hash));
    if (rejected.length > 0) await this.#modules.outgoing.loadRejected(new Set(rejected));
  }

  async byHash(hashes: readonly string[]): Promise<ReadonlyMap<string, Movement>> {
    const found = await this.#readAll(hashes);
    for (const hash of hashes) {
      const newer = this.find(hash);
      if (newer !== undefined) found.set(hash, newer);
    }
    return found;
  }

  find(hash: string): Movement | undefined {
    return this.#open.get(hash) ?? this.#recent.get(hash);
  }

  // Own transactions

  /** Takes in an own transaction, with its inputs and expected outputs. One that was rejected and is made again keeps its place. */
  takeOwn(own: Omit<OwnTransaction, 'state' | 'reason'>, spent: readonly Coin[], made: readonly Coin[]): void {
    const { hash, transaction, kind, peer, createdAt } = own;
    const taken = amountsOf(spent);
    const outputs = new Set(made.map(({ outPoint }) => outPoint.n));
    const facts = {
      ...factsOf({ hash, transaction, kind, inputs: spent.length, spent: taken, own: outputs }),
      hash,
      peer,
      isOwn: true,
      state: 'queued' as const,
      reason: '',
      seenAt: createdAt,
      received: amountsOf(made),
      spent: taken,
    };
    const known = this.#isRejectedOwn(hash) ? this.find(hash) : undefined;
    this.#open.set(hash, known === undefined ? this.#add(facts) : this.#put({ ...known, ...facts }));
  }

  /** Discards a movement that never became durable. `before`: its earlier form, if it was rejected before. */
  discard(hash: string, before?: Movement): void {
    const movement = this.find(hash);
    if (movement === undefined) return;
    this.#forget(hash);
    if (before !== undefined) {
      this.#put(before);
      return;
    }
    this.#modules.writes.del(movementKey(movement.number));
    this.#modules.writes.del(movementOfKey(hash));
  }

  /** Notes that an own transaction is in the chain, or never will be. */
  settle(hash: string, state: 'confirmed' | 'rejected', reason: string): void {
    const movement = this.find(hash);
    if (movement === undefined) return;
    this.#open.delete(hash);
    if (movement.state !== state) this.#put({ ...movement, state, reason });
  }

  /** Restores a movement whose end could not be written. */
  restore(movement: Movement): void {
    if (movement.hash !== null) this.#open.set(movement.hash, movement);
    this.#put(movement);
  }

  /** Notes that an own transaction is in the chain under another hash, of which a refresh has brought some outputs. */
  joinCopy(hash: string, copyHash: string): void {
    const own = this.find(hash);
    if (own === undefined) return;
    this.#joinCopy(own, copyHash, new Set());
    this.#put({ ...own, copyHash });
  }

  // Blocks

  /** Takes in a transaction of a block. `copyOf`: the own transaction of which it is a copy. */
  take(taken: TakenTransaction, place: BlockPlace, copyOf?: string): void {
    const known = this.find(copyOf ?? taken.hash);
    if (known !== undefined) this.#takeKnown(known, taken, place);
    else if (taken.spent.length > 0 || taken.arrived.length > 0) this.#takeNew(taken, place);
  }

  /** Locates transactions in a block that the wallet is ahead of: it also tells what a refresh does not say of them. */
  locate(full: OpenBlock, place: BlockPlace): void {
    for (const [i, hash] of namesOf(full.block).entries()) {
      const transaction = this.find(hash) && transactionAt(full, i);
      const isReward = hash === full.block.header.miningTxHash;
      if (transaction !== undefined) this.locateOne({ hash, transaction, isReward }, place);
    }
  }

  /** Locates one transaction in a block; the wallet knows its coins. Funds that came with a key stay such funds. */
  locateOne(one: Omit<TakenTransaction, 'spent' | 'arrived'>, place: BlockPlace): void {
    const known = this.find(one.hash);
    if (known === undefined || known.height !== null || known.kind === 'import') return;
    this.#takeKnown(known, { ...one, spent: [], arrived: [] }, place);
  }

  // Refreshes

  /** Expects funds of these addresses that come with their keys, and not by a payment. */
  expectImport(addresses: Iterable<string>): void {
    for (const address of addresses) {
      this.#imported.add(address);
      this.#modules.writes.put(importedKey(address), new Uint8Array());
    }
  }

  /** Ends the import of addresses: their coins have come, or they are no addresses of the wallet. */
  endImport(addresses: Iterable<string>): void {
    for (const address of addresses) {
      if (this.#imported.delete(address)) this.#modules.writes.del(importedKey(address));
    }
  }

  takeArrivals(coins: readonly Coin[]): void {
    for (const [hash, group] of byTransaction(coins)) {
      const known = this.find(hash);
      if (known === undefined) {
        const kind = group.some(({ address }) => this.#imported.has(address)) ? 'import' : 'payment';
        this.#add({ ...seenOutputs(group), kind, hash, received: amountsOf(group) });
      } else if (known.state === 'rejected') {
        this.#revive(known, { received: amountsOf(group), spent: new Map() });
      } else this.#takeMore(known, group);
    }
  }

  /** True when the coins of this output are counted already: a block that is told again does not bring them again. */
  hasCounted({ tHash, n }: OutPoint): boolean {
    const movement = this.find(tHash);
    return movement !== undefined && counts(movement) && ownNumbers(movement).has(n);
  }

  /** Takes out coins that the chain no longer has; what has spent them is unknown. */
  takeVanished(coins: readonly Pick<Coin, 'assetId' | 'amount'>[]): void {
    if (coins.length === 0) return;
    this.#add({ ...seenOutputs([]), kind: 'unexplained', leaves: true, hash: null, spent: amountsOf(coins) });
  }

  /** Takes in the funds of a new chain. */
  takeSeeds(coins: readonly Coin[]): void {
    for (const [hash, group] of byTransaction(coins)) {
      this.#add({ ...seenOutputs(group), kind: 'genesis', hash, received: amountsOf(group) });
    }
  }

  /** Movements by number, from `first` on in the given direction; at most `limit` are read. */
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

  #isRejectedOwn(hash: string): boolean {
    const movement = this.find(hash);
    return movement?.isOwn === true && movement.state === 'rejected';
  }

  /** Counts a payment again that was rejected: it is in the chain all the same. */
  #revive(known: Movement, facts: Partial<Movement>): void {
    if (known.hash !== null) this.#modules.outgoing.revive(known.hash);
    this.#put({ ...known, state: 'confirmed', reason: '', ...facts });
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
      this.#revive(known, { ...place, received: amountsOf(taken.arrived), spent: amountsOf(spent) });
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
    if (isCopy) this.#joinCopy(known, taken.hash, new Set(taken.arrived.map(({ outPoint }) => outPoint.n)));
    this.#put(moved);
    if (arrived.length > 0) this.#takeMore(moved, arrived, { height, time });
  }

  /** Joins an own transaction with its copy in the chain: outputs that a refresh brought were no movement. `brought` come now; others are spent. */
  #joinCopy(own: Movement, copyHash: string, brought: ReadonlySet<number>): void {
    const copy = this.find(copyHash);
    const counted = copy === undefined || copy.number === own.number ? new Set<number>() : ownNumbers(copy);
    const expected = own.outputs.filter((output) => output.own && !brought.has(output.n));
    this.takeVanished(expected.filter(({ n }) => !counted.has(n)));
    const common = expected.filter(({ n }) => counted.has(n));
    if (copy === undefined || common.length === 0) return;
    const received = sumOf(copy.received, amountsOf(common), -1n);
    if (received.size > 0) {
      this.#put({ ...copy, received, outputs: copy.outputs.filter(({ n }) => !common.some((one) => one.n === n)) });
      return;
    }
    this.#forget(copyHash);
    this.#modules.writes.del(movementKey(copy.number));
    this.#modules.writes.put(movementOfKey(copyHash), encodeU64(own.number));
  }

  /** Takes more coins of a known transaction into its movement, unless they are back, or came with a key that was imported later. */
  #takeMore(known: Movement, group: readonly Coin[], place: Partial<BlockPlace> = {}): void {
    const counted = ownNumbers(known);
    const parts: Record<'joining' | 'import' | 'unexplained', Coin[]> = { joining: [], import: [], unexplained: [] };
    for (const coin of group) {
      if (counted.has(coin.outPoint.n)) parts.unexplained.push(coin);
      else parts[this.#isImported(known, coin) ? 'import' : 'joining'].push(coin);
    }
    if (parts.joining.length > 0) {
      const received = sumOf(known.received, amountsOf(parts.joining));
      this.#put({ ...known, ...joined(known, parts.joining), received });
    }
    for (const kind of ['import', 'unexplained'] as const) {
      const coins = parts[kind];
      const movement = { ...seenOutputs(coins), ...place, kind, hash: known.hash, received: amountsOf(coins) };
      if (coins.length > 0) this.#add(movement, false);
    }
  }

  #isImported({ isOwn, kind }: Movement, { address, outPoint }: Coin): boolean {
    if (this.#imported.has(address)) return kind !== 'import';
    return isOwn && outPoint.n !== changeNumber(kind) && !this.#modules.isCovered(address);
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

  #put(movement: Movement): Movement {
    const { hash, copyHash, number } = movement;
    this.#stage(movement);
    if (hash === null) return movement;
    if (this.#open.has(hash)) this.#open.set(hash, movement);
    this.#remember(hash, movement);
    if (copyHash !== null) this.#modules.writes.put(movementOfKey(copyHash), encodeU64(number));
    return movement;
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
