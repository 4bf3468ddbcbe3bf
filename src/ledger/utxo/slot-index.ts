/** Slot numbers by the hash of their key (extendible hashing): a full bucket is split in two, a millisecond at a time. */

/** Largest share of a bucket's places that may have entries. */
const MAX_LOAD = 0.8;
/** Average share of places with entries in an index that is made for a known number of entries. */
const RESERVED_LOAD = 0.75;
/** Places of the first bucket, which doubles before it is split. */
const MIN_PLACES = 1 << 10;
/** Places of a bucket that is split when it is full. */
const SPLIT_PLACES = 1 << 12;
/** Bits of a hash that may choose the bucket; the other bits choose the place in it. */
const MAX_DEPTH = 19;

/** Bits of an entry for a slot number below 2^27; the other 5 hold bits of its hash as a tag, which spares looks at other records. */
const TAGGED_SLOT = 0x07ff_ffff;
/** Shift that makes the tag of the bits 12 to 16 of a hash, which choose neither bucket nor place in a table of up to 100 million entries. */
const TAG_SHIFT = 15;

/** Part of the index. An entry stands at the place of its hash, or behind it; 0 marks a free place. */
interface Bucket {
  places: Uint32Array;
  size: number;
  /** The bits of an entry that are its slot number; the other bits are its tag. */
  slotMask: number;
  readonly depth: number;
}

/** Index of slots by the hash of a key. Its owner compares keys and computes hashes. */
export class SlotIndex {
  readonly #hashOf: (slot: number) => number;
  /** The bucket for each value of the upper `#depth` bits; a bucket of less depth stands in it several times, in a row. */
  #directory: Bucket[] = [emptyBucket(MIN_PLACES, 0)];
  #depth = 0;
  #size = 0;
  #bytes = MIN_PLACES * Uint32Array.BYTES_PER_ELEMENT;

