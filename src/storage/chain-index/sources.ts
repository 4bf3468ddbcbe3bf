/** The outputs that inputs spend. Transactions that were indexed lately are spent most often and kept in memory, others are read from the archive. */

import { type Creating, createdOutput, outPointKey } from '../../chain/transaction.js';
import type { OutPoint, TxOut } from '../../chain/types.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import type { ArchiveLookups } from '../archive/lookups.js';
import { damaged } from '../archive/records.js';
import { READ_AT_ONCE } from './block-to-index.js';
import type { Place } from './layout.js';

/** The most outputs that are kept in memory; one takes some 200 bytes. */
const KEPT_OUTPUTS = 40_000;
/** Hashes that are looked up in one piece. */
const PIECE_HASHES = 512;
/** The most outputs that a transaction counts as: the first one of a chain may have any number. */
const MAX_SIZE = KEPT_OUTPUTS / 4;

export interface SourceTransaction extends Place {
  /** Undefined where the outputs that are spent are known otherwise. */
  readonly outputs: Creating | undefined;
}

export interface Source extends Place {
  readonly txOut: TxOut;
}

export class Sources {
  readonly #archive: ArchiveLookups;
  readonly #slices: Pick<TimeSlices, 'turn'>;
  /** Transactions by hash, those that were used last in two ages. */
  #young = new Map<string, SourceTransaction>();
  #old = new Map<string, SourceTransaction>();
  /** Outputs in the younger one. */
  #taken = 0;

  constructor(archive: ArchiveLookups, slices: Pick<TimeSlices, 'turn'>) {
    this.#archive = archive;
    this.#slices = slices;
  }

  /** Keeps a transaction whose outputs may be spent soon. */
  keep(hash: string, source: SourceTransaction): void {
    const { outputs = [], fees = [] } = source.outputs ?? {};
    if (this.#taken >= KEPT_OUTPUTS / 2) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#taken = 0;
    }
    this.#taken += Math.min(outputs.length + fees.length + 1, MAX_SIZE);
    this.#young.set(hash, source);
  }

  /** Transactions by their hashes, as far as they are stored; with `onlyPlaces` without their outputs where that is less work. */
  async find(hashes: ReadonlySet<string>, onlyPlaces = false): Promise<ReadonlyMap<string, SourceTransaction>> {
    const found = new Map<string, SourceTransaction>();
    let unknown: string[] = [];
    let looked = 0;
    for (const hash of hashes) {
      if (++looked % PIECE_HASHES === 0) await this.#slices.turn();
      const kept = this.#young.get(hash) ?? this.#old.get(hash);
      if (kept === undefined) unknown.push(hash);
      else found.set(hash, kept);
    }
    if (onlyPlaces) unknown = await this.#findPlaces(unknown, found);
    const turns = { turn: () => this.#slices.turn() };
    for (let from = 0; from < unknown.length; from += READ_AT_ONCE) {
      for (const record of await this.#archive.transactions(unknown.slice(from, from + READ_AT_ONCE), turns)) {
        if (record === undefined) continue;
        const source = sourceFrom(record.transaction, record);
        found.set(record.hash, source);
        this.keep(record.hash, source);
      }
    }
    return found;
  }

  /** Looks for places alone; returns the hashes that have none of their own. */
  async #findPlaces(hashes: readonly string[], found: Map<string, SourceTransaction>): Promise<string[]> {
    const unknown: string[] = [];
    for (let from = 0; from < hashes.length; from += PIECE_HASHES) {
      await this.#slices.turn();
      const some = hashes.slice(from, from + PIECE_HASHES);
      const places = await this.#archive.placesOf(some);
      for (const [i, hash] of some.entries()) {
        const place = places[i];
        if (place === undefined) unknown.push(hash);
        else found.set(hash, { height: place.height, txNum: place.txNum, outputs: undefined });
      }
    }
    return unknown;
  }
}

/** What is kept of a transaction. */
export function sourceFrom({ outputs, fees, feesReplace }: Creating, { height, txNum }: Place): SourceTransaction {
  return { height, txNum, outputs: { outputs, fees, ...(feesReplace && { feesReplace }) } };
}

/** The outputs that a block spends: by the transactions that have them, or by their own names. */
export interface SpentOutputs {
  readonly transactions: ReadonlyMap<string, SourceTransaction>;
  readonly outputs: ReadonlyMap<string, TxOut> | undefined;
}

/** The output that an input spends; throws `data_corrupt` when there is none. */
export function sourceOf({ transactions, outputs }: SpentOutputs, outPoint: OutPoint): Source {
  const { tHash, n } = outPoint;
  const found = transactions.get(tHash);
  const txOut = found?.outputs === undefined ? outputs?.get(outPointKey(outPoint)) : createdOutput(found.outputs, n);
  if (found === undefined || txOut === undefined) throw damaged(`output ${n} of ${tHash}, which is spent, is missing`);
  return { height: found.height, txNum: found.txNum, txOut };
}
