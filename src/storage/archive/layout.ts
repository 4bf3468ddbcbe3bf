/**
 * The archive's key map, and the names that clients use (decision V9). Blocks are in segments; these records can be made again from them.
 *
 *   p ‖ number (u64 be)                    → place of the block in the segments, and its hash
 *   k ‖ block hash (32 bytes)              → number (u64 be) of the block
 *   d ‖ transaction hash (31 digits, 16 bytes) → place of the transaction
 *   e ‖ transaction name                   → place of a transaction in block 0 whose name has another form
 *   g ‖ genesis hash                       → item record
 *   l                                      → last block: number (u64 be) ‖ hash
 *   v ‖ transaction hash (16 bytes) ‖ index (1 or 4 bytes) → an unspent output (`unspent-outputs.ts`)
 *   u ‖ transaction name ‖ index (u32 be)  → an unspent output, TxOut, where the name has another form. Earlier versions had all here
 *   c ‖ number (u64 be)                    → certificate of the block: public key (32 bytes) ‖ signature (64 bytes)
 *   r                                      → facts of the round of the last block, where they are known: JSON with its number
 *   s                                      → the block of the unspent outputs: number (u64 be) ‖ hash
 *
 * Archives of data format 2 have blocks that are in no segment yet in these records. They are read as they are, and moved later.
 *
 *   h ‖ number (u64 be)                    → block hash
 *   n ‖ number (u64 be)                    → block record
 *   b ‖ block hash                         → number (u64 be) of the block
 *   x ‖ number (u64 be) ‖ index (u32 be)   → hashes of 32 transactions from this index on; the coinbase comes last
 *   t ‖ transaction hash                   → transaction record
 *
 * Archives of data format 1 (docs/adr/small-decisions.md#0053) have the block record under `b ‖ block hash`, and the hash of
 * each transaction under `i ‖ number ‖ index`.
 *
 * Block hashes are `b` + 64 hex digits. Transaction hashes are `g` + 31 hex digits, but those of block 0 are any text.
 */

import type { OutPoint } from '../../chain/types.js';
import { prefixKey, prefixRange, readU64, textKey, u64Key, u64u32Key } from '../../db/keys.js';
import type { KvRange } from '../../db/kv.js';
import { asBuffer, toHex } from '../../lib/bytes.js';

export const blockPlaceKey = (height: number): Uint8Array => u64Key('p', height);
export const numberKey = (hash: string): Uint8Array => packedKey('k', hash.slice(1), '0');

/** Key of the place of a transaction. */
export function transactionPlaceKey(hash: string): Uint8Array {
  return PACKED_NAME.test(hash) ? packedKey('d', hash.slice(1), '0') : textKey('e', hash);
}

/** Keys of the prefix whose hashes begin with these digits. */
export function packedRange(prefix: 'd' | 'k', digits: string): KvRange {
  const lt = packedKey(prefix, digits, 'f');
  return { gte: packedKey(prefix, digits, '0'), lt: Buffer.concat([lt, Buffer.alloc(32, 0xff)]) };
}

/** The digits of a hash in its key. */
export function digitsOfKey(key: Uint8Array): string {
  const digits = toHex(key.subarray(1));
  return key[0] === 0x64 ? digits.slice(0, -1) : digits;
}

function packedKey(prefix: string, digits: string, pad: string): Uint8Array {
  return Buffer.from(hexOf(prefix) + (digits.length % 2 === 0 ? digits : digits + pad), 'hex');
}

const hexOf = (prefix: string): string => prefix.charCodeAt(0).toString(16);

export const heightKey = (height: number): Uint8Array => u64Key('h', height);
/** The height in the key of a kind that begins with it. */
export const heightOfKey = (key: Uint8Array): number => readU64(key, 1);
export const blockKey = (hash: string): Uint8Array => textKey('b', hash);
export const blockAtKey = (height: number): Uint8Array => u64Key('n', height);
/** Transactions whose hashes are in one record. */
export const NAMES_EACH = 32;
/** Key of the record that has the hash of this transaction. */
export const namesKey = (height: number, txNum: number): Uint8Array =>
  u64u32Key('x', height, txNum - (txNum % NAMES_EACH));
