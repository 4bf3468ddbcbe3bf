/**
 * The share of the pool for transactions without tokens (decision B14). An item creation spends nothing, and what it makes can
 * be passed on to any number of outputs, so that a stranger without funds makes any number of them: they have a quarter of
 * the pool and never more than fits into one block, so that a payment waits behind at most one block of them. Who sends them
 * leaves as much to others as it takes.
 */

import { movesTokens } from '../../chain/transaction.js';
import { TesseraError } from '../../lib/errors.js';
import type { CandidateTx } from '../state/acceptance.js';
import type { MempoolState } from '../state/state.js';

const SHARE_OF_POOL = 4;
/** However small the pool is: one transaction, and the place that its sender leaves to others. */
const LEAST = 2;

export interface TokenlessShareOptions {
  /** Of the whole pool. */
  readonly maxTransactions: number;
  readonly maxBytes: number;
}

interface Amount {
  readonly count: number;
  readonly bytes: number;
}

type TokenlessState = Pick<MempoolState, 'tokenless' | 'kin' | 'druidSet' | 'blockRules'>;

/** A transaction that this node was sent since it started, in the pool or on its way there. */
interface Sent {
  readonly sender: string;
  readonly bytes: number;
  isOnItsWay: boolean;
}

const NOTHING: Amount = { count: 0, bytes: 0 };

export class TokenlessShare {
  readonly #max: Amount;
  readonly #state: TokenlessState;
  /** On their way through the journal. */
  #reserved = NOTHING;
  /** By hash; some may have left the pool. */
  readonly #sent = new Map<string, Sent>();

  constructor({ maxTransactions, maxBytes }: TokenlessShareOptions, state: TokenlessState) {
    const { transactions, bytes } = state.blockRules;
    this.#max = {
      count: Math.max(LEAST, Math.min(maxTransactions / SHARE_OF_POOL, transactions)),
      bytes: Math.min(maxBytes / SHARE_OF_POOL, bytes),
    };
    this.#state = state;
  }

  /** Reserves room for those without tokens among the candidates; the result gives it back. Throws `mempool_full`. */
  reserve(candidates: readonly CandidateTx[], sender: string): () => void {
    const tokenless = [...candidates.filter(({ tx }) => !movesTokens(tx)), ...this.#broughtAlong(candidates)];
    if (tokenless.length === 0) return () => undefined;
    const added = tokenless.reduce((all, { bytes }) => sum(all, { count: 1, bytes: bytes.length }), NOTHING);
    if (!this.#fits(added, sender)) {
      this.#forgetThoseThatLeft();
      if (!this.#fits(added, sender)) throw this.#full();
    }
    this.#reserved = sum(this.#reserved, added);
    for (const { hash, bytes } of tokenless) this.#sent.set(hash, { sender, bytes: bytes.length, isOnItsWay: true });
    return () => {
      this.#reserved = sum(this.#reserved, added, -1);
      for (const { hash } of tokenless) this.#arrived(hash);
    };
  }

  /** Members of DRUID sets that have waited for the candidates: they come into the pool together. */
  #broughtAlong(candidates: readonly CandidateTx[]): readonly Pick<CandidateTx, 'hash' | 'bytes'>[] {
    const druids = new Map<string, number>();
    for (const { tx } of candidates) {
      if (tx.druidInfo !== null) druids.set(tx.druidInfo.druid, (druids.get(tx.druidInfo.druid) ?? 0) + 1);
    }
    return [...druids].flatMap(([druid, count]) => {
      const set = this.#state.druidSet(druid);
      return set !== undefined && BigInt(set.members.length + count) >= set.participants ? set.tokenless : [];
    });
  }

  /** Those of all, and those of the sender once more: what it has, it leaves to others too. */
  #fits(added: Amount, sender: string): boolean {
    if (this.#sent.size > this.#max.count) return false;
    const taken = [this.#state.tokenless, this.#reserved, added, this.#of(sender), added].reduce((a, b) => sum(a, b));
    return taken.count <= this.#max.count && taken.bytes <= this.#max.bytes;
  }

  #of(sender: string): Amount {
    let own = NOTHING;
    for (const one of this.#sent.values()) if (one.sender === sender) own = sum(own, { count: 1, bytes: one.bytes });
    return own;
  }

  #arrived(hash: string): void {
    const one = this.#sent.get(hash);
    if (one !== undefined) one.isOnItsWay = false;
  }

  /** Into a block, or refused on its way. */
  #forgetThoseThatLeft(): void {
    for (const [hash, { isOnItsWay }] of this.#sent) {
      if (!isOnItsWay && this.#state.kin(hash) === undefined) this.#sent.delete(hash);
    }
  }

  #full(): TesseraError {
    const count = Math.floor(this.#max.count / 2);
    return new TesseraError(
      'mempool_full',
      `too many transactions without tokens (item creations and transfers) wait for a block; at most ${count} of one sender do; try again after the next block`,
    );
  }
}

function sum(a: Amount, b: Amount, sign: 1 | -1 = 1): Amount {
  return { count: a.count + sign * b.count, bytes: a.bytes + sign * b.bytes };
}
