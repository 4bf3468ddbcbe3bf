/** Whom this wallet has asked for a donation, and the outcomes: a refusal is in no history. What a peer says is shown, not believed. */

import { BincodeWriter } from '../chain/bincode.js';
import { decodeRecord, readChoice } from '../db/decode-record.js';
import { prefixRange } from '../db/keys.js';
import type { Kv } from '../db/kv.js';
import type { Clock } from '../lib/clock.js';
import { donationRequestKey, keyNumber, PREFIX } from './layout.js';
import { DONATION_OUTCOMES, type DonationOutcome, type DonationRequest } from './service.js';
import type { WriteBuffer } from './write-buffer.js';

/** Requests that are kept, in memory too. */
const MAX_KEPT = 1_000;
/** Characters of a reason. */
const MAX_REASON = 256;

export interface DonationRequestsModules {
  readonly kv: Kv;
  readonly writes: WriteBuffer;
  readonly clock: Clock;
}

export class DonationRequests {
  readonly #writes: WriteBuffer;
  readonly #clock: Clock;
  /** Oldest first. */
  readonly #kept: DonationRequest[] = [];
  #next = 0;

  private constructor({ writes, clock }: DonationRequestsModules) {
    this.#writes = writes;
    this.#clock = clock;
  }

  /** Throws `wallet_unreadable`. */
  static async open(modules: DonationRequestsModules): Promise<DonationRequests> {
    const requests = new DonationRequests(modules);
    for await (const [key, record] of modules.kv.entries(prefixRange(PREFIX.donationRequest))) {
      const number = keyNumber(key);
      requests.#kept.push(decodeDonationRequest(number, record));
      requests.#next = number + 1;
    }
    return requests;
  }

  /** Newest first. */
  list(limit: number): readonly DonationRequest[] {
    return this.#kept.slice(-limit).reverse();
  }

  /** Resolves when it is durable. Throws `wallet_write_failed`. */
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

/** Throws `wallet_unreadable`. */
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
