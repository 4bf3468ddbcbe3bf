/**
 * The keys of the chain index, a database of its own. It holds nothing that the archive does not: it is made from the
 * stored blocks, in their order, and the same blocks always make the same records.
 *
 *   m                                        → state of the index: height, block hash, next numbers
 *   b ‖ height                               → summary of the block
 *   n ‖ name of the address                  → account of the address, with its number
 *   h ‖ address ‖ place                      → movement: what the transaction brought to the address and took from it
 *   u ‖ address ‖ place ‖ index (u32)        → an unspent output of the address; h and u are in its account while they are few
 *   s ‖ place ‖ index (u32)                  → the input that spends this output
 *   i ‖ name of the item                     → account of the item, with its number
 *   k ‖ address ‖ item                       → the amount of the item that the address holds
 *   r ‖ item ‖ inverted amount ‖ address     → the address as text: holders, the largest first; tokens have the last item number
 *   t ‖ item ‖ place                         → a transfer of the item
 *   w ‖ word of metadata ‖ 0 ‖ inverted item → the name of the item, the newest first
 *   d ‖ place                                → for a transaction of a trade: where its set begins in the block, and how long it is
 *
 * Everything is big-endian. A height has 5 bytes, a place is a height and 3 bytes for the index in the block. Addresses and
 * items have numbers of 6 and 5 bytes, in the order in which the chain named them, so that keys are short and new records
 * lie at the end of the database. Lists are read by seeking, forward or backward, and never by counting.
 */

import { sha3Bytes } from '../../crypto/sha3.js';
import { prefixKey } from '../../db/keys.js';
import type { KvRange } from '../../db/kv.js';
import { asBuffer, utf8 } from '../../lib/bytes.js';

export interface Place {
  readonly height: number;
  readonly txNum: number;
}

const HEIGHT_BYTES = 5;
const TX_NUM_BYTES = 3;
const PLACE_BYTES = HEIGHT_BYTES + TX_NUM_BYTES;
const ADDRESS_BYTES = 6;
const ITEM_BYTES = 5;
const MAX_ITEM = 2 ** (8 * ITEM_BYTES) - 1;
/** Item number that stands for tokens. */
export const TOKENS = MAX_ITEM;
const INDEX_BYTES = 4;
/** Bytes of an amount of one item at one address, which may pass 2^64: each creation may have that many. */
const AMOUNT_BYTES = 16;
const MAX_AMOUNT = (1n << 128n) - 1n;
const HASH_BYTES = 32;
const NAME_BYTES = 1 + HASH_BYTES;
const STANDARD_NAME = /^[0-9a-f]{64}$/;
const IS_STANDARD = 0;
const IS_HASHED = 1;

export const TIP_KEY = prefixKey('m');

export const blockKey = (height: number): Uint8Array => new Key('b', HEIGHT_BYTES).height(height).bytes;
/** Blocks below `before`, the newest first. */
export const blocksBelow = (before: number): KvRange => ({
  gte: prefixKey('b'),
  lt: blockKey(before),
  reverse: true,
});
export const heightOfBlockKey = (key: Uint8Array): number => asBuffer(key).readUIntBE(1, HEIGHT_BYTES);
export const addressKey = (address: string): Uint8Array => new Key('n', NAME_BYTES).name(address).bytes;
export const itemKey = (genesisHash: string): Uint8Array => new Key('i', NAME_BYTES).name(genesisHash).bytes;
export const heldKey = (address: number, item: number): Uint8Array =>
  new Key('k', ADDRESS_BYTES + ITEM_BYTES).address(address).item(item).bytes;
export const transferKey = (item: number, place: Place): Uint8Array =>
  new Key('t', ITEM_BYTES + PLACE_BYTES).item(item).place(place).bytes;
export const movementKey = (address: number, place: Place): Uint8Array =>
  new Key('h', ADDRESS_BYTES + PLACE_BYTES).address(address).place(place).bytes;
export const unspentKey = (address: number, place: Place, index: number): Uint8Array =>
  new Key('u', ADDRESS_BYTES + PLACE_BYTES + INDEX_BYTES).address(address).place(place).index(index).bytes;
export const spentKey = (place: Place, index: number): Uint8Array =>
  new Key('s', PLACE_BYTES + INDEX_BYTES).place(place).index(index).bytes;
export const holderKey = (item: number, amount: bigint, address: number): Uint8Array =>
  new Key('r', ITEM_BYTES + AMOUNT_BYTES + ADDRESS_BYTES).item(item).inverted(amount).address(address).bytes;
/** Key of a word of metadata for an item. A word contains no zero byte. */
export function wordKey(word: string, item: number): Uint8Array {
  const end = new Key('\0', ITEM_BYTES).item(MAX_ITEM - item).bytes;
  return Buffer.concat([prefixKey('w'), utf8(word), end]);
}
/** Keys of all words that begin with `word`. */
export const wordsFrom = (word: string): KvRange => listOf(Buffer.concat([prefixKey('w'), utf8(word)]), false);
export const tradeKey = (place: Place): Uint8Array => new Key('d', PLACE_BYTES).place(place).bytes;

