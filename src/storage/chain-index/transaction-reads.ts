/**
 * Reads stored transactions for the answers of the index. Each may have 512 KiB, and an answer may need hundreds: all answers
 * together read and decode one at a time, each in a turn of its own, and keep of it only what they show. An answer that needs
 * many bytes of them is a long one, and is made when it has the place of long answers, which their senders get in turn. A short
 * one waits for no more than the transaction that is being read.
 */

import { createDeferred, type Deferred } from '../../lib/deferred.js';
import { TesseraError } from '../../lib/errors.js';
import { FairQueue } from '../../lib/fair-queue.js';
import { Mutex } from '../../lib/mutex.js';
import { NOW } from '../../lib/pieces.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import type { ArchiveLookups } from '../archive/lookups.js';
import { present } from '../archive/reader.js';
import type { TransactionRecord } from '../archive/records.js';

/** Bytes of transactions beyond which an answer is a long one: a millisecond of work. */
const SHORT_BYTES = 64 * 1024;
/** Bytes of transactions after which a long answer ends early. */
const MAX_BYTES = 4 * 1024 * 1024;
/** Long answers that wait for the place; beyond it the sender with most of them loses its last (rule P6). */
const MAX_WAITING = 32;
/** Thrown instead of decoding what makes an answer a long one. */
const IS_LONG = new Error('the answer is a long one');

export interface TransactionReadsModules {
  readonly archive: Pick<ArchiveLookups, 'transactions'>;
  readonly slices: Pick<TimeSlices, 'turn'>;
}

/** What all answers share. */
export class TransactionReads {
  readonly #modules: TransactionReadsModules;
  /** Answers that wait for it take turns, transaction by transaction: none waits until another has all of its own. */
  readonly #one = new Mutex();
  readonly #waiting = new FairQueue<Deferred<void>>();
  #isTaken = false;

  constructor(modules: TransactionReadsModules) {
    this.#modules = modules;
  }

  /** `mayDecode` throws what ends the reading of a transaction of this size. */
  read<T>(
    hash: string,
    mayDecode: (bytes: number) => void,
    pick: (record: TransactionRecord | undefined) => T,
  ): Promise<T> {
    const { archive, slices } = this.#modules;
    const turn = (bytes: number): Promise<void> => {
      mayDecode(bytes);
      return slices.turn();
    };
    return this.#one.run(async () => {
      const [record] = await archive.transactions([hash], { turn });
      return pick(record);
    });
  }

  /** Resolves when a long answer of this sender has the place, and rejects with `overloaded` when it gets none. */
  takePlace(sender: string): Promise<void> {
    if (!this.#isTaken) {
      this.#isTaken = true;
      return NOW;
    }
    const place = createDeferred<void>();
    this.#waiting.push(sender, place);
    if (this.#waiting.length > MAX_WAITING) this.#waiting.drop()?.reject(overloaded());
    return place.promise;
  }

  leavePlace(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#isTaken = false;
    else next.resolve();
  }
}

/** The reads of one answer. */
export class AnswerReads {
  readonly #all: TransactionReads;
  readonly #sender: string;
  #bytes = 0;
  #hasPlace = false;

  /** `sender`: whose answer it is, for the turns of long ones. */
  constructor(all: TransactionReads, sender: string) {
    this.#all = all;
    this.#sender = sender;
  }

  /** The answer has what it may have, and ends early if it needs more. */
  get isUsedUp(): boolean {
    return this.#bytes >= MAX_BYTES;
  }

  /** What `pick` takes of a transaction that must be there; it must keep neither the transaction nor its bytes. */
  pick<T>(hash: string, pick: (record: TransactionRecord) => T): Promise<T> {
    return this.find(hash, (record) => pick(present(record, `transaction ${hash}`)));
  }

  /** The same of one that may be missing. */
  async find<T>(hash: string, pick: (record: TransactionRecord | undefined) => T): Promise<T> {
    try {
      return await this.#all.read(hash, this.#count, pick);
    } catch (error) {
      if (error !== IS_LONG) throw error;
    }
    await this.#all.takePlace(this.#sender);
    this.#hasPlace = true;
    return this.#all.read(hash, this.#count, pick);
  }

  /** The answer is made once more. */
  restart(): void {
    this.#bytes = 0;
  }

  /** The answer is made, or will not be. */
  end(): void {
    if (this.#hasPlace) this.#all.leavePlace();
    this.#hasPlace = false;
  }

  readonly #count = (bytes: number): void => {
    if (!this.#hasPlace && this.#bytes + bytes > SHORT_BYTES) throw IS_LONG;
    this.#bytes += bytes;
  };
}

function overloaded(): TesseraError {
  return new TesseraError('overloaded', 'The node is making many long answers; try again, or ask for less at once.');
}
