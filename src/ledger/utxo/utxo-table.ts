/**
 * The unspent outputs in memory: a hash table over typed arrays, about 50 bytes an output and 45 more for each distinct
 * address, with a list of outputs for every address. It knows nothing of blocks or rules. A table of objects would cost
 * five times the memory and long pauses for garbage collection.
 *
 * Layout. Outputs live in slots of 11 words, slots in chunks; slot 0 means "none". Free slots form a list. An index of slot
 * numbers finds a slot by outpoint, and grows in small steps; addresses have a table of their own. What does
 * not fit the words (odd texts, items, huge locktimes) is kept beside them: strangers choose how much there is of it, so that
 * nothing there grows in one go either.
 */

import type { Asset, OutPoint, TxOut } from '../../chain/types.js';
import { TesseraError } from '../../lib/errors.js';
import { mix, mixText, type SetDigest, SetSum } from '../../lib/set-digest.js';
import { AddressTable } from './address-table.js';
import { hexOf, readHexWords } from './hex-words.js';
import { HASH_KEY_BYTES, KeyedHash } from './keyed-hash.js';
import { type ItemRest, OutputsCopy } from './outputs-copy.js';
import { SlotIndex } from './slot-index.js';
import { SlotMap, SlotStore } from './slots.js';
import { TextPool } from './text-pool.js';

// Words of an output slot. A free slot keeps the next free one in NEXT.
const OUT_WORDS = 11;
const HASH = 0; // 4 words
const N = 4;
const AMOUNT_LOW = 5;
const AMOUNT_HIGH = 6;
const LOCKTIME = 7;
const ADDRESS = 8; // address slot and the two flags
const NEXT = 9;
const PREVIOUS = 10;

/** Words of an output as it is copied out: those before ADDRESS, the kind of the address in the last nibble of the hash, 8 words of address. */
export const ROW_WORDS = ADDRESS + 8;
/** In place of the kind of an address: there is none. */
const NO_ADDRESS = 3;

const ITEM_FLAG = 0x8000_0000;
const CLAIMED_FLAG = 0x4000_0000;
const ADDRESS_MASK = 0x3fff_ffff;
/** In LOCKTIME: the value is in `#locktimes`. */
const LARGE_LOCKTIME = 0xffff_ffff;

/** A hash text that is not `g` + 31 hex digits has this in the last nibble of its words, which is 0 for the others. */
const ODD_HASH = 0xf;
/** The same of a free slot. */
const FREE = 0x7;

