/**
 * The key map of the wallet's store; no other file knows its keys.
 *
 *   v                 format version, and a box that only the right master key opens
 *   m                 counters: block number, arrivals, spent outpoints, payments; the address for rewards
 *   k <address>       a key pair, sealed under the master key
 *   i <address>       the words that gave the key, and its place among theirs; keys without this record are not covered by words
 *   u <outpoint>      an outpoint that is not spent for good
 *   s <u64>           a spent outpoint, in the order of spending
 *   p <u64>           an own transaction and its state, in the order of making
 *   d <day><node key> donations to a peer on a day (UTC)
 *   n <day><digest>   the result for an idempotency key that came on a day (UTC)
 *   q <u64>           a request for a donation of a peer, and its outcome
 *   h <u64>           a movement, in the order in which the wallet learned of it
 *   j <hash>          the number of the movement of a transaction
 *   o <u64>           an address that peers are told of
 *   w <address>       an imported address whose coins no refresh has told yet
 *   r <address>       amounts for which an address was used in rejected own transactions
 *   l <kind><name>    the label of an address or a transaction
 *   t <id>            a trade
 *   c <hash>          a transaction that created items of this wallet, and so has their metadata
 */

import { prefixKey, readU64, textKey, u64Key } from '../db/keys.js';
import { asBuffer } from '../lib/bytes.js';

export const STORE_FORMAT = 1;

export const PREFIX = {
  key: 'k',
  place: 'i',
  outpoint: 'u',
  spent: 's',
  payment: 'p',
  donation: 'd',
  donationRequest: 'q',
  idempotencyKey: 'n',
  movement: 'h',
  movementOf: 'j',
  label: 'l',
  creation: 'c',
  offered: 'o',
  imported: 'w',
  unpaid: 'r',
  trade: 't',
} as const;

export const FORMAT_KEY: Uint8Array = prefixKey('v');
export const META_KEY: Uint8Array = prefixKey('m');

export const addressKey = (address: string): Uint8Array => textKey(PREFIX.key, address);
export const placeKey = (address: string): Uint8Array => textKey(PREFIX.place, address);
export const outpointRecordKey = (outpoint: string): Uint8Array => textKey(PREFIX.outpoint, outpoint);
export const spentKey = (number: number): Uint8Array => u64Key(PREFIX.spent, number);
export const paymentKey = (number: number): Uint8Array => u64Key(PREFIX.payment, number);
export const donationKey = (day: string, nodeKey: string): Uint8Array => textKey(PREFIX.donation, `${day}${nodeKey}`);
export const donationRequestKey = (number: number): Uint8Array => u64Key(PREFIX.donationRequest, number);
export const idempotencyRecordKey = (day: string, digest: string): Uint8Array =>
  textKey(PREFIX.idempotencyKey, `${day}${digest}`);
export const movementKey = (number: number): Uint8Array => u64Key(PREFIX.movement, number);
export const movementOfKey = (hash: string): Uint8Array => textKey(PREFIX.movementOf, hash);
export const labelKey = (kind: string, name: string): Uint8Array => textKey(PREFIX.label, `${kind} ${name}`);
export const importedKey = (address: string): Uint8Array => textKey(PREFIX.imported, address);
export const offeredKey = (slot: number): Uint8Array => u64Key(PREFIX.offered, slot);
export const unpaidKey = (address: string): Uint8Array => textKey(PREFIX.unpaid, address);
export const tradeKey = (id: string): Uint8Array => textKey(PREFIX.trade, id);
export const creationKey = (hash: string): Uint8Array => textKey(PREFIX.creation, hash);

export function keyText(key: Uint8Array): string {
  return asBuffer(key).toString('utf8', 1);
}

export function keyNumber(key: Uint8Array): number {
  return readU64(key, 1);
}
