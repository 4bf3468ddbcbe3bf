/**
 * Retention of the journal behind the state: a backup copies the journal a little later than the state
 * (src/db/backup/README.md). Commands of the last minute stay, and a bounded number of bytes of older ones.
 */

import { endlessRoom, type Room } from '../../db/disk-room.js';
import type { Journal, JournalEntry } from '../../journal/journal.js';
import type { Clock, Timer } from '../../lib/clock.js';
import { errorMessage, isTesseraError } from '../../lib/errors.js';
import { type Logger, silentLogger } from '../../lib/logger.js';
import type { MempoolState } from './state.js';
import type { StateStore } from './state-store.js';

const MIB = 1024 * 1024;
/** Bytes of commands that are kept at most, whatever their number. */
const KEEP_BYTES = 64 * MIB;
/** Bytes of commands between two cuts of the journal. */
const CUT_EVERY_BYTES = 32 * MIB;
/** Milliseconds for which every command is kept. */
const KEEP_MS = 60_000;
/** Bytes of commands between two marks. */
const MARK_BYTES = MIB;

interface Mark {
  readonly seq: number;
  readonly at: number;
  readonly bytes: number;
}

export class Retention {
  readonly #clock: Clock;
  #marks: readonly Mark[];
  /** Bytes of all commands so far, and of those when the journal was last cut. */
  #bytes = 0;
  #bytesAtCut = 0;

  constructor(seq: number, clock: Clock) {
    this.#clock = clock;
    this.#marks = [{ seq, at: clock.monotonic(), bytes: 0 }];
  }