export class UtxoTable {
  readonly #outs = new SlotStore(OUT_WORDS, NEXT);
  readonly #outIndex: SlotIndex;
  readonly #addresses: AddressTable;
  readonly #oddHashes: TextPool;
  /** The class of an output's item, by the output's slot; its number in `#classes`. */
  readonly #items = new SlotMap<number>();
  /** What items have beside their amounts, as JSON: one text for all outputs of a class. */
  readonly #classes: TextPool;
  readonly #locktimes = new SlotMap<bigint>();
  readonly #hash: KeyedHash;
  readonly #secret: Uint8Array;
  // The key that is looked for; filled by #readHash, so that a look-up allocates nothing.
  readonly #hashKey = new Uint32Array(4);
  #nKey = 0;
  readonly #sum = new SetSum();
  readonly #sameOut = (slot: number): boolean => {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    const k = this.#hashKey;
    return c[b] === k[0] && c[b + 1] === k[1] && c[b + 2] === k[2] && c[b + 3] === k[3] && c[b + N] === this.#nKey;
  };

  /** `hashKey` is `HASH_KEY_BYTES` random bytes, so that nobody outside can choose keys that collide. */
  constructor(hashKey: Uint8Array = new Uint8Array(HASH_KEY_BYTES)) {
    this.#hash = new KeyedHash(hashKey);
    this.#secret = hashKey;
    this.#oddHashes = new TextPool(this.#hash);
    this.#classes = new TextPool(this.#hash);
    this.#outIndex = new SlotIndex((slot) => this.#hashOfOut(slot));
    this.#addresses = new AddressTable(this.#hash);
  }

  /** An empty table that hashes under the same key. */
  another(): UtxoTable {
    return new UtxoTable(this.#secret);
  }

  get size(): number {
    return this.#outIndex.size;
  }

  /** Bytes of the typed arrays. */
  get bytes(): number {
    return this.#outs.bytes + this.#outIndex.bytes + this.#addresses.bytes;
  }

  /** The most entries that a look-up passes; counted on demand. */
  get longestRun(): number {
    return Math.max(this.#outIndex.longestRun, this.#addresses.longestRun);
  }

  get digest(): SetDigest {
    return this.#sum.digest;
  }

  /** The slot of an output, 0 when there is none. A slot is valid until its output is removed. */
  find(outPoint: OutPoint): number {
    if (!this.#readHash(outPoint.tHash, false)) return 0;
    this.#nKey = outPoint.n >>> 0;
    return this.#outIndex.find(this.#hashKeyHash(), this.#sameOut);
  }

  /** Adds an output that is not there yet; throws when it is (a broken invariant of the caller). */
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
    let flags = 0;
    if (out.value.kind === 'item') {
      flags = ITEM_FLAG;
      this.#items.set(slot, this.#classes.add(JSON.stringify([out.value.genesisHash, out.value.metadata])));
    }
    this.#outIndex.add(hash, slot);
    const address = out.scriptPublicKey === null ? 0 : this.#addresses.findOrAdd(out.scriptPublicKey);
    c[b + ADDRESS] = flags | address;
    c[b + PREVIOUS] = 0;
    c[b + NEXT] = 0;
    if (address !== 0) this.#link(slot, address);
    this.#addDigest(slot, 1);
  }

  remove(slot: number): void {
    this.#addDigest(slot, -1);
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    this.#outIndex.remove(this.#hashOfOut(slot), slot);
    const address = (c[b + ADDRESS] as number) & ADDRESS_MASK;
    if (address !== 0) this.#unlink(slot, address);
    if (((c[b + 3] as number) & ODD_HASH) === ODD_HASH) this.#oddHashes.release(c[b] as number);
    if (((c[b + ADDRESS] as number) & ITEM_FLAG) !== 0) this.#removeItem(slot);
    if (c[b + LOCKTIME] === LARGE_LOCKTIME) this.#locktimes.delete(slot);
    c[b + 3] = FREE;
    this.#outs.giveBack(slot);
  }

  /** The output in a slot. */
  output(slot: number): TxOut {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    const address = (c[b + ADDRESS] as number) & ADDRESS_MASK;
    return {
      value: this.#asset(slot, c, b),
      locktime: this.#locktime(slot, c, b),
      scriptPublicKey: address === 0 ? null : this.#addresses.text(address),
    };
  }

  outPoint(slot: number): OutPoint {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    const odd = ((c[b + 3] as number) & ODD_HASH) === ODD_HASH;
    const tHash = odd ? this.#oddHashes.text(c[b] as number) : `g${hexOf(c, b, 31)}`;
    return { tHash, n: (c[b + N] as number) | 0 };
  }

  /** Whether a transaction of the pool spends the output. */
  isClaimed(slot: number): boolean {
    return ((this.#outs.chunk(slot)[this.#outs.base(slot) + ADDRESS] as number) & CLAIMED_FLAG) !== 0;
  }

  setClaimed(slot: number, claimed: boolean): void {
    const c = this.#outs.chunk(slot);
    const at = this.#outs.base(slot) + ADDRESS;
    c[at] = claimed ? (c[at] as number) | CLAIMED_FLAG : (c[at] as number) & ~CLAIMED_FLAG;
  }

  /**
   * Slots of the outputs that pay an address, the latest first; those that came before the output `after`, where it is
   * given. Throws `invalid_request` when that is not an unspent output of the address.
   */
  *slotsOf(address: string, after?: OutPoint): Generator<number> {
    let slot = after === undefined ? this.#firstOf(address) : this.#nextOf(address, after);
    while (slot !== 0) {
      yield slot;
      slot = this.#outs.chunk(slot)[this.#outs.base(slot) + NEXT] as number;
    }
  }

  #firstOf(address: string): number {
    const found = this.#addresses.find(address);
    return found === 0 ? 0 : this.#addresses.firstOutput(found);
  }

  #nextOf(address: string, after: OutPoint): number {
    const slot = this.find(after);
    if (slot === 0 || this.output(slot).scriptPublicKey !== address) {
      throw new TesseraError(
        'invalid_request',
        'the page before ended with an output that is spent; ask again from the beginning',
      );
    }
    return this.#outs.chunk(slot)[this.#outs.base(slot) + NEXT] as number;
  }

  /**
   * A copy of the outputs that pay an address, which costs a fraction of reading them and stays as it is while the table
   * changes. Takes at most `limit` of them; `isWhole` says whether that was all.
   */
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

  /** Every slot in use. */
  *slots(): Generator<number> {
    for (let slot = 1; slot < this.#outs.end; slot++) if (this.isInUse(slot)) yield slot;
  }

  /** Every slot in use is below it. */
  get slotEnd(): number {
    return this.#outs.end;
  }

  /** Of a slot from 1 up to `slotEnd`. */
  isInUse(slot: number): boolean {
    return ((this.#outs.chunk(slot)[this.#outs.base(slot) + 3] as number) & ODD_HASH) !== FREE;
  }

  /** Copies the output of a slot as `ROW_WORDS` words; false when it has something that does not fit them. */
  copyRow(slot: number, into: Uint32Array, at: number): boolean {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    const flags = c[b + ADDRESS] as number;
    const isOdd = ((c[b + 3] as number) & ODD_HASH) === ODD_HASH;
    if (isOdd || (flags & ITEM_FLAG) !== 0 || c[b + LOCKTIME] === LARGE_LOCKTIME) return false;
    for (let i = 0; i < ADDRESS; i++) into[at + i] = c[b + i] as number;
    const address = flags & ADDRESS_MASK;
    const kind = address === 0 ? NO_ADDRESS : this.#addresses.copyWords(address, into, at + ADDRESS);
    if (kind === NO_ADDRESS) into.fill(0, at + ADDRESS, at + ROW_WORDS);
    into[at + 3] = (into[at + 3] as number) | kind;
    return kind >= 0;
  }

  /** Adds the output of a row, unless it is there. */
  insertRow(row: Uint32Array, at: number): void {
    const kind = (row[at + 3] as number) & ODD_HASH;
    if (kind > NO_ADDRESS) throw new RangeError('not a row of outputs');
    for (let i = 0; i < N; i++) this.#hashKey[i] = row[at + i] as number;
    this.#hashKey[3] = ((row[at + 3] as number) & ~ODD_HASH) >>> 0;
    this.#nKey = row[at + N] as number;
    const hash = this.#hashKeyHash();
    if (this.#outIndex.find(hash, this.#sameOut) !== 0) return;
    const slot = this.#outs.take();
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    for (let i = 0; i < N; i++) c[b + i] = this.#hashKey[i] as number;
    for (let i = N; i < ADDRESS; i++) c[b + i] = row[at + i] as number;
    this.#outIndex.add(hash, slot);
    const address = kind === NO_ADDRESS ? 0 : this.#addresses.findOrAddWords(kind, row, at + ADDRESS);
    c[b + ADDRESS] = address;
    c[b + PREVIOUS] = 0;
    c[b + NEXT] = 0;
    if (address !== 0) this.#link(slot, address);
    this.#addDigest(slot, 1);
  }

  /** Makes room in an empty table, which grows faster then. */
  reserve(count: number): void {
    this.#outIndex.reserve(count);
    this.#addresses.reserve(count);
  }

  #copyInto(copy: OutputsCopy, index: number, slot: number): void {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    const isOdd = ((c[b + 3] as number) & ODD_HASH) === ODD_HASH;
    const isItem = ((c[b + ADDRESS] as number) & ITEM_FLAG) !== 0;
    if (!isOdd && !isItem && c[b + LOCKTIME] === 0) {
      copy.set(index, c, b);
      return;
    }
    copy.set(index, c, b, {
      hash: isOdd ? this.#oddHashes.text(c[b] as number) : undefined,
      item: isItem ? this.#itemRest(slot) : undefined,
      locktime: this.#locktime(slot, c, b),
    });
  }

  #asset(slot: number, c: Uint32Array, b: number): Asset {
    const amount = (BigInt(c[b + AMOUNT_HIGH] as number) << 32n) | BigInt(c[b + AMOUNT_LOW] as number);
    if (((c[b + ADDRESS] as number) & ITEM_FLAG) === 0) return { kind: 'token', amount };
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

  // Keys

  /** Puts a hash text into the key; with `add` an odd text gets a number, without it false means that nobody knows it. */
  #readHash(tHash: string, add: boolean): boolean {
    const key = this.#hashKey;
    if (tHash.length === 32 && tHash.charCodeAt(0) === 103 && readHexWords(tHash, 1, 31, key)) return true;
    const number = add ? this.#oddHashes.add(tHash) : this.#oddHashes.find(tHash);
    if (number === undefined) return false;
    key[0] = number;
    key[1] = 0;
    key[2] = 0;
    key[3] = ODD_HASH;
    return true;
  }

  #hashOfOut(slot: number): number {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    return this.#hash.of(c, b, N, c[b + N] as number);
  }

  #hashKeyHash(): number {
    return this.#hash.of(this.#hashKey, 0, N, this.#nKey);
  }

  // Lists of the outputs of an address

  #link(slot: number, address: number): void {
    const first = this.#addresses.firstOutput(address);
    this.#outs.chunk(slot)[this.#outs.base(slot) + NEXT] = first;
    if (first !== 0) this.#outs.chunk(first)[this.#outs.base(first) + PREVIOUS] = slot;
    this.#addresses.setFirstOutput(address, slot);
  }

  #unlink(slot: number, address: number): void {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    const next = c[b + NEXT] as number;
    const previous = c[b + PREVIOUS] as number;
    if (next !== 0) this.#outs.chunk(next)[this.#outs.base(next) + PREVIOUS] = previous;
    if (previous !== 0) this.#outs.chunk(previous)[this.#outs.base(previous) + NEXT] = next;
    else if (next !== 0) this.#addresses.setFirstOutput(address, next);
    else this.#addresses.remove(address);
  }

  /** Adds (+1) or takes away (-1) the output of a slot in the set digest. */
  #addDigest(slot: number, sign: 1 | -1): void {
    const c = this.#outs.chunk(slot);
    const b = this.#outs.base(slot);
    const flags = c[b + ADDRESS] as number;
    let x = (flags & ITEM_FLAG) === 0 ? 1 : 2;
    if (((c[b + 3] as number) & ODD_HASH) === ODD_HASH) x = mixText(x, this.#oddHashes.text(c[b] as number));
    else for (let i = 0; i < 4; i++) x = mix(x, c[b + i] as number);
    for (let i = N; i <= LOCKTIME; i++) x = mix(x, c[b + i] as number);
    if (c[b + LOCKTIME] === LARGE_LOCKTIME) x = mixText(x, String(this.#locktimes.get(slot)));
    const address = flags & ADDRESS_MASK;
    if (address !== 0) x = this.#addresses.mixInto(x, address);
    if ((flags & ITEM_FLAG) !== 0) {
      x = mixText(x, this.#classes.text(this.#items.get(slot) ?? 0));
    }
    this.#sum.change(x, sign);
  }
}
