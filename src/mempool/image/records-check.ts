/** Reads the records of the outputs after a start from the image: damage must be found while that is there (rule P3). */

import { decodeTxOut } from '../../chain/codec.js';
import type { Kv } from '../../db/kv.js';
import type { UtxoTable } from '../../ledger/utxo/utxo-table.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import { pause } from '../../lib/pause.js';
import { type SetDigest, setDigestText } from '../../lib/set-digest.js';
import { outPointOfKey, ranges } from '../state/layout.js';
import type { StateStore } from '../state/state-store.js';

/** Records that are read in one go, in two milliseconds, and the pause after them. */
const PIECE = 500;
const PAUSE_MS = 15;

export interface RecordsCheckModules {
  readonly kv: Kv;
  readonly store: Pick<StateStore, 'problem' | 'refusals'>;
  readonly utxos: UtxoTable;
  readonly logger: Logger;
  /** Runs while no command is applied. */
  readonly betweenCommands: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Throws `data_corrupt` when the records are not those of the state. Ends early when the disk refuses a write. */
export async function checkRecords(modules: RecordsCheckModules, signal: AbortSignal): Promise<void> {
  const { kv, store, utxos, logger, betweenCommands } = modules;
  const { refusals } = store;
  const records = kv.entries(ranges.utxos)[Symbol.asyncIterator]();
  try {
    const { first, expected } = await betweenCommands(async () => {
      // The iterator reads a snapshot, taken at its first record.
      return { first: await records.next(), expected: utxos.digest };
    });
    if (store.problem !== null) return;
    const sum = new Digests(utxos);
    for (let record = first; !record.done; record = await records.next()) {
      const [key, value] = record.value;
      if (sum.add(key, value) % PIECE !== 0) continue;
      await pause(PAUSE_MS, signal);
      if (store.refusals !== refusals) return;
    }
    if (store.refusals !== refusals) return;
    if (setDigestText(sum.digest) !== setDigestText(expected)) throw damaged('they are not the outputs of the state');
    logger.info({ outputs: expected.count }, 'the records of the unspent outputs are those of the state');
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof RangeError ? damaged(errorMessage(error)) : error;
  } finally {
    await records.return?.();
  }
}

class Digests {
  readonly #utxos: UtxoTable;
  #piece: UtxoTable;
  #sum: SetDigest = { count: 0, low: 0, high: 0 };

  constructor(utxos: UtxoTable) {
    this.#utxos = utxos;
    this.#piece = utxos.another();
  }

  get digest(): SetDigest {
    const { count, low, high } = this.#sum;
    const { digest } = this.#piece;
    return { count: count + digest.count, low: (low + digest.low) >>> 0, high: (high + digest.high) >>> 0 };
  }

  add(key: Uint8Array, value: Uint8Array): number {
    this.#piece.insert(outPointOfKey(key), decodeTxOut(value));
    if (this.#piece.size === PIECE) {
      this.#sum = this.digest;
      this.#piece = this.#utxos.another();
    }
    return this.#sum.count + this.#piece.size;
  }
}

function damaged(why: string): TesseraError {
  return new TesseraError(
    'data_corrupt',
    `the mempool's database is damaged: the records of the unspent outputs cannot be trusted: ${why}; run tessera rebuild, or restore the data directory from a backup`,
  );
}