  constructor(hashOf: (slot: number) => number) {
    this.#hashOf = hashOf;
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Longest row of entries: the most that a look-up passes. Counted on demand. */
  get longestRun(): number {
    let longest = 0;
    for (const { places } of new Set(this.#directory)) {
      let run = 0;
      for (const slot of places) {
        run = slot === 0 ? 0 : run + 1;
        longest = Math.max(longest, run);
      }
    }
    return longest;
  }

  /** The first slot from the hash's place on for which `same` holds, or 0. */
  find(hash: number, same: (slot: number) => boolean): number {
    const { places, slotMask } = this.#bucket(hash);
    const mask = places.length - 1;
    const tag = hash << TAG_SHIFT;
    for (let i = hash & mask; ; i = (i + 1) & mask) {
      const entry = places[i] as number;
      if (entry === 0) return 0;
      if (((entry ^ tag) & ~slotMask) !== 0) continue;
      const slot = (entry & slotMask) >>> 0;
      if (same(slot)) return slot;
    }
  }

  add(hash: number, slot: number): void {
    let bucket = this.#bucket(hash);
    if ((slot & bucket.slotMask) >>> 0 !== slot) dropTags(bucket);
    while (bucket.size >= bucket.places.length * MAX_LOAD) {
      this.#grow(bucket, hash);
      bucket = this.#bucket(hash);
    }
    put(bucket, hash, slot);
    this.#size++;
  }

  /** Fetches the first entries of many hashes into `entries`, without branches: the processor waits for all of them together. */
  approach(hashes: Int32Array, count: number, entries: Uint32Array): void {
    for (let k = 0; k < count; k++) {
      const hash = hashes[k] as number;
      const { places } = this.#bucket(hash);
      entries[k] = places[hash & (places.length - 1)] as number;
    }
  }

  /** Finds for each hash the first slot that may be the right one, 0 where there is none; `find` decides. */
  candidates(hashes: Int32Array, count: number, slots: Uint32Array): void {
    this.approach(hashes, count, slots);
    for (let k = 0; k < count; k++) {
      const hash = hashes[k] as number;
      const { places, slotMask } = this.#bucket(hash);
      const mask = places.length - 1;
      const tag = hash << TAG_SHIFT;
      let i = hash & mask;
      while (places[i] !== 0 && (((places[i] as number) ^ tag) & ~slotMask) !== 0) i = (i + 1) & mask;
      slots[k] = (places[i] as number) & slotMask;
    }
  }

  /** Replaces the slot of a key by the slot `by`, whose key has the same hash. */
  replace(hash: number, slot: number, by: number): void {
    const bucket = this.#bucket(hash);
    if ((by & bucket.slotMask) >>> 0 !== by) dropTags(bucket);
    bucket.places[placeOf(bucket, hash, slot)] = entryOf(bucket, hash, by);
  }

  /** Makes an empty index as large as `count` entries need, which spares moving them when buckets are split. */
  reserve(count: number): void {
    let depth = 0;
    while (depth < MAX_DEPTH && count >>> depth > SPLIT_PLACES * RESERVED_LOAD) depth++;
    if (this.#size > 0 || depth === 0) return;
    this.#directory = Array.from({ length: 1 << depth }, () => emptyBucket(SPLIT_PLACES, depth));
    this.#depth = depth;
    this.#bytes = this.#directory.length * SPLIT_PLACES * Uint32Array.BYTES_PER_ELEMENT;
  }

  remove(hash: number, slot: number): void {
    const bucket = this.#bucket(hash);
    const { places, slotMask } = bucket;
    const mask = places.length - 1;
    let hole = placeOf(bucket, hash, slot);
    // Backward shift: every later entry of the run that may stand in the hole moves there.
    for (let i = (hole + 1) & mask; places[i] !== 0; i = (i + 1) & mask) {
      const home = this.#hashOf(((places[i] as number) & slotMask) >>> 0) & mask;
      if (((i - home) & mask) >= ((i - hole) & mask)) {
        places[hole] = places[i] as number;
        hole = i;
      }
    }
    places[hole] = 0;
    bucket.size--;
    this.#size--;
  }

  #bucket(hash: number): Bucket {
    return this.#directory[upperBits(hash, this.#depth)] as Bucket;
  }

  /** Makes room in the bucket of `hash`. Entries with the same upper bits cannot be parted; nobody can bring many of them about. */
  #grow(bucket: Bucket, hash: number): void {
    if (bucket.places.length < SPLIT_PLACES || bucket.depth === MAX_DEPTH) this.#double(bucket);
    else this.#split(bucket, hash);
  }

  #double(bucket: Bucket): void {
    const old = bucket.places;
    bucket.places = new Uint32Array(old.length * 2);
    bucket.size = 0;
    this.#bytes += old.byteLength;
    for (const entry of old) {
      const slot = (entry & bucket.slotMask) >>> 0;
      if (slot !== 0) put(bucket, this.#hashOf(slot), slot);
    }
  }

  /** Splits a bucket by the next of the upper bits. */
  #split({ places, depth, slotMask }: Bucket, hash: number): void {
    const half = (): Bucket => emptyBucket(places.length, depth + 1, slotMask);
    const halves = [half(), half()] as const;
    this.#bytes += places.byteLength;
    for (const entry of places) {
      const slot = (entry & slotMask) >>> 0;
      if (slot === 0) continue;
      const at = this.#hashOf(slot);
      put((upperBits(at, depth + 1) & 1) === 0 ? halves[0] : halves[1], at, slot);
    }
    if (depth === this.#depth) this.#doubleDirectory();
    const each = 1 << (this.#depth - depth - 1);
    const first = upperBits(hash, depth) * 2 * each;
    this.#directory.fill(halves[0], first, first + each).fill(halves[1], first + each, first + 2 * each);
  }

  /** Doubles the directory, in which each bucket then stands twice as often. */
  #doubleDirectory(): void {
    this.#directory = this.#directory.flatMap((bucket) => [bucket, bucket]);
    this.#depth++;
  }
}

function emptyBucket(places: number, depth: number, slotMask = TAGGED_SLOT): Bucket {
  return { places: new Uint32Array(places), size: 0, slotMask, depth };
}

/** Removes the tags of a bucket, because a slot number leaves no room for one. */
function dropTags(bucket: Bucket): void {
  const { places, slotMask } = bucket;
  for (let i = 0; i < places.length; i++) places[i] = (places[i] as number) & slotMask;
  bucket.slotMask = 0xffff_ffff;
}

function entryOf({ slotMask }: Bucket, hash: number, slot: number): number {
  return (slot | ((hash << TAG_SHIFT) & ~slotMask)) >>> 0;
}

/** Place of the slot; throws when it is not in the bucket, which is a broken invariant of the caller. */
function placeOf(bucket: Bucket, hash: number, slot: number): number {
  const { places } = bucket;
  const entry = entryOf(bucket, hash, slot);
  const mask = places.length - 1;
  for (let i = hash & mask; ; i = (i + 1) & mask) {
    if (places[i] === 0) throw new Error(`broken invariant: slot ${slot} is not in the index`);
    if (places[i] === entry) return i;
  }
}

/** The first `count` bits of a hash, at most 31. */
function upperBits(hash: number, count: number): number {
  // Two shifts, because a shift by 32 is a shift by 0.
  return (hash >>> 1) >>> (31 - count);
}

function put(bucket: Bucket, hash: number, slot: number): void {
  const { places } = bucket;
  const mask = places.length - 1;
  let i = hash & mask;
  while (places[i] !== 0) i = (i + 1) & mask;
  places[i] = entryOf(bucket, hash, slot);
  bucket.size++;
}
