/** Number of donations that were paid on a day (UTC), by peer and in all; durable together with the payment it counts. */

import { prefixRange } from '../../db/keys.js';
import type { Kv } from '../../db/kv.js';
import { asBuffer } from '../../lib/bytes.js';
import type { Clock } from '../../lib/clock.js';
import { donationKey, keyText, PREFIX } from '../layout.js';
import type { WriteBuffer } from '../write-buffer.js';

/** `2026-11-21` */
const DAY_LENGTH = 10;

export interface DonationLimits {
  readonly perPeerPerDay: number;
  /** Limit of all peers together: a peer can have as many node keys as it likes. */
  readonly perDay: number;
}

export class DonationQuota {
  readonly #writes: WriteBuffer;
  readonly #clock: Clock;
  #day: string;
  /** Counts by node key. */
  #counts = new Map<string, number>();

  private constructor(writes: WriteBuffer, clock: Clock) {
    this.#writes = writes;
    this.#clock = clock;
    this.#day = this.#today();
  }

  static async open(kv: Kv, writes: WriteBuffer, clock: Clock): Promise<DonationQuota> {
    const quota = new DonationQuota(writes, clock);
    for await (const [key, value] of kv.entries(prefixRange(PREFIX.donation))) {
      const text = keyText(key);
      const count = asBuffer(value).readUInt32BE(0);
      if (text.slice(0, DAY_LENGTH) === quota.#day) quota.#counts.set(text.slice(DAY_LENGTH), count);
      else writes.del(key);
    }
    return quota;
  }

  /** Counts a donation to the peer, unless a limit is reached: false then. */
  take(nodeKey: string, { perPeerPerDay, perDay }: DonationLimits): boolean {
    this.#turnDay();
    const toPeer = this.#counts.get(nodeKey) ?? 0;
    let toAll = 0;
    for (const count of this.#counts.values()) toAll += count;
    if (toPeer >= perPeerPerDay || toAll >= perDay) return false;
    this.#set(nodeKey, toPeer + 1);
    return true;
  }

  /** The counted donation was not paid. Nothing is left of a peer that was paid nothing: anybody may ask, under any number of keys. */
  giveBack(nodeKey: string): void {
    const count = this.#counts.get(nodeKey) ?? 0;
    if (count > 1) this.#set(nodeKey, count - 1);
    else if (this.#counts.delete(nodeKey)) this.#writes.del(donationKey(this.#day, nodeKey));
  }

  #today(): string {
    return new Date(this.#clock.now()).toISOString().slice(0, DAY_LENGTH);
  }

  #turnDay(): void {
    const today = this.#today();
    if (today === this.#day) return;
    for (const nodeKey of this.#counts.keys()) this.#writes.del(donationKey(this.#day, nodeKey));
    this.#day = today;
    this.#counts = new Map();
  }

  #set(nodeKey: string, count: number): void {
    this.#counts.set(nodeKey, count);
    const value = Buffer.alloc(4);
    value.writeUInt32BE(count);
    this.#writes.put(donationKey(this.#day, nodeKey), value);
  }
}
