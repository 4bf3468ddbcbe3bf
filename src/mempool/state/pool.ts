/**
 * The transactions that wait: those ready for a block (single ones, and DRUID sets that are complete and travel as one
 * unit), and halves of DRUID sets that wait for the others. Order of arrival is the order of service. The pool keeps
 * encoded bytes, not decoded objects: they are smaller, and nothing for the garbage collector to walk through.
 */

import { type SetDigest, SetSum } from '../../lib/set-digest.js';

export interface PooledTx {
  readonly hash: string;
  readonly bytes: Uint8Array;
  /** Counts everything that was ever admitted; the database key. */
  readonly arrival: number;
  /** Unix seconds of the first sight. */
  readonly time: number;
  /** Number shared by the members of a complete DRUID set; 0 for a single transaction. */
  readonly unit: number;
  /** Number of the block after which it arrived; what the life of a waiting DRUID half is counted from. */
  readonly height: number;
}

export interface Pool {
  readonly count: number;
  /** Bytes of all transactions. */
  readonly bytes: number;
  readonly digest: SetDigest;
  get(hash: string): PooledTx | undefined;
  add(tx: PooledTx): void;
  remove(hash: string): void;
  /** Complete DRUID sets in the order of their completion. */
  units(): Iterable<readonly PooledTx[]>;
  /** Transactions without a set, in the order of arrival. */
  singles(): Iterable<PooledTx>;
}

export function createPool(): Pool {
  const all = new Map<string, PooledTx>();
  const singles = new Map<string, PooledTx>();
  const units = new Map<number, PooledTx[]>();
  const sum = new SetSum();
  let bytes = 0;
  return {
    get count() {
      return all.size;
    },
    get bytes() {
      return bytes;
    },
    get digest() {
      return sum.digest;
    },
    get: (hash) => all.get(hash),
    add(tx) {
      all.set(tx.hash, tx);
      bytes += tx.bytes.length;
      sum.changeText(tx.hash, 1);
      if (tx.unit === 0) {
        singles.set(tx.hash, tx);
        return;
      }
      const unit = units.get(tx.unit);
      if (unit === undefined) units.set(tx.unit, [tx]);
      else unit.push(tx);
    },
    remove(hash) {
      const tx = all.get(hash);
      if (tx === undefined) return;
      all.delete(hash);
      singles.delete(hash);
      bytes -= tx.bytes.length;
      sum.changeText(hash, -1);
      const unit = units.get(tx.unit);
      if (unit === undefined) return;
      unit.splice(unit.indexOf(tx), 1);
      if (unit.length === 0) units.delete(tx.unit);
    },
    units: () => units.values(),
    singles: () => singles.values(),
  };
}

/** The halves under one DRUID that have come so far. */
export interface DruidSet {
  readonly druid: string;
  /** As the first half declared it. */
  readonly participants: bigint;
  readonly members: readonly PooledTx[];
}

export interface DruidPool {
  readonly count: number;
  /** Sets that wait for a member. */
  readonly sets: number;
  readonly bytes: number;
  readonly digest: SetDigest;
  /** The set that a waiting transaction belongs to. */
  setOf(hash: string): DruidSet | undefined;
  set(druid: string): DruidSet | undefined;
  add(druid: string, participants: bigint, tx: PooledTx): void;
  /** Takes a whole set out. */
  remove(druid: string): void;
  /** Sets whose first half came at or before block `height`, oldest first. */
  olderThan(height: number): DruidSet[];
}

export function createDruidPool(): DruidPool {
  const sets = new Map<string, { druid: string; participants: bigint; members: PooledTx[] }>();
  const druids = new Map<string, string>();
  const sum = new SetSum();
  let bytes = 0;
  return {
    get count() {
      return druids.size;
    },
    get sets() {
      return sets.size;
    },
    get bytes() {
      return bytes;
    },
    get digest() {
      return sum.digest;
    },
    setOf(hash) {
      const druid = druids.get(hash);
      return druid === undefined ? undefined : sets.get(druid);
    },
    set: (druid) => sets.get(druid),
    add(druid, participants, tx) {
      const known = sets.get(druid);
      if (known === undefined) sets.set(druid, { druid, participants, members: [tx] });
      else known.members.push(tx);
      druids.set(tx.hash, druid);
      bytes += tx.bytes.length;
      sum.changeText(tx.hash, 1);
    },
    remove(druid) {
      for (const tx of sets.get(druid)?.members ?? []) {
        druids.delete(tx.hash);
        bytes -= tx.bytes.length;
        sum.changeText(tx.hash, -1);
      }
      sets.delete(druid);
    },
    olderThan(height) {
      const old: DruidSet[] = [];
      for (const set of sets.values()) {
        const [first] = set.members;
        if (first === undefined || first.height > height) break;
        old.push(set);
      }
      return old;
    },
  };
}
