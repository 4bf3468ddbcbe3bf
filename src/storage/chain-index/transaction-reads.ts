/**
 * Reads stored transactions for the answers of the index. Each may have 512 KiB, and an answer may need hundreds: all answers together read and
 * decode one at a time, each in a turn of its own, and keep only the parts that they show. An answer that needs many bytes of transactions is a long
 * one: it waits for the place of long answers, which senders get in turn. A short one waits for no more than the transaction that is being read.
 */

import { TesseraError } from '../../lib/errors.js';
import { Mutex } from '../../lib/mutex.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { type Place, WaitingLine } from '../../lib/waiting-line.js';
import type { ArchiveLookups } from '../archive/lookups.js';
import type { TransactionRecord } from '../archive/records.js';
import { present } from '../archive/records.js';

/** Bytes of transactions beyond which an answer is a long one: a millisecond of work. */
const SHORT_BYTES = 64 * 1024;
/** Bytes of transactions after which even a long answer ends. */
const MAX_BYTES = 4 * 1024 * 1024;
/** Long answers that wait for their place; beyond it the sender with most of them loses its last (rule P6). */
const MAX_WAITING = 32;
/** Thrown instead of decoding a transaction that makes an answer a long one. */
const IS_LONG = new Error('the answer is a long one');

export interface TransactionReadsModules {
  readonly archive: Pick<ArchiveLookups, 'transactions'>;
  readonly slices: Pick<TimeSlices, 'turn'>;
}

/** Reads of transactions, shared by all answers. */
export class TransactionReads {
  readonly #modules: TransactionReadsModules;
  /** Held while one transaction is read: answers take turns by transaction, so none waits for all of another. */
  readonly #one = new Mutex();
  readonly #places = new WaitingLine({
    total: [1],
    maxWaiting: MAX_WAITING,
    refuse: () =>
      new TesseraError('overloaded', 'The node is making many long answers; try again, or ask for less at once.'),
  });

  constructor(modules: TransactionReadsModules) {
    this.#modules = modules;
  }

  /** Reads a transaction. `mayDecode` gets its size, and throws to end the reading. */
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

  /** The place of long answers for a sender; it rejects with `overloaded` when he gets none. */
  place(sender: string): Place {
    return this.#places.enter(sender, 1);
  }
}

/** The reads of one answer. */
export class AnswerReads {
  readonly #all: TransactionReads;
  readonly #sender: string;
  #bytes = 0;
  #place: Place | undefined;

  /** `sender`: who asks for the answer, for the turns of long ones. */
  constructor(all: TransactionReads, sender: string) {
    this.#all = all;
    this.#sender = sender;
  }

  /** True when the answer has read as many bytes as it may: it ends early. */
  get isUsedUp(): boolean {
    return this.#bytes >= MAX_BYTES;
  }

  /** Part that `pick` takes of a transaction, which must be there; it must keep neither the transaction nor its bytes. */
  pick<T>(hash: string, pick: (record: TransactionRecord) => T): Promise<T> {
    return this.find(hash, (record) => pick(present(record, `transaction ${hash}`)));
  }

  /** Part that `pick` takes of a transaction that may be missing. */
  async find<T>(hash: string, pick: (record: TransactionRecord | undefined) => T): Promise<T> {
    try {
      return await this.#all.read(hash, this.#count, pick);
    } catch (error) {
      if (error !== IS_LONG) throw error;
    }
    const place = this.#all.place(this.#sender);
    await place.ready;
    this.#place = place;
    return this.#all.read(hash, this.#count, pick);
  }

  /** Begins the answer once more, with nothing read. */
  restart(): void {
    this.#bytes = 0;
  }

  /** Leaves the place of long answers: the answer is made, or will not be. */
  end(): void {
    this.#place?.leave();
    this.#place = undefined;
  }

  readonly #count = (bytes: number): void => {
    if (this.#place === undefined && this.#bytes + bytes > SHORT_BYTES) throw IS_LONG;
    this.#bytes += bytes;
  };
}
