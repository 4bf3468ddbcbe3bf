/**
 * What one sender may have in the pool. No fee decides who is served (decision B17), so whoever has any tokens could fill the
 * pool with payments to itself, chains of dust, and keep everybody else out for as long as it goes on. Who has something in the
 * pool already therefore leaves as much of it free as it takes: one sender fills half of it, a second a quarter, and whoever
 * has nothing in it finds room. Requests over loopback, where a proxy may stand, and what the node submits by itself have no share.
 */

import { TesseraError } from '../../lib/errors.js';
import { addressGroup, isLoopback } from '../../lib/ip-address.js';
import type { CandidateTx } from '../state/acceptance.js';
import type { MempoolState } from '../state/state.js';

export interface Amount {
  readonly count: number;
  readonly bytes: number;
}

/** A transaction that this node was sent since it started, in the pool or on its way there. */
interface Sent {
  readonly sender: string;
  readonly bytes: number;
  isOnItsWay: boolean;
}

/** So many of those that wait for the others of their DRUID are passed over at once. */
const MAX_PASSED_OVER = 1_024;
const NOTHING: Amount = { count: 0, bytes: 0 };
/** As a sender is named who comes from ::1. */
const LOOPBACK_GROUP = addressGroup('::1');

export class SenderShare {
  readonly #state: Pick<MempoolState, 'isReady' | 'waits'>;
  /** By hash, in the order in which they came, which is that in which they leave; those whose set is not whole move to the end. */
  readonly #sent = new Map<string, Sent>();
  /** What each sender has there. */
  readonly #amounts = new Map<string, Amount>();

  constructor(state: Pick<MempoolState, 'isReady' | 'waits'>) {
    this.#state = state;
  }

  /** Reserves room of the `free` part of the pool; the result is to be called when the candidates have arrived. Throws `mempool_full`. */
  reserve(candidates: readonly CandidateTx[], sender: string, free: Amount): () => void {
    if (sender === '' || sender === LOOPBACK_GROUP || isLoopback(sender)) return () => undefined;
    this.#forgetTheFirst();
    const added = { count: candidates.length, bytes: candidates.reduce((sum, { bytes }) => sum + bytes.length, 0) };
    const own = this.#amounts.get(sender) ?? NOTHING;
    const isFirst = own.count === 0;
    const isTooMuch = own.count + 2 * added.count > free.count || own.bytes + 2 * added.bytes > free.bytes;
    if (isTooMuch && !isFirst) {
      throw new TesseraError(
        'mempool_full',
        `the pool fills up, and ${own.count} transactions of yours are in it: one sender leaves as much of it to others as it takes; try again after the next block`,
      );
    }
    for (const { hash, bytes } of candidates) this.#add(hash, { sender, bytes: bytes.length, isOnItsWay: true });
    return () => {
      for (const { hash } of candidates) this.#arrived(hash);
    };
  }

  #add(hash: string, sent: Sent): void {
    this.#forget(hash);
    this.#sent.set(hash, sent);
    this.#change(sent, 1);
  }

  /** It is in the pool, or was refused. */
  #arrived(hash: string): void {
    const sent = this.#sent.get(hash);
    if (sent === undefined) return;
    sent.isOnItsWay = false;
    if (!this.#state.isReady(hash) && !this.#state.waits(hash)) this.#forget(hash);
  }

  /** Those that went into a block: the first to come are the first to go. */
  #forgetTheFirst(): void {
    const passedOver = new Set<string>();
    for (const [hash, sent] of this.#sent) {
      if (sent.isOnItsWay || this.#state.isReady(hash) || passedOver.has(hash)) return;
      if (!this.#state.waits(hash)) {
        this.#forget(hash);
        continue;
      }
      // It may wait for long, and holds up nobody behind it.
      if (passedOver.size === MAX_PASSED_OVER) return;
      passedOver.add(hash);
      this.#sent.delete(hash);
      this.#sent.set(hash, sent);
    }
  }

  #forget(hash: string): void {
    const sent = this.#sent.get(hash);
    if (sent === undefined) return;
    this.#sent.delete(hash);
    this.#change(sent, -1);
  }

  #change({ sender, bytes }: Sent, sign: 1 | -1): void {
    const own = this.#amounts.get(sender) ?? NOTHING;
    const amount = { count: own.count + sign, bytes: own.bytes + sign * bytes };
    if (amount.count === 0) this.#amounts.delete(sender);
    else this.#amounts.set(sender, amount);
  }
}
