/** Progress of a mempool's start, for whoever shows it. */

export interface MempoolProgress {
  /** Reading the state: unspent outputs so far. */
  loading(outputs: number): void;
  /** Applying what the journal has beyond the state: commands done, commands to do. */
  replaying(done: number, total: number): void;
  /** Taking in blocks that storage has and this node lacks: blocks done, blocks to do. */
  adopting(done: number, total: number): void;
  /** Ends that phase. */
  adopted(): void;
  /** Progress of the current phase, in words; undefined while there is none. */
  readonly adoptingNow: string | undefined;
}
