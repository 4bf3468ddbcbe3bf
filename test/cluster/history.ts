/**
 * What clients did during a run and what they were told: every request with its node, its beginning, its end and its answer.
 * An answer is one of four, as Jepsen has them: accepted (`ok`), refused or turned away (`fail`), or unknown (`info`).
 */

/** A request, by a monotonic clock that all clients share, in ms. */
interface Request {
  readonly client: string;
  /** The node that was asked. */
  readonly node: string;
  readonly began: number;
  readonly ended: number;
}

/**
 * - accepted: a 2xx.
 * - refused: by a rule of the chain, for good; the code says which.
 * - turned away: this request has not taken it, another one may.
 * - unknown: no answer, or one that says that it may be taken yet.
 */
export type PostAnswer = 'accepted' | 'refused' | 'turned away' | 'unknown';

/** A transaction was posted. */
export interface Post extends Request {
  readonly kind: 'post';
  readonly hash: string;
  /** The outputs that it spends, by `outPointKey`. */
  readonly spends: readonly string[];
  /** Transactions whose outputs it spends, those of block 0 left out. */
  readonly parents: readonly string[];
  readonly answer: PostAnswer;
  /** The error code; '' when accepted. */
  readonly code: string;
}

export type ReadStatus = 'absent' | 'Pending' | 'Confirmed' | 'Rejected';

/** The status of a transaction was read. A read without an answer says nothing, and is in no history. */
export interface StatusRead extends Request {
  readonly kind: 'status';
  readonly hash: string;
  readonly status: ReadStatus;
  /** Of a confirmed one. */
  readonly height: number | null;
}

/** A number that only rises was read: the height of a storage node, the issued supply of a mempool node. */
export interface CountRead extends Request {
  readonly kind: 'count';
  readonly what: 'height' | 'issued';
  readonly value: bigint;
}

export type Operation = Post | StatusRead | CountRead;

/** A block as storage shows it at the end. */
export interface EndBlock {
  readonly height: number;
  readonly hash: string;
  readonly previousHash: string | null;
  /** Hashes of its transactions, the coinbase left out. */
  readonly transactions: readonly string[];
}

/** The state of a mempool node at rest. */
export interface EndState {
  readonly node: string;
  /** Equal for equal states. */
  readonly digest: string;
  /** All that is unspent, in raw units, and all that was issued. */
  readonly held: bigint;
  readonly issued: bigint;
}

/** What is there when everything has come to rest. */
export interface End {
  /** By storage node. */
  readonly chains: ReadonlyMap<string, readonly EndBlock[]>;
  readonly states: readonly EndState[];
}

/** Operations in the order of their ends. */
export class History {
  readonly #operations: Operation[] = [];

  get operations(): readonly Operation[] {
    return this.#operations;
  }

  note(operation: Operation): void {
    this.#operations.push(operation);
  }
}
