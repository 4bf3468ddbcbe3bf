/** What the network benchmark tells its load generator, and what that answers. Times are of the generator's own clock. */

export interface Posts {
  readonly seconds: number;
  readonly connections: number;
  /** Payments a second; as fast as the answers come without one. */
  readonly rate?: number;
}

export interface PostsResult {
  readonly admitted: number;
  /** True when the prepared payments did not last for the time. */
  readonly isUsedUp: boolean;
  /** Milliseconds from the first post to the last answer. */
  readonly admitMs: number;
  readonly answerP50: number;
  readonly answerP99: number;
  /** Answers 429 and 503; each was tried again. */
  readonly tooMany: number;
  readonly beganAt: number;
}

export interface Reads {
  readonly seconds: number;
  /** To each of the two nodes. */
  readonly connections: number;
  /** Whose balances are asked for. */
  readonly addresses: readonly string[];
}

interface NodeReads {
  /** Answers a second. */
  readonly rate: number;
  readonly answers: number;
  readonly p50: number;
  readonly p99: number;
  /** Answers other than 200. */
  readonly others: number;
}

export interface ReadsResult {
  readonly storage: NodeReads;
  readonly mempool: NodeReads;
}

/** Where a network is asked, and whose it is. */
export interface Place {
  readonly mempool: string;
  readonly storage: string;
  /** Of the node that ours replaces. */
  readonly isOriginal: boolean;
}

export type LoadOrder =
  | ({ readonly kind: 'nodes'; readonly genesisOutputs: number } & Place)
  | { readonly kind: 'prepare'; readonly count: number; readonly batch: number }
  | ({ readonly kind: 'post' } & Posts)
  | { readonly kind: 'drain' }
  | ({ readonly kind: 'read' } & Reads);

export type LoadAnswer =
  | { readonly kind: 'done' }
  | ({ readonly kind: 'posted' } & PostsResult)
  | {
      readonly kind: 'drained';
      /** When the last payment was confirmed. */
      readonly lastAt: number;
      /** Milliseconds from the post to the block, of the payments of the last order to post. */
      readonly p50: number;
      readonly p99: number;
      readonly max: number;
      readonly count: number;
      /** Transactions of each block that was not empty. */
      readonly blocks: readonly number[];
    }
  | ({ readonly kind: 'read' } & ReadsResult);
