/**
 * The key in etcd that says which node leads. It is there as long as the lease that it was written with, which etcd drops when
 * nobody keeps it alive; so a leader that is gone makes room by itself.
 */

import { status } from '@grpc/grpc-js';
import { fromUtf8, utf8 } from '../../lib/bytes.js';
import { EtcdClient, EtcdError, type EtcdOptions } from './etcd-client.js';
import { type KeyValue, KV, Lease } from './generated/etcd-pb.js';
import type { LeaderLease } from './lease-leadership.js';

const MS_PER_SECOND = 1_000;
/** Of `Compare`. */
const MOD_REVISION = 2;

export interface EtcdLeaseOptions {
  readonly etcd: EtcdOptions;
  /** Name of the key. */
  readonly key: string;
  /** A name that this node keeps over restarts, and that no other has. */
  readonly replica: string;
  /** How long etcd waits for a sign of life. */
  readonly seconds: number;
}

export class EtcdLease implements LeaderLease {
  readonly #key: Uint8Array;
  readonly #replica: string;
  readonly #seconds: number;
  readonly #client: EtcdClient;
  #id: bigint | undefined;

  /** Has connections of its own: what waits in those of the journal holds up no sign of life. */
  constructor({ etcd, key, replica, seconds }: EtcdLeaseOptions) {
    this.#key = utf8(key);
    this.#replica = replica;
    this.#seconds = seconds;
    this.#client = new EtcdClient(etcd);
  }

  /**
   * Takes the key if nobody has it. What this node wrote itself, before it was killed or before an answer was lost, it takes over
   * at once: two processes never run on one data directory (rule P5).
   */
  async take(): Promise<number | undefined> {
    const found = await this.#find();
    if (found !== undefined && fromUtf8(found.value) !== this.#replica) return undefined;
    const { ID: id, TTL: seconds } = await this.#client.call(Lease.method.leaseGrant, { TTL: BigInt(this.#seconds) });
    const put = { key: this.#key, value: utf8(this.#replica), lease: id };
    const modRevision = found?.modRevision ?? 0n;
    const { succeeded } = await this.#client.call(KV.method.txn, {
      compare: [{ target: MOD_REVISION, key: this.#key, targetUnion: { case: 'modRevision', value: modRevision } }],
      success: [{ request: { case: 'requestPut', value: put } }],
    });
    if (succeeded) this.#id = id;
    else await this.#client.call(Lease.method.leaseRevoke, { ID: id });
    return succeeded ? Number(seconds) * MS_PER_SECOND : undefined;
  }

  /** That the lease lives is not enough: somebody may have removed the key, or etcd may have dropped both and not said so. */
  async renew(): Promise<number | undefined> {
    const id = this.#id;
    if (id === undefined) return undefined;
    const { TTL: seconds } = await this.#client.exchange(Lease.method.leaseKeepAlive, { ID: id });
    const isOurs = seconds > 0n && (await this.#find())?.lease === id;
    if (!isOurs) this.#id = undefined;
    return isOurs ? Number(seconds) * MS_PER_SECOND : undefined;
  }

  async giveBack(): Promise<void> {
    const id = this.#id;
    this.#id = undefined;
    if (id === undefined) return;
    try {
      await this.#client.call(Lease.method.leaseRevoke, { ID: id });
    } catch (error) {
      // It has ended by itself.
      if (!(error instanceof EtcdError) || error.status !== status.NOT_FOUND) throw error;
    }
  }

  close(): void {
    this.#client.close();
  }

  async #find(): Promise<KeyValue | undefined> {
    return (await this.#client.call(KV.method.range, { key: this.#key })).kvs[0];
  }
}
