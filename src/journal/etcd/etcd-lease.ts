/** The key in etcd that says which node leads; it lasts while its lease is kept alive. A node that waits for it watches it. */

import { status } from '@grpc/grpc-js';
import { fromUtf8, utf8 } from '../../lib/bytes.js';
import { SignalSource } from '../../lib/signal.js';
import { EtcdClient, EtcdError, type EtcdOptions, type EtcdWatch } from './etcd-client.js';
import { type KeyValue, KV, Lease } from './generated/etcd-pb.js';
import type { LeaderLease } from './lease-leadership.js';

const MS_PER_SECOND = 1_000;
/** Target of etcd's `Compare`: the revision of a key's last change. */
const MOD_REVISION = 2;
/** Type of etcd's `Event` for a deleted key. */
const DELETION = 1;

export interface EtcdLeaseOptions {
  readonly etcd: EtcdOptions;
  readonly key: string;
  /** A name that this node keeps over restarts, and that no other has. */
  readonly replica: string;
  readonly seconds: number;
}

interface Watched {
  /** The key; undefined when no node has it. */
  kv: Pick<KeyValue, 'value' | 'lease' | 'modRevision'> | undefined;
  revision: bigint;
  cancel(): void;
}

export class EtcdLease implements LeaderLease {
  readonly changed = new SignalSource<void>();
  readonly #key: Uint8Array;
  readonly #replica: string;
  readonly #seconds: number;
  readonly #client: EtcdClient;
  #id: bigint | undefined;
  #watched: Watched | undefined;

  /** Makes a client with connections of its own, so that calls of the journal delay no renewal. */
  constructor({ etcd, key, replica, seconds }: EtcdLeaseOptions) {
    this.#key = utf8(key);
    this.#replica = replica;
    this.#seconds = seconds;
    this.#client = new EtcdClient(etcd);
  }

  /** Takes the key if nobody has it, or this node wrote it before: two processes never run on one data directory (rule P5). */
  async take(): Promise<number | undefined> {
    const { kv } = await this.#look();
    if (kv !== undefined && fromUtf8(kv.value) !== this.#replica) return undefined;
    const { ID: id, TTL: seconds } = await this.#client.call(Lease.method.leaseGrant, { TTL: BigInt(this.#seconds) });
    const put = { key: this.#key, value: utf8(this.#replica), lease: id };
    const modRevision = kv?.modRevision ?? 0n;
    const { succeeded, header } = await this.#client.call(KV.method.txn, {
      compare: [{ target: MOD_REVISION, key: this.#key, targetUnion: { case: 'modRevision', value: modRevision } }],
      success: [{ request: { case: 'requestPut', value: put } }],
    });
    if (!succeeded) {
      await this.#client.call(Lease.method.leaseRevoke, { ID: id });
      return undefined;
    }
    this.#id = id;
    const revision = header?.revision ?? 0n;
    this.#note({ ...put, modRevision: revision }, revision);
    return Number(seconds) * MS_PER_SECOND;
  }

  /** Renews the lease, and checks its key: somebody may have removed the key, or etcd both without a word. */
  async renew(): Promise<number | undefined> {
    const id = this.#id;
    if (id === undefined) return undefined;
    const { TTL: seconds } = await this.#client.exchange(Lease.method.leaseKeepAlive, { ID: id });
    const isOurs = seconds > 0n && (await this.#look()).kv?.lease === id;
    if (!isOurs && this.#id === id) this.#id = undefined;
    return isOurs ? Number(seconds) * MS_PER_SECOND : undefined;
  }

  async giveBack(): Promise<void> {
    const id = this.#id;
    this.#id = undefined;
    if (id === undefined) return;
    try {
      await this.#client.call(Lease.method.leaseRevoke, { ID: id });
    } catch (error) {
      // The lease may have ended by itself.
      if (!(error instanceof EtcdError) || error.status !== status.NOT_FOUND) throw error;
    }
  }

  close(): void {
    this.#watched?.cancel();
    this.#client.close();
  }

  /** Holder of the key now. Asks etcd unless the key is watched, and watches it from then on. */
  async #look(): Promise<Watched> {
    if (this.#watched !== undefined) return this.#watched;
    const create = { case: 'createRequest' as const, value: { key: this.#key } };
    const { responses, cancel } = await this.#client.watch({ requestUnion: create });
    const range = this.#client.call(KV.method.range, { key: this.#key });
    range.catch(cancel);
    const { kvs, header } = await range;
    const watched = { kv: kvs[0], revision: header?.revision ?? 0n, cancel };
    this.#watched = watched;
    // However the watch ends, the next look asks again.
    const end = (): void => {
      if (this.#watched === watched) this.#watched = undefined;
    };
    this.#follow(responses).then(end, end);
    return watched;
  }

  async #follow(responses: EtcdWatch['responses']): Promise<void> {
    for await (const { events } of responses) {
      for (const { type, kv } of events)
        if (kv !== undefined) this.#note(type === DELETION ? undefined : kv, kv.modRevision);
    }
  }

  #note(kv: Watched['kv'], revision: bigint): void {
    // This node knows its own write before the watch reports it.
    if (this.#watched === undefined || revision <= this.#watched.revision) return;
    this.#watched.kv = kv;
    this.#watched.revision = revision;
    this.changed.emit();
  }
}
