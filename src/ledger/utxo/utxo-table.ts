/**
 * The unspent outputs in memory: a hash table over typed arrays, 79 bytes an output and 6 more for each distinct address, with a list of outputs for
 * every address. It knows nothing of blocks or rules. A table of objects would cost more than ten times the memory and long pauses for garbage
 * collection.
 *
 * Layout. Outputs live in slots of 18 words (`output-words.ts`), slots in chunks. Free slots form a list. An index of slot numbers finds a slot by
 * outpoint, and grows in small steps; another finds the first output of an address. What does not fit the words (odd texts, items, huge locktimes) is
 * kept beside them: strangers choose how much there is of it, so that nothing there grows in one go either.
 */

import type { Asset, OutPoint, TxOut } from '../../chain/types.js';
import { TesseraError } from '../../lib/errors.js';
import { mix, mixText, type SetDigest, SetSum } from '../../lib/set-digest.js';
import { AddressLists } from './address-lists.js';
import { HASH_KEY_BYTES, KeyedHash } from './keyed-hash.js';
import {
  ADDRESS_KIND,
  AMOUNT_HIGH,
  AMOUNT_LOW,
  CLAIMED_FLAG,
  FREE,
  GROUP,
  HASH,
  HASH_KIND,
  HASH_WORDS,
  hexOf,
  ITEM_FLAG,
  KINDS,
  LARGE_LOCKTIME,
  LOCKTIME,
  N,
  NEXT,
  ODD_HASH,
  OUT_WORDS,
  ROW_WORDS,
  readHexWords,
} from './output-words.js';
import { type ItemRest, OutputsCopy } from './outputs-copy.js';
import { SlotIndex } from './slot-index.js';
import { SlotMap, SlotStore } from './slots.js';
import { TextPool } from './text-pool.js';

export class UtxoTable {
  readonly #outs = new SlotStore(OUT_WORDS, NEXT);
  readonly #outIndex: SlotIndex;
  readonly #addresses: AddressLists;
  readonly #oddHashes: TextPool;
  /** Class of an output's item, as its number in `#classes`, by the output's slot. */
  readonly #items = new SlotMap<number>();
  /** Data of items besides the amounts, as JSON: one text for all outputs of a class. */
  readonly #classes: TextPool;
  readonly #locktimes = new SlotMap<bigint>();
  readonly #hash: KeyedHash;
  readonly #secret: Uint8Array;
  // The key of the current look-up, which #readHash fills, so that a look-up allocates nothing.
  readonly #hashKey = new Uint32Array(HASH_WORDS);
  #nKey = 0;
  // Hash words of an output in the table, copied here to compute its place in the index.
  readonly #moved = new Uint32Array(HASH_WORDS);
  // Hashes and slots of the group that is being looked up or added.
  readonly #hashes = new Int32Array(GROUP);
  readonly #slots = new Uint32Array(GROUP);
  readonly #sum = new SetSum();
  readonly #sameOut = (slot: number): boolean => {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    const k = this.#hashKey;
    if (c[b] !== k[0] || c[b + 1] !== k[1] || c[b + 2] !== k[2] || c[b + N] !== this.#nKey) return false;
    return (((c[b + KINDS] as number) ^ (k[KINDS] as number)) & ~ADDRESS_KIND) === 0;
  };

  /** `hashKey` is `HASH_KEY_BYTES` random bytes, so that nobody outside can choose keys that collide. */
  constructor(hashKey: Uint8Array = new Uint8Array(HASH_KEY_BYTES)) {
    this.#hash = new KeyedHash(hashKey);
    this.#secret = hashKey;
    this.#oddHashes = new TextPool(this.#hash);
    this.#classes = new TextPool(this.#hash);
    this.#outIndex = new SlotIndex((slot) => this.#hashOfOut(slot));
    this.#addresses = new AddressLists(this.#outs, this.#hash);
  }