/** Keys of the movements of an address. */
export function movementsOf(address: number): KvRange {
  return listOf(new Key('h', ADDRESS_BYTES).address(address).bytes, true);
}

export function unspentOf(address: number): KvRange {
  return listOf(new Key('u', ADDRESS_BYTES).address(address).bytes, true);
}

export function heldBy(address: number): KvRange {
  return listOf(new Key('k', ADDRESS_BYTES).address(address).bytes, false);
}

export function holdersOf(item: number): KvRange {
  return listOf(new Key('r', ITEM_BYTES).item(item).bytes, false);
}

export function transfersOf(item: number): KvRange {
  return listOf(new Key('t', ITEM_BYTES).item(item).bytes, true);
}

/** Key that stands for a transaction of a block in cursors; no record has this key. */
export const transactionKey = (place: Place): Uint8Array => new Key('x', PLACE_BYTES).place(place).bytes;

export function transactionsIn(height: number): KvRange {
  return listOf(new Key('x', HEIGHT_BYTES).height(height).bytes, false);
}

/** Keys of addresses of the usual form that begin with some hex digits. */
export function addressesFrom(hex: string): KvRange {
  const whole = hex.padEnd(2 * HASH_BYTES, '0');
  const gte = new Key('n', NAME_BYTES).name(whole).bytes;
  const last = new Key('n', NAME_BYTES).name(hex.padEnd(2 * HASH_BYTES, 'f')).bytes;
  return { gte, lt: Buffer.concat([last, Uint8Array.of(0)]) };
}

/** The address that an `addressKey` of the usual form names. */
export function addressOfKey(key: Uint8Array): string {
  return asBuffer(key).toString('hex', 2, 1 + NAME_BYTES);
}

/** The place at the end of a `movementKey`, `transferKey` or `transactionKey`. */
export function placeAtEnd(key: Uint8Array): Place {
  return placeAt(key, key.length - PLACE_BYTES);
}

export function outputOfKey(key: Uint8Array): { readonly place: Place; readonly index: number } {
  const at = key.length - INDEX_BYTES;
  return { place: placeAt(key, at - PLACE_BYTES), index: asBuffer(key).readUInt32BE(at) };
}

/** The amount in a `holderKey`. */
export function amountOfKey(key: Uint8Array): bigint {
  const at = 1 + ITEM_BYTES;
  return MAX_AMOUNT - BigInt(`0x${asBuffer(key).toString('hex', at, at + AMOUNT_BYTES)}`);
}

function placeAt(key: Uint8Array, at: number): Place {
  const buffer = asBuffer(key);
  return {
    height: buffer.readUIntBE(at, HEIGHT_BYTES),
    txNum: buffer.readUIntBE(at + HEIGHT_BYTES, TX_NUM_BYTES),
  };
}

/** All keys that begin with these bytes. */
function listOf(prefix: Uint8Array, reverse: boolean): KvRange {
  return { gte: prefix, lt: Buffer.concat([prefix, END_OF_LIST]), reverse };
}

/** Bytes behind every list: longer than the rest of any key after its prefix, and greater than all. */
const END_OF_LIST = Buffer.alloc(NAME_BYTES, 0xff);

/** Writer of a key, from its beginning to its end. */
class Key {
  readonly bytes: Buffer;
  #at = 1;

  constructor(prefix: string, length: number) {
    this.bytes = Buffer.allocUnsafe(1 + length);
    this.bytes[0] = prefix.charCodeAt(0);
  }

  height(height: number): this {
    return this.#uint(height, HEIGHT_BYTES);
  }

  place({ height, txNum }: Place): this {
    return this.height(height).#uint(txNum, TX_NUM_BYTES);
  }

  address(number: number): this {
    return this.#uint(number, ADDRESS_BYTES);
  }

  item(number: number): this {
    return this.#uint(number, ITEM_BYTES);
  }

  /** Writes an output index: they are i32 on the wire, and the bits stay. */
  index(index: number): this {
    return this.#uint(index >>> 0, INDEX_BYTES);
  }

  inverted(amount: bigint): this {
    const hex = (MAX_AMOUNT - amount).toString(16).padStart(2 * AMOUNT_BYTES, '0');
    this.#at += this.bytes.write(hex, this.#at, 'hex');
    return this;
  }

  /** Writes a name: 64 hex digits as bytes, so that they sort like the texts; any other text as its hash. */
  name(text: string): this {
    const isStandard = STANDARD_NAME.test(text);
    this.bytes[this.#at++] = isStandard ? IS_STANDARD : IS_HASHED;
    if (isStandard) this.bytes.write(text, this.#at, 'hex');
    else this.bytes.set(sha3Bytes(utf8(text)), this.#at);
    this.#at += HASH_BYTES;
    return this;
  }

  #uint(value: number, bytes: number): this {
    this.#at = this.bytes.writeUIntBE(value, this.#at, bytes);
    return this;
  }
}
