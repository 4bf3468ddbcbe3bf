/** The outputs that inputs spend. Transactions that were indexed lately are spent most often and kept in memory, others are read from the archive. */

import { LRUCache } from 'lru-cache';
import { type Creating, createdOutput } from '../../chain/transaction.js';
import type { OutPoint, TxOut } from '../../chain/types.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import type { ArchiveLookups } from '../archive/lookups.js';
import { damaged } from '../archive/records.js';
import { READ_AT_ONCE } from './block-to-index.js';
import type { Place } from './layout.js';

/** The most outputs that are kept in memory; one takes some 200 bytes. */
const KEPT_OUTPUTS = 40_000;
/** Hashes that are looked up in memory in one piece. */
const PIECE_HASHES = 512;
/** The most outputs that a transaction counts as: the first one of a chain may have any number. */
const MAX_SIZE = KEPT_OUTPUTS / 4;

export interface SourceTransaction extends Place {
  readonly outputs: Creating;
}

export interface Source extends Place {
  readonly txOut: TxOut;
}

export class Sources {
  readonly #archive: ArchiveLookups;
  readonly #slices: Pick<TimeSlices, 'turn'>;
  readonly #kept = new LRUCache<string, SourceTransaction>({ maxSize: KEPT_OUTPUTS });

  constructor(archive: ArchiveLookups, slices: Pick<TimeSlices, 'turn'>) {
    this.#archive = archive;
    this.#slices = slices;
  }

  /** Keeps a transaction whose outputs may be spent soon. */
  keep(hash: string, { outputs, fees, feesReplace }: Creating, { height, txNum }: Place): SourceTransaction {
    const source = { height, txNum, outputs: { outputs, fees, ...(feesReplace && { feesReplace }) } };
    this.#kept.set(hash, source, { size: Math.min(outputs.length + fees.length + 1, MAX_SIZE) });
    return source;
  }

  /** Transactions by their hashes, as far as they are stored. */
  async find(hashes: ReadonlySet<string>): Promise<ReadonlyMap<string, SourceTransaction>> {
    const found = new Map<string, SourceTransaction>();
    const unknown: string[] = [];
    let looked = 0;
    for (const hash of hashes) {
      if (++looked % PIECE_HASHES === 0) await this.#slices.turn();
      const kept = this.#kept.get(hash);
      if (kept === undefined) unknown.push(hash);
      else found.set(hash, kept);
    }
    const turns = { turn: () => this.#slices.turn() };
    for (let from = 0; from < unknown.length; from += READ_AT_ONCE) {
      for (const record of await this.#archive.transactions(unknown.slice(from, from + READ_AT_ONCE), turns)) {
        if (record !== undefined) found.set(record.hash, this.keep(record.hash, record.transaction, record));
      }
    }
    return found;
  }
}

/** The output that an input spends; throws `data_corrupt` when there is none. */
export function sourceOf(transactions: ReadonlyMap<string, SourceTransaction>, { tHash, n }: OutPoint): Source {
  const found = transactions.get(tHash);
  const txOut = found && createdOutput(found.outputs, n);
  if (found === undefined || txOut === undefined) throw damaged(`output ${n} of ${tHash}, which is spent, is missing`);
  return { height: found.height, txNum: found.txNum, txOut };
}
