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
 *   r ‖ item ‖ inverted amount ‖ address     → the address as text, packed: holders, the largest first; tokens have the item number 0
 *   t ‖ item ‖ place                         → a transfer of the item
 *   w ‖ word of metadata ‖ 0 ‖ inverted item → the name of the item, the newest first
 *   d ‖ place                                → for a transaction of a trade: where its set begins in the block, and how long it is
 *
 * A place is a height and the index in the block. Addresses and items have numbers, in the order in which the chain named them. A number has as
 * many bytes as it needs and sorts by its value: its first byte begins with a one for each further byte. So keys are short, which
 * counts for each byte that is written, and new records lie at the end. Lists are read by seeking, forward or backward, and never by counting.
 */

import { sha3Bytes } from '../../crypto/sha3.js';
import { prefixKey } from '../../db/keys.js';
import type { KvRange } from '../../db/kv.js';
import { asBuffer, utf8 } from '../../lib/bytes.js';

export interface Place {
  readonly height: number;
  readonly txNum: number;
}

/** Item number that stands for tokens. */
export const TOKENS = 0;
/** Bytes of an item number in the key of a word, where the newest comes first. */
const ITEM_BYTES = 5;
const MAX_ITEM = 2 ** (8 * ITEM_BYTES) - 1;
/** Most bytes of an amount of one item at one address, which may pass 2^64: each creation may have that many. */
const AMOUNT_BYTES = 16;
const HASH_BYTES = 32;
const NAME_BYTES = 1 + HASH_BYTES;
const STANDARD_NAME = /^[0-9a-f]{64}$/;
const IS_STANDARD = 0;
const IS_HASHED = 1;

export const TIP_KEY = prefixKey('m');

export const blockKey = (height: number): Uint8Array => numbersKey('b', height);
/** Blocks below `before`, the newest first. */
export const blocksBelow = (before: number): KvRange => ({
  gte: prefixKey('b'),
  lt: blockKey(before),
  reverse: true,
});
export const heightOfBlockKey = (key: Uint8Array): number => numbersIn(key)[0] ?? 0;
export const addressKey = (address: string): Uint8Array => nameKey('n', address);
export const itemKey = (genesisHash: string): Uint8Array => nameKey('i', genesisHash);
export const heldKey = (address: number, item: number): Uint8Array => numbersKey('k', address, item);
export const transferKey = (item: number, { height, txNum }: Place): Uint8Array => numbersKey('t', item, height, txNum);
export const movementKey = (address: number, { height, txNum }: Place): Uint8Array =>
  numbersKey('h', address, height, txNum);
/** Key of an unspent output. Output indices are i32 on the wire, and the bits stay. */
export const unspentKey = (address: number, { height, txNum }: Place, index: number): Uint8Array =>
  numbersKey('u', address, height, txNum, index >>> 0);
export const spentKey = ({ height, txNum }: Place, index: number): Uint8Array =>
  numbersKey('s', height, txNum, index >>> 0);

/** Key of a holder. The larger amount comes first: its bytes are inverted, behind the number of those that it lacks. */
export function holderKey(item: number, amount: bigint, address: number): Uint8Array {
  const bytes = Math.ceil(amount.toString(16).length / 2);
  const inverted = (1n << BigInt(8 * bytes)) - 1n - amount;
  const middle = Buffer.from(`00${inverted.toString(16).padStart(2 * bytes, '0')}`, 'hex');
  middle[0] = AMOUNT_BYTES - bytes;
  return Buffer.concat([numbersKey('r', item), middle, numbersKey('r', address).subarray(1)]);
}

/** The amount in a `holderKey`. */
export function amountOfKey(key: Uint8Array): bigint {
  const at = 1 + lengthAt(key, 1);
  const end = at + 1 + AMOUNT_BYTES - (key[at] ?? 0);
  return key.subarray(at + 1, end).reduce((amount, byte) => amount * 0x100n + BigInt(0xff - byte), 0n);
}

/** Key of a word of metadata for an item. A word contains no zero byte. */
export function wordKey(word: string, item: number): Uint8Array {
  const end = Buffer.alloc(1 + ITEM_BYTES);
  end.writeUIntBE(MAX_ITEM - item, 1, ITEM_BYTES);
  return Buffer.concat([prefixKey('w'), utf8(word), end]);
}
/** Keys of all words that begin with `word`. */
export const wordsFrom = (word: string): KvRange => listOf(Buffer.concat([prefixKey('w'), utf8(word)]), false);
export const tradeKey = ({ height, txNum }: Place): Uint8Array => numbersKey('d', height, txNum);

