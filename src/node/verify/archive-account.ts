/** The archive of a storage node as a reference: its unspent outputs, and the blocks after a height. */

import { outPointKey, spentOutPoints } from '../../chain/transaction.js';
import type { OutPoint, TxOut } from '../../chain/types.js';
import { DataDir } from '../../db/data-dir.js';
import type { Kv } from '../../db/kv.js';
import { TesseraError } from '../../lib/errors.js';
import { UNSPENT_TIP_KEY } from '../../storage/archive/layout.js';
import { ArchiveReader } from '../../storage/archive/reader.js';
import { readLast } from '../../storage/archive/records.js';
import { unspentIn } from '../../storage/archive/unspent-outputs.js';
import { type ArchiveFiles, openArchiveFiles } from '../archive-files.js';

/** The most blocks that the archive may be ahead; their changes are kept in memory. */
const MAX_AHEAD = 10_000;

/** Outputs that the blocks after a height have created and spent. */
export interface Later {
  readonly madeBy: ReadonlySet<string>;
  /** Keys of outpoints. */
  readonly spent: ReadonlySet<string>;
}

export class ArchiveAccount {
  readonly height: number;
  readonly #kv: Kv;
  readonly #reader: ArchiveReader;
  readonly #directory: DataDir;

  private constructor(directory: DataDir, { kv, segments }: ArchiveFiles, height: number) {
    this.#directory = directory;
    this.#kv = kv;
    this.#reader = new ArchiveReader(kv, segments);
    this.height = height;
  }

  /** Opens the folder of a stopped storage node. Throws `data_dir_invalid`, `data_dir_locked`, `data_corrupt`. */
  static async open(path: string, networkName: string): Promise<ArchiveAccount> {
    const directory = await DataDir.open(path, { role: 'storage', networkName });
    try {
      const { kv, segments } = await openArchiveFiles(directory);
      const tip = await kv.get(UNSPENT_TIP_KEY);
      if (tip === undefined) {
        const message = `the archive in ${path} has no account of unspent outputs yet: start its node once, then stop it`;
        throw new TesseraError('data_dir_invalid', message);
      }
      return new ArchiveAccount(directory, { kv, segments }, readLast(tip).height);
    } catch (error) {
      await directory.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#directory.close();
  }

  /** Throws `data_corrupt` unless the block at `height` has the given hash, if it is known. */
  async holdHead(who: string, height: number, hash: string | null | undefined): Promise<void> {
    if (height > this.height) {
      throw new TesseraError(
        'data_lost',
        `${who} is at block ${height} and the archive at block ${this.height}: use a newer archive, or let the two nodes run until they agree`,
      );
    }
    if (height < 0 || hash === null || hash === undefined) return;
    const stored = await this.#reader.hashAt(height);
    if (stored === hash) return;
    throw disagreement(`${who} has another block ${height} than the archive: ${hash}, not ${stored}`);
  }

  readonly unspent = (): AsyncGenerator<readonly [OutPoint, TxOut]> => unspentIn(this.#kv);

  async after(height: number): Promise<Later> {
    if (this.height - height > MAX_AHEAD) {
      throw new TesseraError(
        'data_lost',
        `the archive is ${this.height - height} blocks ahead: let the other node catch up before it is compared`,
      );
    }
    const madeBy = new Set<string>();
    const spent = new Set<string>();
    for (let next = height + 1; next <= this.height; next++) {
      for (const { hash, transaction } of (await this.#reader.wholeBlock(next)).transactions) {
        madeBy.add(hash);
        for (const outPoint of next === 0 ? [] : spentOutPoints(transaction)) spent.add(outPointKey(outPoint));
      }
    }
    return { madeBy, spent };
  }
}

/** The error for two sources that differ about one chain. */
export function disagreement(message: string): TesseraError {
  return new TesseraError('data_corrupt', message);
}
