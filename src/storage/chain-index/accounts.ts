/**
 * The accounts of addresses and items while some blocks are taken in: read once, changed in memory, written at the end. A new
 * address or item gets the next number, in the order of the chain.
 */

import type { Kv, KvBatch } from '../../db/kv.js';
import { utf8 } from '../../lib/bytes.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { pack } from '../segments/pack.js';
import { addressKey, heldKey, holderKey, itemKey, movementKey, type Place, TOKENS, unspentKey } from './layout.js';
import {
  type AddressAccount,
  encodeAddress,
  encodeHeld,
  encodeItem,
  type IndexTip,
  type ItemAccount,
  type ItemChange,
  readAddress,
  readHeld,
  readItem,
} from './records.js';

/** The most entries of each list that are kept in the account of an address, and the most bytes of one. */
const SHORT_ENTRIES = 3;
const SHORT_BYTES = 64;
/** Accounts that are read from the database at once. */
const READ_CHUNK = 256;

export class Accounts {
  readonly #kv: Kv;
  readonly #addresses = new Map<string, AddressAccount>();
  readonly #items = new Map<string, ItemAccount>();
  /** Amounts of items that addresses hold, by the numbers of address and item. */
  readonly #held = new Map<string, bigint>();
  #nextAddress: number;
  #nextItem: number;

  constructor(kv: Kv, { nextAddress, nextItem }: IndexTip) {
    this.#kv = kv;
    this.#nextAddress = nextAddress;
    this.#nextItem = nextItem;
  }

  get numbers(): Pick<IndexTip, 'nextAddress' | 'nextItem'> {
    return { nextAddress: this.#nextAddress, nextItem: this.#nextItem };
  }

  /** Reads accounts that exist already. All names that are asked for later must be loaded first. */
  async load(
    { addresses, items }: { readonly addresses: ReadonlySet<string>; readonly items: ReadonlySet<string> },
    slices: TimeSlices,
  ): Promise<void> {
    await this.#loadInto(this.#addresses, addresses, addressKey, readAddress, slices);
    await this.#loadInto(this.#items, items, itemKey, readItem, slices);
  }

  /** The account of an address that occurs in a transaction at `place`. */
  address(address: string, place: Place): AddressAccount {
    const known = this.#addresses.get(address);
    if (known !== undefined) return known;
    const account: AddressAccount = {
      number: this.#nextAddress++,
      tokens: 0n,
      listed: 0n,
      received: 0n,
      sent: 0n,
      transactions: 0,
      unspentOutputs: 0,
      itemKinds: 0,
      first: place,
      last: place,
      short: { movements: [], unspent: [] },
    };
    this.#addresses.set(address, account);
    return account;
  }

  /** Adds a movement to the history of an address. */
  addMovement(account: AddressAccount, place: Place, record: Uint8Array, batch: KvBatch): void {
    if (hasRoom(account.short?.movements, record))
      account.short?.movements.push({ place, record: Buffer.from(record) });
    else {
      lengthen(account, batch);
      batch.put(movementKey(account.number, place), record);
    }
  }

  addUnspent(account: AddressAccount, place: Place, index: number, record: Uint8Array, batch: KvBatch): void {
    account.unspentOutputs++;
    if (hasRoom(account.short?.unspent, record))
      account.short?.unspent.push({ place, index, record: Buffer.from(record) });
    else {
      lengthen(account, batch);
      batch.put(unspentKey(account.number, place, index), record);
    }
  }

  takeUnspent(account: AddressAccount, place: Place, index: number, batch: KvBatch): void {
    account.unspentOutputs--;
    if (account.short === null) batch.del(unspentKey(account.number, place, index));
    else {
      const { unspent } = account.short;
      const at = unspent.findIndex((one) => one.index === index && isSame(one.place, place));
      if (at >= 0) unspent.splice(at, 1);
    }
  }

  item(genesisHash: string, place: Place): ItemAccount {
    const known = this.#items.get(genesisHash);
    if (known !== undefined) return known;
    const account = { number: this.#nextItem++, created: place, issued: 0n, holders: 0, transfers: 0 };
    this.#items.set(genesisHash, account);
    return account;
  }

  /** Changes the amount of an item that an address holds. */
  async hold(
    address: string,
    account: AddressAccount,
    { genesisHash, received, sent }: ItemChange,
    place: Place,
    batch: KvBatch,
  ): Promise<void> {
    const item = this.item(genesisHash, place);
    const name = `${account.number}/${item.number}`;
    const key = heldKey(account.number, item.number);
    const before = this.#held.get(name) ?? (await this.#heldNow(key));
    const after = before + received - sent;
    this.#held.set(name, after);
    if (before === after) return;
    if (before > 0n) batch.del(holderKey(item.number, before, account.number));
    if (after > 0n) {
      batch.put(holderKey(item.number, after, account.number), pack(utf8(address)));
      batch.put(key, encodeHeld(genesisHash, after));
    } else batch.del(key);
    const change = Number(after > 0n) - Number(before > 0n);
    account.itemKinds += change;
    item.holders += change;
  }

  /** Puts all changed accounts into the batch. */
  async put(batch: KvBatch, slices: TimeSlices): Promise<void> {
    for (const [address, account] of this.#addresses) {
      if (slices.isUsedUp) await slices.turn();
      list(address, account, batch);
      batch.put(addressKey(address), encodeAddress(account));
    }
    for (const [genesisHash, account] of this.#items) {
      if (slices.isUsedUp) await slices.turn();
      batch.put(itemKey(genesisHash), encodeItem(account));
    }
  }

  async #heldNow(key: Uint8Array): Promise<bigint> {
    const record = await this.#kv.get(key);
    return record === undefined ? 0n : readHeld(record).amount;
  }

  async #loadInto<T>(
    into: Map<string, T>,
    names: ReadonlySet<string>,
    keyOf: (name: string) => Uint8Array,
    read: (record: Uint8Array) => T,
    slices: TimeSlices,
  ): Promise<void> {
    const unknown = [...names].filter((name) => !into.has(name));
    for (let from = 0; from < unknown.length; from += READ_CHUNK) {
      await slices.turn();
      const chunk = unknown.slice(from, from + READ_CHUNK);
      const records = await this.#kv.getMany(chunk.map(keyOf));
      for (const [i, name] of chunk.entries()) {
        const record = records[i];
        if (record !== undefined) into.set(name, read(record));
      }
    }
  }
}

function hasRoom(entries: readonly unknown[] | undefined, record: Uint8Array): boolean {
  return entries !== undefined && entries.length < SHORT_ENTRIES && record.length <= SHORT_BYTES;
}

/** Moves the lists of an account to records of their own. */
function lengthen(account: AddressAccount, batch: KvBatch): void {
  if (account.short === null) return;
  const { movements, unspent } = account.short;
  for (const { place, record } of movements) batch.put(movementKey(account.number, place), record);
  for (const { place, index, record } of unspent) batch.put(unspentKey(account.number, place, index), record);
  account.short = null;
}

/** Puts an address into the list of token holders at its new place. */
function list(address: string, account: AddressAccount, batch: KvBatch): void {
  const { number, tokens, listed } = account;
  if (tokens === listed) return;
  if (listed > 0n) batch.del(holderKey(TOKENS, listed, number));
  if (tokens > 0n) batch.put(holderKey(TOKENS, tokens, number), pack(utf8(address)));
  account.listed = tokens;
}

function isSame(a: Place, b: Place): boolean {
  return a.height === b.height && a.txNum === b.txNum;
}
