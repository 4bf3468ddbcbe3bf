/**
 * What is in a block stays confirmed. A part of a trade may come once more, in a command that is behind its block in the journal: another node
 * had it in hand and was held up. It is refused then, or waits for the others of its set until its time is over, and neither says
 * anything of the transaction that is in the block.
 */

import type { KvBatch } from '../../db/kv.js';
import type { FinalStatuses } from './final-statuses.js';
import { keys } from './layout.js';
import { decodeStatus } from './records.js';
import type { StateStore } from './state-store.js';

/** Statuses that are read at once. */
const CHUNK = 1_000;

/** Gives what the commands of a batch have refused the status back that it has by its block. */
export async function keepConfirmed(
  statuses: Pick<FinalStatuses, 'refused' | 'keep'>,
  store: Pick<StateStore, 'getMany'>,
  batch: KvBatch,
): Promise<void> {
  const { refused } = statuses;
  for (let from = 0; from < refused.length; from += CHUNK) {
    const hashes = refused.slice(from, from + CHUNK);
    const records = await store.getMany(hashes.map(keys.status));
    for (const [i, hash] of hashes.entries()) {
      const record = records[i];
      const status = record && decodeStatus(record);
      if (status?.status === 'Confirmed') statuses.keep(hash, status, batch);
    }
  }
}
