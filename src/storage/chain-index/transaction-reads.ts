/**
 * Reads stored transactions for the answers of the index. Each may have 512 KiB, and an answer may need hundreds: all answers
 * together read and decode one at a time, each in a turn of its own, and keep of it only what they show.
 */

import { Mutex } from '../../lib/mutex.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import type { ArchiveLookups } from '../archive/lookups.js';
import { present } from '../archive/reader.js';
import type { TransactionRecord } from '../archive/records.js';

export interface TransactionReadsModules {
  readonly archive: Pick<ArchiveLookups, 'transactions'>;
  readonly slices: Pick<TimeSlices, 'turn'>;
}

export class TransactionReads {
  readonly #modules: TransactionReadsModules;
  /** Answers that wait for it take turns, transaction by transaction: none waits until another has all of its own. */
  readonly #one = new Mutex();

  constructor(modules: TransactionReadsModules) {
    this.#modules = modules;
  }

  /** What `pick` takes of a transaction that must be there; it must keep neither the transaction nor its bytes. */
  pick<T>(hash: string, pick: (record: TransactionRecord) => T): Promise<T> {
    return this.#read(hash, (record) => pick(present(record, `transaction ${hash}`)));
  }

  /** The same of one that may be missing. */
  find<T>(hash: string, pick: (record: TransactionRecord) => T): Promise<T | undefined> {
    return this.#read(hash, (record) => record && pick(record));
  }

  #read<T>(hash: string, pick: (record: TransactionRecord | undefined) => T): Promise<T> {
    const { archive, slices } = this.#modules;
    return this.#one.run(async () => {
      await slices.turn();
      const [record] = await archive.transactions([hash]);
      return pick(record);
    });
  }
}