  /** An empty table that hashes under the same key. */
  another(): UtxoTable {
    return new UtxoTable(this.#secret);
  }

  get size(): number {
    return this.#outIndex.size;
  }

  get bytes(): number {
    return this.#outs.bytes + this.#outIndex.bytes + this.#addresses.bytes;
  }

  /** Most entries that a look-up passes; counted on demand. */
  get longestRun(): number {
    return Math.max(this.#outIndex.longestRun, this.#addresses.longestRun);
  }

  get digest(): SetDigest {
    return this.#sum.digest;
  }

  /** The slot of an output, 0 for none. The slot is valid until the output is removed. */
  find(outPoint: OutPoint): number {
    if (!this.#readHash(outPoint.tHash, false)) return 0;
    this.#nKey = outPoint.n >>> 0;
    return this.#outIndex.find(this.#hashKeyHash(), this.#sameOut);
  }

  /** Fetches what `find` and `output` will read of many outputs into the cache. No other effect. */
  approach(outPoints: readonly OutPoint[]): void {
    // The processor finds a single output as fast without this.
    if (outPoints.length < 2) return;
    for (let from = 0; from < outPoints.length; from += GROUP) {
      const end = Math.min(outPoints.length, from + GROUP);
      let count = 0;
      for (let i = from; i < end; i++) {
        const { tHash, n } = outPoints[i] as OutPoint;
        if (!this.#readHash(tHash, false)) continue;
        this.#nKey = n >>> 0;
        this.#hashes[count++] = this.#hashKeyHash();
      }
      this.#outIndex.candidates(this.#hashes, count, this.#slots);
      this.#outs.approach(this.#slots, count);
    }
  }

  /** Adds an output that must not be there yet; throws when it is (a broken invariant of the caller). */
  insert(outPoint: OutPoint, out: TxOut): void {
    this.#readHash(outPoint.tHash, true);
    this.#nKey = outPoint.n >>> 0;
    const hash = this.#hashKeyHash();
    if (this.#outIndex.find(hash, this.#sameOut) !== 0) {
      throw new Error(`UTXO table: ${outPoint.tHash}:${outPoint.n} is there already`);
    }
    const slot = this.#outs.take();
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    c.set(this.#hashKey, b + HASH);
    c[b + N] = this.#nKey;
    c[b + AMOUNT_LOW] = Number(out.value.amount & 0xffff_ffffn);
    c[b + AMOUNT_HIGH] = Number(out.value.amount >> 32n);
    if (out.locktime < BigInt(LARGE_LOCKTIME)) c[b + LOCKTIME] = Number(out.locktime);
    else {
      c[b + LOCKTIME] = LARGE_LOCKTIME;
      this.#locktimes.set(slot, out.locktime);
    }
    c[b + NEXT] = 0;
    if (out.value.kind === 'item') {
      c[b + NEXT] = ITEM_FLAG;
      this.#items.set(slot, this.#classes.add(JSON.stringify([out.value.genesisHash, out.value.metadata])));
    }
    this.#outIndex.add(hash, slot);
    this.#addresses.add(slot, out.scriptPublicKey);
    this.#addDigest(slot, 1);
  }

  remove(slot: number): void {
    this.#addDigest(slot, -1);
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    this.#outIndex.remove(this.#hashOfOut(slot), slot);
    this.#addresses.remove(slot);
    if (isOdd(c, b)) this.#oddHashes.release(c[b] as number);
    if (((c[b + NEXT] as number) & ITEM_FLAG) !== 0) this.#removeItem(slot);
    if (c[b + LOCKTIME] === LARGE_LOCKTIME) this.#locktimes.delete(slot);
    c[b + KINDS] = FREE;
    this.#outs.giveBack(slot);
  }

  output(slot: number): TxOut {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    return {
      value: this.#asset(slot, c, b),
      locktime: this.#locktime(slot, c, b),
      scriptPublicKey: this.#addresses.text(slot),
    };
  }

  /** The outputs of a list, undefined for outputs that are not unspent. */
  outputs(outPoints: readonly OutPoint[]): (TxOut | undefined)[] {
    const outputs: (TxOut | undefined)[] = [];
    for (let from = 0; from < outPoints.length; from += GROUP) {
      const group = outPoints.slice(from, from + GROUP);
      this.approach(group);
      for (const outPoint of group) {
        const slot = this.find(outPoint);
        outputs.push(slot === 0 ? undefined : this.output(slot));
      }
    }
    return outputs;
  }

  outPoint(slot: number): OutPoint {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    const tHash = isOdd(c, b) ? this.#oddHashes.text(c[b] as number) : `g${hexOf(c, b, 31)}`;
    return { tHash, n: (c[b + N] as number) | 0 };
  }

  /** True if a transaction of the pool spends the output. */
  isClaimed(slot: number): boolean {
    return ((this.#outs.chunk(slot)[this.#outs.base(slot) + NEXT] as number) & CLAIMED_FLAG) !== 0;
  }

  setClaimed(slot: number, claimed: boolean): void {
    const c = this.#outs.chunk(slot);
    const at = this.#outs.base(slot) + NEXT;
    c[at] = claimed ? (c[at] as number) | CLAIMED_FLAG : (c[at] as number) & ~CLAIMED_FLAG;
  }

  /** Slots of the outputs that pay an address, latest first, or those before `after`. Throws `invalid_request`. */
  *slotsOf(address: string, after?: OutPoint): Generator<number> {
    let slot = after === undefined ? this.#addresses.first(address) : this.#nextOf(address, after);
    while (slot !== 0) {
      yield slot;
      slot = this.#addresses.next(slot);
    }
  }

  #nextOf(address: string, after: OutPoint): number {
    const slot = this.find(after);
    if (slot === 0 || this.#addresses.text(slot) !== address) {
      throw new TesseraError(
        'invalid_request',
        'the page before ended with an output that is spent; ask again from the beginning',
      );
    }
    return this.#addresses.next(slot);
  }

  /** A copy of at most `limit` outputs of an address, at a fraction of the cost of reading them. `isWhole`: there are no others. */
  copyOf(address: string, limit: number): OutputsCopy {
    const slots: number[] = [];
    let isWhole = true;
    for (const slot of this.slotsOf(address)) {
      isWhole = slots.length < limit;
      if (!isWhole) break;
      slots.push(slot);
    }
    const copy = new OutputsCopy(slots.length, isWhole);
    for (const [index, slot] of slots.entries()) this.#copyInto(copy, index, slot);
    return copy;
  }

  *slots(): Generator<number> {
    for (let slot = 1; slot < this.#outs.end; slot++) if (this.isInUse(slot)) yield slot;
  }

  /** One more than the highest slot that may be in use. */
  get slotEnd(): number {
    return this.#outs.end;
  }

  /** True if a slot from 1 up to `slotEnd` is in use. */
  isInUse(slot: number): boolean {
    return ((this.#outs.chunk(slot)[this.#outs.base(slot) + KINDS] as number) & HASH_KIND) !== FREE;
  }

  /** Copies the output of a slot as `ROW_WORDS` words; false for an output that does not fit them. */
  copyRow(slot: number, into: Uint32Array, at: number): boolean {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    if (isOdd(c, b) || ((c[b + NEXT] as number) & ITEM_FLAG) !== 0 || c[b + LOCKTIME] === LARGE_LOCKTIME) return false;
    if (this.#addresses.isOdd(slot)) return false;
    for (let i = 0; i < ROW_WORDS; i++) into[at + i] = c[b + i] as number;
    return true;
  }

  /** Adds the outputs of rows, except those that are in the table already. */
  insertRows(rows: Uint32Array, count: number): void {
    for (let from = 0; from < count; from += GROUP) this.#insertGroup(rows, from, Math.min(GROUP, count - from));
  }

  #insertGroup(rows: Uint32Array, from: number, count: number): void {
    const k = this.#hashKey;
    for (let i = 0; i < count; i++) {
      const at = (from + i) * ROW_WORDS;
      this.#readWords(rows, at);
      if (((k[KINDS] as number) & HASH_KIND) !== 0) throw new RangeError('not a row of outputs');
      this.#hashes[i] = this.#hashKeyHash();
    }
    this.#outIndex.approach(this.#hashes, count, this.#slots);
    let added = 0;
    for (let i = 0; i < count; i++) {
      const at = (from + i) * ROW_WORDS;
      const hash = this.#hashes[i] as number;
      this.#readWords(rows, at);
      if (this.#outIndex.find(hash, this.#sameOut) !== 0) continue;
      const slot = this.#outs.take();
      const c = this.#outs.chunk(slot);
      const b = this.#outs.base(slot);
      for (let w = 0; w < ROW_WORDS; w++) c[b + w] = rows[at + w] as number;
      c[b + NEXT] = 0;
      this.#outIndex.add(hash, slot);
      this.#slots[added++] = slot;
    }
    this.#addresses.addAll(this.#slots, added);
    for (let i = 0; i < added; i++) this.#addDigest(this.#slots[i] as number, 1);
  }

  /** Makes room for `count` outputs in an empty table, which then grows faster. */
  reserve(count: number): void {
    this.#outIndex.reserve(count);
    this.#addresses.reserve(count);
  }

  #copyInto(copy: OutputsCopy, index: number, slot: number): void {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    const isItem = ((c[b + NEXT] as number) & ITEM_FLAG) !== 0;
    if (!isOdd(c, b) && !isItem && c[b + LOCKTIME] === 0) {
      copy.set(index, c, b);
      return;
    }
    copy.set(index, c, b, {
      hash: isOdd(c, b) ? this.#oddHashes.text(c[b] as number) : undefined,
      item: isItem ? this.#itemRest(slot) : undefined,
      locktime: this.#locktime(slot, c, b),
    });
  }

  #asset(slot: number, c: Uint32Array, b: number): Asset {
    const amount = (BigInt(c[b + AMOUNT_HIGH] as number) << 32n) | BigInt(c[b + AMOUNT_LOW] as number);
    if (((c[b + NEXT] as number) & ITEM_FLAG) === 0) return { kind: 'token', amount };
    return { kind: 'item', amount, ...this.#itemRest(slot) };
  }

  #itemRest(slot: number): ItemRest {
    const [genesisHash, metadata] = JSON.parse(this.#classes.text(this.#items.get(slot) ?? 0));
    return { genesisHash, metadata };
  }

  #removeItem(slot: number): void {
    this.#classes.release(this.#items.get(slot) ?? 0);
    this.#items.delete(slot);
  }

  #locktime(slot: number, c: Uint32Array, b: number): bigint {
    const word = c[b + LOCKTIME] as number;
    return word === LARGE_LOCKTIME ? (this.#locktimes.get(slot) ?? 0n) : BigInt(word);
  }

  // Keys of look-ups

  /** Puts a hash text into the key. With `add`, an odd text gets a number; without it, false means an unknown text. */
  #readHash(tHash: string, add: boolean): boolean {
    const key = this.#hashKey;
    if (tHash.length === 32 && tHash.charCodeAt(0) === 103 && readHexWords(tHash, 1, 31, key)) return true;
    const number = add ? this.#oddHashes.add(tHash) : this.#oddHashes.find(tHash);
    if (number === undefined) return false;
    key[0] = number;
    key[1] = 0;
    key[2] = 0;
    key[KINDS] = ODD_HASH;
    return true;
  }

  /** Puts the hash and index of an output's words into the key. */
  #readWords(words: Uint32Array, at: number): void {
    for (let i = HASH; i < HASH + HASH_WORDS; i++) this.#hashKey[i] = words[at + i] as number;
    this.#hashKey[KINDS] = (this.#hashKey[KINDS] as number) & ~ADDRESS_KIND;
    this.#nKey = words[at + N] as number;
  }

  #hashOfOut(slot: number): number {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    const words = this.#moved;
    for (let i = HASH; i < HASH + HASH_WORDS; i++) words[i] = c[b + i] as number;
    words[KINDS] = (words[KINDS] as number) & ~ADDRESS_KIND;
    return this.#hash.of(words, 0, HASH_WORDS, c[b + N] as number);
  }

  #hashKeyHash(): number {
    return this.#hash.of(this.#hashKey, 0, HASH_WORDS, this.#nKey);
  }

  /** Adds (+1) the output of a slot to the set digest, or takes it away (-1). */
  #addDigest(slot: number, sign: 1 | -1): void {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    const isItem = ((c[b + NEXT] as number) & ITEM_FLAG) !== 0;
    let x = isItem ? 2 : 1;
    if (isOdd(c, b)) x = mixText(x, this.#oddHashes.text(c[b] as number));
    else {
      for (let i = 0; i < KINDS; i++) x = mix(x, c[b + i] as number);
      x = mix(x, (c[b + KINDS] as number) & ~ADDRESS_KIND);
    }
    for (let i = N; i <= LOCKTIME; i++) x = mix(x, c[b + i] as number);
    if (c[b + LOCKTIME] === LARGE_LOCKTIME) x = mixText(x, String(this.#locktimes.get(slot)));
    x = this.#addresses.mixInto(x, slot);
    if (isItem) x = mixText(x, this.#classes.text(this.#items.get(slot) ?? 0));
    this.#sum.change(x, sign);
  }
}

/** True if the hash of an output is kept as text. */
function isOdd(c: Uint32Array, b: number): boolean {
  return ((c[b + KINDS] as number) & HASH_KIND) === ODD_HASH;
}
