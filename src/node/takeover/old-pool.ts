/**
 * The pool of an old mempool node, from the folders of its databases (its API lists none): transactions that are there one by one,
 * and those in its snapshots. Each is stored behind its own hash, by which it is recognized wherever it is.
 */

import { BincodeReader } from '../../chain/bincode.js';
import { readTransaction } from '../../chain/codec.js';
import { transactionHash } from '../../chain/hash.js';
import type { Transaction } from '../../chain/types.js';
import { rocksValues } from '../../db/level-files/rocks-values.js';
import { asBuffer } from '../../lib/bytes.js';

const HASH_LENGTH = 32;
/** Start of a hash in bincode: its length, and its first letter. */
const MARK = Buffer.from('200000000000000067', 'hex');
const LENGTH = 8;

/** Transactions in the order of their hashes, as the old node would have put them into its blocks. */
export function poolIn(folders: readonly string[]): ReadonlyMap<string, Transaction> {
  const found = new Map<string, Transaction>();
  const take = (hash: string, bytes: Uint8Array): void => {
    const transaction = found.has(hash) ? undefined : readOne(bytes);
    if (transaction !== undefined && transactionHash(transaction) === hash) found.set(hash, transaction);
  };
  for (const folder of folders) {
    for (const [key, { value }] of rocksValues(folder)) {
      if (value === undefined) continue;
      take(key, value);
      const bytes = asBuffer(value);
      for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + 1)) {
        const end = at + LENGTH + HASH_LENGTH;
        take(bytes.toString('latin1', at + LENGTH, end), bytes.subarray(end));
      }
    }
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function readOne(bytes: Uint8Array): Transaction | undefined {
  try {
    return readTransaction(new BincodeReader(bytes));
  } catch {
    return undefined;
  }
}