/** Key of an index record, in data format 1. */
export const indexKey = (height: number, txNum: number): Uint8Array => u64u32Key('i', height, txNum);
export const transactionKey = (hash: string): Uint8Array => textKey('t', hash);
export const itemKey = (genesisHash: string): Uint8Array => textKey('g', genesisHash);
export const certificateKey = (height: number): Uint8Array => u64Key('c', height);
export const ROUND_KEY = prefixKey('r');
export const LAST_KEY = prefixKey('l');
export const BLOCK_PLACES = prefixRange('p');
export const HEIGHTS = prefixRange('h');
export const BLOCKS = prefixRange('n');
export const NAMES = prefixRange('x');
export const CERTIFICATES = prefixRange('c');
/** Unspent outputs under both forms of keys, also those of earlier versions that do not have the shorter form yet. */
export const UNSPENT: KvRange = { gte: prefixKey('u'), lt: prefixKey('w') };
export const LONG_UNSPENT = prefixRange('u');
export const UNSPENT_TIP_KEY = prefixKey('s');

/** Key of an unspent output. Outputs of one transaction lie side by side: they are made and often read together. */
export function unspentKey({ tHash, n }: OutPoint): Uint8Array {
  const isPacked = PACKED_NAME.test(tHash);
  const end = 1 + (isPacked ? 16 : Buffer.byteLength(tHash));
  const key = Buffer.allocUnsafe(end + (isPacked && n >>> 0 <= 0xff ? 1 : 4));
  key[0] = isPacked ? 0x76 : 0x75;
  key.write(isPacked ? `${tHash.slice(1)}0` : tHash, 1, isPacked ? 'hex' : 'utf8');
  key.writeUIntBE(n >>> 0, end, key.length - end);
  return key;
}

/** The outpoint of an `unspentKey`. */
export function outPointOfKey(key: Uint8Array): OutPoint {
  const buffer = asBuffer(key);
  const isShort = isShortKey(key);
  const end = isShort ? 17 : buffer.length - 4;
  const tHash = isShort ? `g${buffer.toString('hex', 1, end).slice(0, -1)}` : buffer.toString('utf8', 1, end);
  return { tHash, n: buffer.readUIntBE(end, buffer.length - end) | 0 };
}

/** True for the key of an unspent output whose record is packed. */
export const isShortKey = (key: Uint8Array): boolean => key[0] === 0x76;

/** Form of the transaction names that are hashes. */
const PACKED_NAME = /^g[0-9a-f]{31}$/;
const LAST_BLOCK = 'nLastBlockHashKey';
const INDEXED_BLOCK = /^nIndexedBlockHashKey_([0-9a-f]{16})$/;
const INDEXED_TRANSACTION = /^nIndexedTxHashKey_([0-9a-f]{16})_([0-9a-f]{8})$/;
const BLOCK_HASH = /^b[0-9a-f]{64}$/;

/** Meaning of a key that a client asks for. */
export type EntryKey =
  | { readonly kind: 'last' }
  | { readonly kind: 'block-height'; readonly height: number }
  | { readonly kind: 'transaction-index'; readonly height: number; readonly txNum: number }
  | { readonly kind: 'block-hash' }
  | { readonly kind: 'transaction-hash' };

/** Meaning of a key. A number too large for a double is beyond every chain. */
export function parseEntryKey(key: string): EntryKey {
  if (key === LAST_BLOCK) return { kind: 'last' };
  const block = INDEXED_BLOCK.exec(key);
  if (block) return { kind: 'block-height', height: Number.parseInt(block[1] ?? '', 16) };
  const indexed = INDEXED_TRANSACTION.exec(key);
  if (indexed) {
    const [, height = '', txNum = ''] = indexed;
    return { kind: 'transaction-index', height: Number.parseInt(height, 16), txNum: Number.parseInt(txNum, 16) };
  }
  return BLOCK_HASH.test(key) ? { kind: 'block-hash' } : { kind: 'transaction-hash' };
}