  /** Notes that commands up to `seq` are in the state, with their bytes. */
  noteApplied(seq: number, bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes - (this.#marks.at(-1)?.bytes ?? 0) < MARK_BYTES) return;
    this.#marks = [...this.#marks, { seq, at: this.#clock.monotonic(), bytes: this.#bytes }];
  }

  /** Command up to which the journal is to be cut now; 0 when no cut is due. */
  due(): number {
    return this.#bytes - this.#bytesAtCut < CUT_EVERY_BYTES ? 0 : this.#cut(KEEP_BYTES);
  }

  /** Command up to which the journal may be cut when the disk is nearly full: only young commands stay. */
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

/** Retention while blocks are adopted, each of which is as large as its command. */
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

/** Places in the journal that are remembered; beyond that, every second one is forgotten. */
const MAX_PLACES = 4_096;

interface Stored {
  /** Bounds of the command that stored the block: it is above `behind`, and not above `seq`. */
  readonly behind: number;
  readonly seq: number;
  /** The last block that was stored by then; undefined when that is not known. */
  readonly height: number | undefined;
}

interface Place {
  /** The last command of a group, and how many transactions had been accepted after it. */
  readonly seq: number;
  readonly arrivals: number;
}

/** Position of the state: what it has accepted, is making and has stored. */
export interface Standing {
  readonly arrivals: number;
  readonly rounds?: readonly number[];
  /** The last block that the journal has stored; undefined when that is not known. */
  readonly height?: number | undefined;
}

export class OldestWaiting {
  #places: Place[];
  /** The heights of the blocks being made, each with a command behind which it was cut. */
  #rounds: ReadonlyMap<number, number>;
  #stored: Stored[];
  #last: number;

  /** Begins at the position of the state: earlier arrivals and cuts may be of any command. */
  constructor(seq: number, { arrivals, rounds = [], height }: Standing) {
    this.#last = seq;
    this.#stored = [{ behind: seq, seq, height }];
    this.#places = [{ seq, arrivals }];
    this.#rounds = new Map(rounds.map((height) => [height, 0]));
  }

  noteApplied(seq: number, { arrivals, rounds = [], height }: Standing): void {
    if (height !== this.#stored.at(-1)?.height) this.#stored.push({ behind: this.#last, seq, height });
    if (this.#stored.length > MAX_PLACES) this.#stored.shift();
    this.#last = seq;
    const behind = this.#places.at(-1)?.seq ?? 0;
    this.#rounds = new Map(rounds.map((height) => [height, this.#rounds.get(height) ?? behind]));
    if (this.#places.at(-1)?.arrivals === arrivals) this.#places.pop();
    this.#places.push({ seq, arrivals });
    if (this.#places.length > MAX_PLACES) this.#places = this.#places.filter((_, i) => i % 2 === 0);
  }

  /** A command behind which the oldest waiting arrival and all later ones came; 0 when unknown. `oldest`: undefined if none waits. */
  before(oldest: number | undefined): number {
    return Math.min(this.#beforeArrival(oldest), ...this.#rounds.values());
  }

  /** The last block that was stored before command `seq`, -1 before the first; undefined when that is not known. */
  readonly storedBefore = (seq: number): number | undefined => {
    const last = this.#stored.findLastIndex((one) => one.seq < seq);
    const next = this.#stored[last + 1];
    // Command `seq` may be one of those that stored the next block.
    return next !== undefined && next.behind < seq - 1 ? undefined : this.#stored[last]?.height;
  };

  #beforeArrival(oldest: number | undefined): number {
    if (oldest === undefined) return this.#places.at(-1)?.seq ?? 0;
    const at = this.#places.findLastIndex(({ arrivals }) => arrivals < oldest);
    const place = this.#places[at];
    if (place === undefined) return 0;
    this.#places = this.#places.slice(at);
    return place.seq;
  }
}

const COMPACT_EVERY = 64;
/** Commands that the journal keeps behind the state when it is compacted. */
const KEEP_COMMANDS = 10_000;
/** Commands kept while blocks are adopted: each is as large as its block, and storage has the block. */
const KEEP_ADOPTED = 64;

export interface CompactionModules {
  readonly journal: Pick<Journal, 'before' | 'compact'>;
  readonly store: StateStore;
  readonly state: MempoolState;
  readonly clock: Clock;
  readonly logger?: Logger | undefined;
  /** Room on the journal's disk; endless by default. */
  readonly room?: Pick<Room, 'isLow' | 'ranLow'> | undefined;
}

/** The applier, of which a compaction is a part. */
export interface CompactionHost {
  /** Runs work while no command is applied. */
  alone(work: () => Promise<void>): Promise<void>;
  /** Ends the node. */
  fail(error: unknown): void;
}

/** Lets the journal forget commands behind the state, which is made durable before. */
export class Compaction {
  readonly #modules: CompactionModules;
  readonly #host: CompactionHost;
  readonly #room: Pick<Room, 'isLow' | 'ranLow'>;
  readonly #retention: Retention;
  readonly #adopted: AdoptedRetention;
  readonly #oldest: OldestWaiting;
  #stopListening: (() => void) | undefined;
  #cutAgain: Timer | undefined;

  constructor(modules: CompactionModules, host: CompactionHost) {
    const { state, clock, room = endlessRoom } = modules;
    this.#modules = modules;
    this.#host = host;
    this.#room = room;
    this.#retention = new Retention(state.seq, clock);
    this.#adopted = new AdoptedRetention(clock);
    this.#oldest = new OldestWaiting(state.seq, { ...state.waitingSince, height: undefined });
  }

  /** Notes where the state stands, before the first command. */
  begin(standing: Standing): void {
    this.#oldest.noteApplied(this.#modules.state.seq, standing);
  }

  /** Makes room whenever the disk is nearly full, from now on. */
  start(): void {
    this.#stopListening = this.#room.ranLow.on(() => this.#makeRoom());
    if (this.#room.isLow) this.#makeRoom();
  }

  stop(): void {
    this.#stopListening?.();
    this.#cutAgain?.cancel();
  }

  /** Compacts where that is due, after commands some of which stored or adopted a block. */
  async afterCommands(
    entries: readonly JournalEntry[],
    standing: Standing,
    blocks: Readonly<Record<'stored' | 'adopted', readonly { readonly height: number }[]>>,
  ): Promise<void> {
    const { journal, state } = this.#modules;
    const last = entries.at(-1)?.seq ?? state.seq;
    const isDue = ({ height }: { readonly height: number }): boolean => height % COMPACT_EVERY === 0;
    const bytes = entries.reduce((sum, { payload }) => sum + payload.length, 0);
    this.#retention.noteApplied(last, bytes);
    this.#oldest.noteApplied(last, standing);
    const due = this.#retention.due();
    if (due > 0) await this.#compact(due);
    if (blocks.stored.some(isDue)) await this.#compact(journal.before(state.seq, KEEP_COMMANDS));
    if (blocks.adopted.some(isDue))
      await this.#compact(Math.min(journal.before(state.seq, KEEP_ADOPTED), this.#adopted.noteAdopted(state.seq)));
  }

  /** Makes the state durable by itself and lets the journal forget the commands up to `seq`. */
  async #compact(seq: number, { isUrgent = false } = {}): Promise<void> {
    const { store, state, journal, logger = silentLogger } = this.#modules;
    const batch = store.batch();
    state.seal(state.seq, batch);
    const isOnDisk = await store.write(batch, { sync: true });
    if (seq <= 0 || !isOnDisk) return;
    try {
      const waiting = this.#oldest.before(state.waitingSince.oldest());
      const { storedBefore } = this.#oldest;
      await journal.compact(seq, { isUrgent, waiting, blocks: state.head.height + 1, storedBefore });
    } catch (error) {
      // The next run drops commands that this one could not drop.
      if (!isTesseraError(error, 'database_failed')) throw error;
      const problem = errorMessage(error);
      logger.warn({ problem }, `the journal keeps for now what it was to forget: ${problem}`);
    }
  }

  /** Stops new commands while the disk is nearly full, and cuts the journal: nobody else may make room. */
  #makeRoom(): void {
    this.#cutAgain?.cancel();
    this.#host
      .alone(() => this.#compact(this.#retention.leastKept(), { isUrgent: true }))
      .catch((error: unknown) => {
        if (!isTesseraError(error, 'shutting_down')) this.#host.fail(error);
      });
    // Records that are too young now are dropped later.
    this.#cutAgain = this.#modules.clock.after(KEEP_MS, () => {
      if (this.#room.isLow) this.#makeRoom();
    });
  }
}
