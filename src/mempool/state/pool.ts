/** The transactions that wait, ready or for others of their DRUID set, in the order of arrival, as encoded bytes. */

import { movesTokens, spentOutPoints } from '../../chain/transaction.js';
import type { Transaction } from '../../chain/types.js';
import type { Fault, Verdict } from '../../lib/fault.js';
import { type SetDigest, SetSum } from '../../lib/set-digest.js';

export interface PooledTx {
  readonly hash: string;
  readonly bytes: Uint8Array;
  /** Number in the order of acceptance; the database key. */
  readonly arrival: number;
  /** Arrival number of the time when the transaction waited for its DRUID set, if that was since the start of the node. */
  readonly waitedAs?: number | undefined;
  /** Unix seconds of the first sight. */
  readonly time: number;
  /** Number of a complete DRUID set, the same for all its members; 0 for a single transaction. */
  readonly unit: number;
  /** Signature operations that the transaction may need: its share of a block's budget. */
  readonly operations: number;
  /** Why no block may hold the transaction: an earlier version admitted it under other rules. */
  readonly fault: Verdict;
  /** Number of the block after which it arrived; the life of a waiting DRUID member is counted from there. */
  readonly height: number;
}

export interface UnlawfulUnit {
  readonly unit: readonly PooledTx[];
  readonly culprit: string;
  readonly fault: Fault;
}

/** Size and parents of a waiting transaction, for counting what must be in a block before another one. */
export interface Kin {
  readonly bytes: number;
  /** Hashes of its parents and, for a member of a DRUID set, of members through which the whole set is found; some may wait no longer. */
  readonly behind: readonly string[];
}

/** Transactions that are ready for a block. */
export class Pool {
  #all = new Map<string, PooledTx>();
  /** Single transactions and sets by their place, which is the order of service. */
  #units = new Map<number, PooledTx[]>();
  /** Hashes of the parents that were waiting when a transaction came, by its hash. */
  #parents = new Map<string, readonly string[]>();
  /** Transactions with a fault: there are some only after an upgrade. */
  #unlawful = new Map<string, PooledTx>();
  #tokenless = new Set<string>();
  #sum = new SetSum();
  #bytes = 0;
  #tokenlessBytes = 0;
  #movingOperations = 0;

  get count(): number {
    return this.#all.size;
  }

