/** What the commands need of `node/`: something that starts, stops and may fail in between. */

/** A node, or a network of them in this process. */
export interface Runnable {
  start(): Promise<void>;
  /** Stops what `start` started, also when that is not finished yet. */
  stop(): Promise<void>;
  /** Never resolves; rejects when the node must not go on. */
  readonly failed: Promise<never>;
}
