/** Peers that this wallet has asked for a donation, and the outcomes: the history has no refusals. What a peer says is shown, not believed. */

import { BincodeWriter } from '../chain/bincode.js';
import { decodeRecord, readChoice } from '../db/decode-record.js';
import { prefixRange } from '../db/keys.js';
import type { Kv } from '../db/kv.js';
import { asBuffer } from '../lib/bytes.js';
import type { Clock } from '../lib/clock.js';
import { donationKey, donationRequestKey, keyNumber, keyText, PREFIX } from './layout.js';
import type { WalletParts } from './modules.js';
import { DONATION_OUTCOMES, type DonationOutcome, type DonationRequest } from './service.js';
import type { WriteBuffer } from './write-buffer.js';

/** The most requests that are kept, in memory too. */
const MAX_KEPT = 1_000;
/** The most characters of a reason. */
const MAX_REASON = 256;

export type DonationRequestsModules = Pick<WalletParts, 'clock' | 'kv' | 'writes'>;

export class DonationRequests {
  readonly #writes: WriteBuffer;
  readonly #clock: Clock;
  readonly #kept: DonationRequest[] = [];
  #next = 0;

  private constructor({ writes, clock }: DonationRequestsModules) {
    this.#writes = writes;
    this.#clock = clock;
  }

  /** Reads the kept requests. Throws `wallet_unreadable`. */
  static async open(modules: DonationRequestsModules): Promise<DonationRequests> {
    const requests = new DonationRequests(modules);
    for await (const [key, record] of modules.kv.entries(prefixRange(PREFIX.donationRequest))) {
      const number = keyNumber(key);
      requests.#kept.push(decodeDonationRequest(number, record));
      requests.#next = number + 1;
    }
    return requests;
  }

  /** The last requests, newest first. */
  list(limit: number): readonly DonationRequest[] {
    return this.#kept.slice(-limit).reverse();
  }

  /** Keeps a request and its outcome; resolves when that is durable. Throws `wallet_write_failed`. */
  async note(peer: string, outcome: DonationOutcome, reason: string): Promise<void> {
    const request = {
      number: this.#next++,
      peer,
      askedAt: this.#clock.now(),
      outcome,
      reason: reason.slice(0, MAX_REASON),
    };
    this.#kept.push(request);
    this.#writes.put(donationRequestKey(request.number), encodeDonationRequest(request));
    while (this.#kept.length > MAX_KEPT) {
      const oldest = this.#kept.shift();
      if (oldest !== undefined) this.#writes.del(donationRequestKey(oldest.number));
    }
    await this.#writes.flush();
  }
}

const scratch = new BincodeWriter();

export function encodeDonationRequest({ peer, askedAt, outcome, reason }: DonationRequest): Uint8Array {
  const to = scratch.reset();
  to.string(peer);
  to.u64(BigInt(Math.floor(askedAt)));
  to.u8(DONATION_OUTCOMES.indexOf(outcome));
  to.string(reason);
  return to.toBytes();
}

/** A request from its record. Throws `wallet_unreadable`. */
export function decodeDonationRequest(number: number, record: Uint8Array): DonationRequest {
  return decodeRecord(
    'donation request',
    record,
    (from) => {
      const [peer, askedAt] = [from.string(), from.number64()];
      return { number, peer, askedAt, outcome: readChoice(from, DONATION_OUTCOMES), reason: from.string() };
    },
    'wallet_unreadable',
  );
}

/** Characters of a day, such as `2026-11-21`. */
const DAY_LENGTH = 10;

export interface DonationLimits {
  readonly perPeerPerDay: number;
  /** The most donations of a day to all peers together: a peer can have as many node keys as it likes. */
  readonly perDay: number;
}

export class DonationQuota {
  readonly #writes: WriteBuffer;
  readonly #clock: Clock;
  #day: string;
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

  /** Takes back a counted donation that was not paid. Of a peer that was paid nothing, nothing is kept: anybody may ask, under many keys. */
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
