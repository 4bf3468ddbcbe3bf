/** How far the start of a mempool is, for whoever shows it. */

export interface MempoolProgress {
  /** Reading the state: unspent outputs so far. */
  loading(outputs: number): void;
  /** Applying what the journal has beyond the state: commands done, commands to do. */
  replaying(done: number, total: number): void;
}