  get tokenless(): { readonly count: number; readonly bytes: number } {
    return { count: this.#tokenless.size, bytes: this.#tokenlessBytes };
  }

  get moving(): { readonly count: number; readonly bytes: number; readonly operations: number } {
    const { count, bytes } = this.tokenless;
    return { count: this.count - count, bytes: this.#bytes - bytes, operations: this.#movingOperations };
  }

  get bytes(): number {
    return this.#bytes;
  }

  get digest(): SetDigest {
    return this.#sum.digest;
  }

  get(hash: string): PooledTx | undefined {
    return this.#all.get(hash);
  }

  /** Single transactions, and DRUID sets from when they were complete, in the order in which they came. */
  units(): Iterable<readonly PooledTx[]> {
    return this.#units.values();
  }

  /** The members of a complete DRUID set that are here, by the number of the set. */
  membersOf(unit: number): readonly PooledTx[] {
    return [...(this.#units.get(unit) ?? [])];
  }

  /** Kin of a waiting transaction; undefined for any other. */
  kin(hash: string): Kin | undefined {
    const tx = this.#all.get(hash);
    if (tx === undefined) return undefined;
    return { bytes: tx.bytes.length, behind: [...(this.#parents.get(hash) ?? []), ...this.#mates(tx)] };
  }

  /** Members of its set to go on with: the first one names all, the others name the first, so that a set is walked through once. */
  #mates({ hash, unit }: PooledTx): readonly string[] {
    const set = unit === 0 ? [] : (this.#units.get(unit) ?? []);
    return set[0]?.hash === hash ? set.map((mate) => mate.hash) : set.slice(0, 1).map((mate) => mate.hash);
  }

  get hasUnlawful(): boolean {
    return this.#unlawful.size > 0;
  }

  /** Units that no block may hold: single transactions, and whole DRUID sets with the member that is to blame. */
  *unlawful(): Generator<UnlawfulUnit> {
    for (const [culprit, { fault }] of [...this.#unlawful]) {
      const tx = this.#all.get(culprit);
      // The set may have been taken out because of another member.
      if (tx === undefined || fault === null) continue;
      yield { unit: [...(this.#units.get(placeOf(tx)) ?? [tx])], culprit, fault };
    }
  }

  /** Adds a transaction behind all others. `decoded`: the same, decoded. */
  add(tx: PooledTx, decoded: Transaction): void {
    const parents = spentOutPoints(decoded)
      .map(({ tHash }) => tHash)
      .filter((hash) => this.#all.has(hash));
    if (parents.length > 0) this.#parents.set(tx.hash, [...new Set(parents)]);
    this.#all.set(tx.hash, tx);
    this.#bytes += tx.bytes.length;
    this.#sum.changeText(tx.hash, 1);
    if (tx.fault !== null) this.#unlawful.set(tx.hash, tx);
    if (!movesTokens(decoded)) {
      this.#tokenless.add(tx.hash);
      this.#tokenlessBytes += tx.bytes.length;
    } else this.#movingOperations += tx.operations;
    const unit = this.#units.get(placeOf(tx));
    if (unit === undefined) this.#units.set(placeOf(tx), [tx]);
    else unit.push(tx);
  }

  /** Takes over the contents of another pool, which nobody may use any more. */
  become(other: Pool): void {
    this.#all = other.#all;
    this.#units = other.#units;
    this.#parents = other.#parents;
    this.#unlawful = other.#unlawful;
    this.#tokenless = other.#tokenless;
    this.#sum = other.#sum;
    this.#bytes = other.#bytes;
    this.#tokenlessBytes = other.#tokenlessBytes;
    this.#movingOperations = other.#movingOperations;
  }

  remove(hash: string): void {
    const tx = this.#all.get(hash);
    if (tx === undefined) return;
    this.#all.delete(hash);
    this.#parents.delete(hash);
    this.#unlawful.delete(hash);
    if (this.#tokenless.delete(hash)) this.#tokenlessBytes -= tx.bytes.length;
    else this.#movingOperations -= tx.operations;
    this.#bytes -= tx.bytes.length;
    this.#sum.changeText(hash, -1);
    const unit = this.#units.get(placeOf(tx));
    if (unit === undefined) return;
    unit.splice(unit.indexOf(tx), 1);
    if (unit.length === 0) this.#units.delete(placeOf(tx));
  }
}

/** Place in the order of service; one number for all members of a set. */
function placeOf({ arrival, unit }: PooledTx): number {
  return unit === 0 ? arrival : unit;
}

/** The members of a DRUID set that wait for the others. */
export interface DruidSet {
  readonly druid: string;
  /** Number of participants, as the first member declared it. */
  readonly participants: bigint;
  readonly members: readonly PooledTx[];
  readonly tokenless: readonly PooledTx[];
}

/** Transactions that wait for the others of their DRUID. They claim no inputs while they wait. */
export class DruidPool {
  readonly #sets = new Map<string, DruidSet & { readonly members: PooledTx[]; readonly tokenless: PooledTx[] }>();
  readonly #druids = new Map<string, string>();
  readonly #sum = new SetSum();
  #bytes = 0;

  get count(): number {
    return this.#druids.size;
  }

  /** Sets that wait for a member. */
  get sets(): number {
    return this.#sets.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get digest(): SetDigest {
    return this.#sum.digest;
  }

  setOf(hash: string): DruidSet | undefined {
    const druid = this.#druids.get(hash);
    return druid === undefined ? undefined : this.#sets.get(druid);
  }

  set(druid: string): DruidSet | undefined {
    return this.#sets.get(druid);
  }

  /** Adds a member to its set. `decoded`: the same, decoded. */
  add({ druid, participants }: Pick<DruidSet, 'druid' | 'participants'>, tx: PooledTx, decoded: Transaction): void {
    const set = this.#sets.get(druid) ?? { druid, participants, members: [], tokenless: [] };
    this.#sets.set(druid, set);
    set.members.push(tx);
    if (!movesTokens(decoded)) set.tokenless.push(tx);
    this.#druids.set(tx.hash, druid);
    this.#bytes += tx.bytes.length;
    this.#sum.changeText(tx.hash, 1);
  }

  remove(druid: string): void {
    for (const tx of this.#sets.get(druid)?.members ?? []) {
      this.#druids.delete(tx.hash);
      this.#bytes -= tx.bytes.length;
      this.#sum.changeText(tx.hash, -1);
    }
    this.#sets.delete(druid);
  }

  /** Sets the height of all members to `height` at most; returns the changed ones. */
  arrivedBy(height: number): readonly PooledTx[] {
    const changed: PooledTx[] = [];
    for (const { members, tokenless } of this.#sets.values()) {
      for (const [i, tx] of members.entries()) {
        if (tx.height <= height) continue;
        const earlier = { ...tx, height };
        members[i] = earlier;
        if (tokenless.includes(tx)) tokenless[tokenless.indexOf(tx)] = earlier;
        changed.push(earlier);
      }
    }
    return changed;
  }

  /** Sets whose first member arrived at or before block `height`, oldest first. */
  olderThan(height: number): DruidSet[] {
    const old: DruidSet[] = [];
    for (const set of this.#sets.values()) {
      const [first] = set.members;
      if (first === undefined || first.height > height) break;
      old.push(set);
    }
    return old;
  }
}
