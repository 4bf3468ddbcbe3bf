/**
 * Retention of the journal behind the state. A start needs none of it; a backup does, which copies the journal a little later
 * than the state (src/db/backup/README.md). So what came in the last minute stays, and of what is older a bounded number of
 * bytes: commands differ in size, and some are as large as a block.
 */

import type { Clock } from '../../lib/clock.js';

const MIB = 1024 * 1024;
/** Bytes of commands that are kept, whatever their number. */
const KEEP_BYTES = 64 * MIB;
/** Bytes of commands between two times that the journal is cut. */
const CUT_EVERY_BYTES = 32 * MIB;
/** Milliseconds for which every command is kept. */
export const KEEP_MS = 60_000;
/** Bytes of commands between two marks. */
const MARK_BYTES = MIB;

/** Mark at which the journal may be cut. */
interface Mark {
  readonly seq: number;
  readonly at: number;
  /** Bytes of all commands up to it. */
  readonly bytes: number;
}

export class Retention {
  readonly #clock: Clock;
  /** The oldest first. */
  #marks: readonly Mark[];
  /** Bytes of all commands so far, and of those when the journal was last cut. */
  #bytes = 0;
  #bytesAtCut = 0;

  /** `seq` is the last command before the first that is counted here. */
  constructor(seq: number, clock: Clock) {
    this.#clock = clock;
    this.#marks = [{ seq, at: clock.monotonic(), bytes: 0 }];
  }

  /** Commands up to `seq` are in the state, so many bytes more. */
  noteApplied(seq: number, bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes - (this.#marks.at(-1)?.bytes ?? 0) < MARK_BYTES) return;
    this.#marks = [...this.#marks, { seq, at: this.#clock.monotonic(), bytes: this.#bytes }];
  }

  /** Command up to which the journal is to be cut now; 0 when it is not. */
  due(): number {
    return this.#bytes - this.#bytesAtCut < CUT_EVERY_BYTES ? 0 : this.#cut(KEEP_BYTES);
  }

  /** The same when the disk is nearly full: only what is young stays. */
  leastKept(): number {
    return this.#cut(0);
  }

  #cut(keepBytes: number): number {
    const now = this.#clock.monotonic();
    const isFar = ({ at, bytes }: Mark): boolean => now - at >= KEEP_MS && this.#bytes - bytes >= keepBytes;
    const last = this.#marks.findLast(isFar);
    if (last === undefined) return 0;
    this.#bytesAtCut = this.#bytes;
    this.#marks = this.#marks.filter(({ bytes }) => bytes >= last.bytes);
    return last.seq;
  }
}

/** Milliseconds for which commands of adopted blocks are kept: a backup copies the journal a little later than the state. */
const KEEP_ADOPTED_MS = 60_000;

/** The same while blocks are adopted, each of which is as large as its command. */
export class AdoptedRetention {
  readonly #clock: Clock;
  /** Positions of the state when blocks were adopted, the oldest first; of those older than `KEEP_ADOPTED_MS` the last. */
  #marks: readonly Pick<Mark, 'at' | 'seq'>[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Notes where the state stands; gives where it stood `KEEP_ADOPTED_MS` ago, 0 when that is not known. */
  noteAdopted(seq: number): number {
    const now = this.#clock.monotonic();
    const marks = [...this.#marks, { at: now, seq }];
    const old = marks.filter(({ at }) => now - at >= KEEP_ADOPTED_MS);
    this.#marks = [...old.slice(-1), ...marks.slice(old.length)];
    return old.at(-1)?.seq ?? 0;
  }
}
