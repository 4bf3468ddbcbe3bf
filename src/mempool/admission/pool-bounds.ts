/**
 * The bounds of the pool (decision B14): room is reserved before a command is appended, and given back when it is applied.
 */

import { TesseraError } from '../../lib/errors.js';
import type { CandidateTx } from '../state/acceptance.js';
import type { MempoolState } from '../state/state.js';
import { type Amount, SenderShare } from './sender-share.js';
import { TokenlessShare } from './tokenless-share.js';

/**
 * The share of the pool that transactions may take while they wait for the others of their DRUID. They claim no inputs, so
 * that one output backs any number of them: without a bound of their own they would keep everybody else out, for as long
 * as they may wait.
 */
export const DRUID_SHARE = 4;

export interface PoolBoundsOptions {
  readonly maxTransactions: number;
  readonly maxBytes: number;
}

/** What the bounds look at. */
type PooledState = Pick<
  MempoolState,
  'waiting' | 'waitingDruids' | 'druidSet' | 'tokenless' | 'kin' | 'isReady' | 'waits' | 'blockRules'
>;

export class PoolBounds {
  readonly #options: PoolBoundsOptions;
  readonly #state: PooledState;
  readonly #tokenless: TokenlessShare;
  readonly #senders: SenderShare;
  /** On their way through the journal. */
  #reserved: Amount = { count: 0, bytes: 0 };
  #reservedDruids: Amount = { count: 0, bytes: 0 };

  constructor(options: PoolBoundsOptions, state: PooledState) {
    this.#options = options;
    this.#state = state;
    this.#tokenless = new TokenlessShare(options, state);
    this.#senders = new SenderShare(state);
  }

  /** Reserves room; the result gives it back. Throws `mempool_full`. */
  reserve(candidates: readonly CandidateTx[], sender = ''): () => void {
    const { maxTransactions, maxBytes } = this.#options;
    const added = amountOf(candidates);
    const druids = amountOf(this.#incomplete(candidates));
    if (isBeyond(maxTransactions, maxBytes, this.#state.waiting, this.#reserved, added)) {
      throw new TesseraError(
        'mempool_full',
        `the pool is full: it takes ${maxTransactions} transactions and ${maxBytes} bytes; try again after the next block`,
      );
    }
    const [druidCount, druidBytes] = [maxTransactions / DRUID_SHARE, maxBytes / DRUID_SHARE];
    const { waitingDruids } = this.#state;
    if (druids.count > 0 && isBeyond(druidCount, druidBytes, waitingDruids, this.#reservedDruids, druids)) {
      throw new TesseraError(
        'mempool_full',
        'too many DRUID transactions wait for the others of their sets; try again later, or submit the whole set together',
      );
    }
    const releaseShares = this.#reserveShares(candidates, sender);
    this.#add(added, druids, 1);
    return () => {
      this.#add(added, druids, -1);
      releaseShares();
    };
  }

  #reserveShares(candidates: readonly CandidateTx[], sender: string): () => void {
    const { maxTransactions, maxBytes } = this.#options;
    const taken = sum(this.#state.waiting, this.#reserved, 1);
    const releaseTokenless = this.#tokenless.reserve(candidates, sender);
    try {
      const free = sum({ count: maxTransactions, bytes: maxBytes }, taken, -1);
      const releaseSender = this.#senders.reserve(candidates, sender, free);
      return () => {
        releaseSender();
        releaseTokenless();
      };
    } catch (error) {
      releaseTokenless();
      throw error;
    }
  }

  #add(added: Amount, druids: Amount, sign: 1 | -1): void {
    this.#reserved = sum(this.#reserved, added, sign);
    this.#reservedDruids = sum(this.#reservedDruids, druids, sign);
  }

  /** Those that will wait for others; a set that they complete does not wait. */
  #incomplete(candidates: readonly CandidateTx[]): readonly CandidateTx[] {
    if (candidates.every(({ tx }) => tx.druidInfo === null)) return [];
    const brought = new Map<string, number>();
    for (const { tx } of candidates) {
      if (tx.druidInfo !== null) brought.set(tx.druidInfo.druid, (brought.get(tx.druidInfo.druid) ?? 0) + 1);
    }
    return candidates.filter(({ tx }) => {
      if (tx.druidInfo === null) return false;
      const { druid, participants } = tx.druidInfo;
      const set = this.#state.druidSet(druid);
      return BigInt((set?.members.length ?? 0) + (brought.get(druid) ?? 0)) < (set?.participants ?? participants);
    });
  }
}

function amountOf(candidates: readonly CandidateTx[]): Amount {
  return { count: candidates.length, bytes: candidates.reduce((bytes, one) => bytes + one.bytes.length, 0) };
}

function sum(a: Amount, b: Amount, sign: 1 | -1): Amount {
  return { count: a.count + sign * b.count, bytes: a.bytes + sign * b.bytes };
}

function isBeyond(maxCount: number, maxBytes: number, ...amounts: readonly Amount[]): boolean {
  const total = amounts.reduce((all, one) => sum(all, one, 1));
  return total.count > maxCount || total.bytes > maxBytes;
}
