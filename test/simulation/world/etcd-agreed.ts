/** What all members of an etcd agree on: keys, leases, and the changes that are not compacted. */

import type { Compare, RangeRequest } from '../../../src/journal/etcd/generated/etcd-pb.js';
import type { Timer } from '../../../src/lib/clock.js';

export interface Kept {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly createRevision: bigint;
  readonly modRevision: bigint;
  readonly version: bigint;
  readonly lease: bigint;
}

export interface WatchEvent {
  readonly type: number;
  readonly kv: Partial<Kept> & Pick<Kept, 'key' | 'modRevision'>;
}

interface Granted {
  readonly seconds: number;
  timer: Timer;
}

/** What all members agree on. */
export class Agreed {
  kept: ReadonlyMap<string, Kept> = new Map();
  revision = 1n;
  compacted = 0n;
  /** Changes by their revisions, those that are compacted left out. */
  events: { readonly revision: bigint; readonly events: readonly WatchEvent[] }[] = [];
  leases = new Map<bigint, Granted>();
  nextLease = 7_001n;
  cluster = 11n;

  header() {
    return { clusterId: this.cluster, memberId: 1n, revision: this.revision, raftTerm: 2n };
  }

  range({ key, rangeEnd, limit, keysOnly }: RangeRequest) {
    const all = this.between(nameOf(key), rangeEnd.length === 0 ? undefined : nameOf(rangeEnd));
    const kvs = limit === 0n ? all : all.slice(0, Number(limit));
    const shown = keysOnly ? kvs.map((kv) => ({ ...kv, value: new Uint8Array() })) : kvs;
    return { header: this.header(), kvs: shown, more: kvs.length < all.length, count: BigInt(all.length) };
  }

  between(from: string, to: string | undefined): Kept[] {
    const { kept } = this;
    if (to === undefined) return [kept.get(from)].filter((one) => one !== undefined);
    const names = [...kept.keys()].filter((name) => name >= from && name < to).sort();
    return names.flatMap((name) => kept.get(name) ?? []);
  }

  holds({ key, targetUnion }: Compare): boolean {
    const found = this.kept.get(nameOf(key));
    if (targetUnion.case !== 'createRevision' && targetUnion.case !== 'modRevision') throw new Error('unknown compare');
    return (found?.[targetUnion.case] ?? 0n) === targetUnion.value;
  }
}

/** All that a cluster had at one time. */
export interface EtcdCopy extends Pick<Agreed, 'kept' | 'revision' | 'compacted' | 'events'> {
  /** Ids of the leases, and the seconds of each. */
  readonly leases: readonly (readonly [bigint, number])[];
}

export function nameOf(key: Uint8Array): string {
  return Buffer.from(key).toString('latin1');
}
