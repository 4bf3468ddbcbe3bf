/**
 * The final statuses that commands decide. They go into the batch of the command, and can be read here until that batch is
 * on disk: what was pending a moment ago has a status at every moment (decision V1).
 */

import type { KvBatch } from '../../db/kv.js';
import { atOnce, type Pieces } from '../../lib/pieces.js';
import type { TxStatus } from '../service.js';
import { FIRST_REFUSAL_NUMBER, keys } from './layout.js';
import { encodeHashes, encodeStatus } from './records.js';

/** How many groups of statuses one command can decide: keeps their numbers apart. */
const MAX_GROUPS = 64;
/** Statuses of one piece. */
const PIECE_STATUSES = 256;

export class FinalStatuses {
  readonly #unwritten = new Map<string, TxStatus>();
  /** Number of the last command that was sealed, and the groups since: part of their expiry keys. */
  #seq: number;
  #groups = 0;

  constructor(seq: number) {
    this.#seq = seq;
  }

  /** A status that is decided but perhaps not yet on disk. */
  unwritten(hash: string): TxStatus | undefined {
    return this.#unwritten.get(hash);
  }

  /** A status that this command will decide can be read from now on. */
  show(hash: string, status: TxStatus): void {
    this.#unwritten.set(hash, status);
  }

  /** Puts statuses into a batch, to be forgotten together; `time` is that of the decision in unix seconds. */
  decide(statuses: ReadonlyMap<string, TxStatus>, time: number, batch: KvBatch): void {
    atOnce(this.decideInPieces(statuses, time, batch));
  }

  /** The same in pieces: each status can be read from its piece on. */
  *decideInPieces(statuses: ReadonlyMap<string, TxStatus>, time: number, batch: KvBatch): Pieces<void> {
    if (statuses.size === 0) return;
    // Never earlier than a first sight, whatever the clock says, so that nothing expires before its time.
    let latest = time;
    let left = 0;
    for (const [hash, status] of statuses) {
      if (left-- === 0) {
        yield;
        left = PIECE_STATUSES;
      }
      this.show(hash, status);
      batch.put(keys.status(hash), encodeStatus(status));
      latest = Math.max(latest, status.timestamp);
    }
    const number = (this.#seq * MAX_GROUPS + this.#groups++) % FIRST_REFUSAL_NUMBER;
    batch.put(keys.expiry(latest, number), encodeHashes([...statuses.keys()]));
  }

  /** The batch ends with command `seq`. */
  seal(seq: number): void {
    this.#seq = seq;
    this.#groups = 0;
  }

  /** Everything decided so far is on disk. */
  written(): void {
    this.#unwritten.clear();
  }
}
