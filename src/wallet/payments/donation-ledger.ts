/** How many donations were paid on a day (UTC), by peer and in all; durable together with the payment it counts. */

import { prefixRange } from '../../db/keys.js';
import type { Kv } from '../../db/kv.js';
import { asBuffer } from '../../lib/bytes.js';
import type { Clock } from '../../lib/clock.js';
import { donationKey, keyText, PREFIX } from '../layout.js';
import type { StagedWrites } from '../staged-writes.js';

/** `2026-11-21` */
const DAY_LENGTH = 10;

export interface DonationLimits {
  readonly perPeerPerDay: number;
  /** Of all peers together: a peer can have as many node keys as it likes. */
  readonly perDay: number;
}

export interface DonationLedger {
  /** Counts a donation to the peer, unless a limit is reached: false then. */
  take(nodeKey: string, limits: DonationLimits): boolean;
  /** The counted donation was not paid. */
  giveBack(nodeKey: string): void;
}

export async function openDonationLedger(kv: Kv, writes: StagedWrites, clock: Clock): Promise<DonationLedger> {
  let day = today();
  let counts = new Map<string, number>();
  for await (const [key, value] of kv.entries(prefixRange(PREFIX.donation))) {
    const text = keyText(key);
    if (text.slice(0, DAY_LENGTH) === day) counts.set(text.slice(DAY_LENGTH), asBuffer(value).readUInt32BE(0));
    else writes.del(key);
  }

  function today(): string {
    return new Date(clock.now()).toISOString().slice(0, DAY_LENGTH);
  }

  function turnDay(): void {
    const now = today();
    if (now === day) return;
    for (const nodeKey of counts.keys()) writes.del(donationKey(day, nodeKey));
    day = now;
    counts = new Map();
  }

  function set(nodeKey: string, count: number): void {
    counts.set(nodeKey, count);
    const value = Buffer.alloc(4);
    value.writeUInt32BE(count);
    writes.put(donationKey(day, nodeKey), value);
  }

  return {
    take(nodeKey, { perPeerPerDay, perDay }) {
      turnDay();
      const mine = counts.get(nodeKey) ?? 0;
      let all = 0;
      for (const count of counts.values()) all += count;
      if (mine >= perPeerPerDay || all >= perDay) return false;
      set(nodeKey, mine + 1);
      return true;
    },
    giveBack(nodeKey) {
      const mine = counts.get(nodeKey);
      if (mine !== undefined && mine > 0) set(nodeKey, mine - 1);
    },
  };
}