/** Keys of the movements of an address. */
export const movementsOf = (address: number): KvRange => listOf(numbersKey('h', address), true);
export const unspentOf = (address: number): KvRange => listOf(numbersKey('u', address), true);
export const heldBy = (address: number): KvRange => listOf(numbersKey('k', address), false);
export const holdersOf = (item: number): KvRange => listOf(numbersKey('r', item), false);
export const transfersOf = (item: number): KvRange => listOf(numbersKey('t', item), true);

/** Key that stands for a transaction of a block in cursors; no record has this key. */
export const transactionKey = ({ height, txNum }: Place): Uint8Array => numbersKey('x', height, txNum);
export const transactionsIn = (height: number): KvRange => listOf(numbersKey('x', height), false);
/** The index in a `transactionKey`. */
export const txNumOfKey = (key: Uint8Array): number => numbersIn(key)[1] ?? 0;

/** Keys of addresses of the usual form that begin with some hex digits. */
export function addressesFrom(hex: string): KvRange {
  const last = nameKey('n', hex.padEnd(2 * HASH_BYTES, 'f'));
  return { gte: nameKey('n', hex.padEnd(2 * HASH_BYTES, '0')), lt: Buffer.concat([last, Uint8Array.of(0)]) };
}

/** The address that an `addressKey` of the usual form names. */
export function addressOfKey(key: Uint8Array): string {
  return asBuffer(key).toString('hex', 2, 1 + NAME_BYTES);
}

/** The place in a `movementKey` or `transferKey`. */
export function placeInList(key: Uint8Array): Place {
  const [, height = 0, txNum = 0] = numbersIn(key);
  return { height, txNum };
}

/** The output in an `unspentKey`. */
export function outputOfKey(key: Uint8Array): { readonly place: Place; readonly index: number } {
  return { place: placeInList(key), index: numbersIn(key)[3] ?? 0 };
}

/** All keys that begin with these bytes. */
function listOf(prefix: Uint8Array, reverse: boolean): KvRange {
  return { gte: prefix, lt: Buffer.concat([prefix, END_OF_LIST]), reverse };
}

/** Bytes behind every list: longer than the rest of any key after its prefix, and greater than all. */
const END_OF_LIST = Buffer.alloc(NAME_BYTES, 0xff);

/** Key of numbers below 2^42. */
function numbersKey(prefix: string, ...numbers: readonly number[]): Buffer {
  const key = Buffer.allocUnsafe(numbers.reduce((sum, number) => sum + lengthOf(number), 1));
  key[0] = prefix.charCodeAt(0);
  let at = 1;
  for (let rest of numbers) {
    const length = lengthOf(rest);
    for (let i = at + length - 1; i >= at; i--, rest = Math.floor(rest / 0x100)) key[i] = rest;
    key[at] = (key[at] ?? 0) | (0x100 - (0x100 >> (length - 1)));
    at += length;
  }
  return key;
}

/** The numbers of a key. What a cut key lacks is zero: a cursor may be any bytes. */
function numbersIn(key: Uint8Array): number[] {
  const numbers: number[] = [];
  for (let at = 1; at < key.length; ) {
    const length = lengthAt(key, at);
    let number = (key[at++] ?? 0) & (0xff >> length);
    for (const end = at + length - 1; at < end; at++) number = number * 0x100 + (key[at] ?? 0);
    numbers.push(number);
  }
  return numbers;
}

function lengthOf(number: number): number {
  for (let length = 1, limit = 0x80; ; length++, limit *= 0x80) if (!(number >= limit)) return length;
}

/** Length of the number that begins there: one more than the ones at its beginning. */
const lengthAt = (key: Uint8Array, at: number): number => Math.clz32(~((key[at] ?? 0) << 24)) + 1;

/** Key of a name: 64 hex digits as bytes, so that they sort like the texts; any other text as its hash. */
function nameKey(prefix: string, text: string): Uint8Array {
  const isStandard = STANDARD_NAME.test(text);
  const name = isStandard ? Buffer.from(text, 'hex') : sha3Bytes(utf8(text));
  return Buffer.concat([prefixKey(prefix), Uint8Array.of(isStandard ? IS_STANDARD : IS_HASHED), name]);
}
