/** What `tessera verify` checks of a mempool node: the state against its digest, against the journal, and against an archive. */

import type { Kv } from '../../db/kv.js';
import { HASH_KEY_BYTES } from '../../ledger/utxo/keyed-hash.js';
import { systemRandom } from '../../lib/random.js';
import { loadMempoolState } from '../../mempool/state/load.js';
import type { MempoolState } from '../../mempool/state/state.js';
import { readGenesis } from '../genesis-file.js';
import { stateRules, unicornSource } from '../roles/mempool/options.js';
import type { RoleDefinition, VerifiedData } from '../roles/role.js';
import { replayJournal } from './replayed-state.js';
import { holdStateAgainst } from './state-against-archive.js';

export async function verifyMempool(data: VerifiedData): Promise<void> {
  const progress = data.progress('outputs', 'outputs');
  const { utxos, seq } = await loadState(data, (outputs) => progress.update(outputs));
  progress.end();
  data.note(`${utxos.size} unspent outputs and the pool match their digest, after command ${seq}`);
  const journal = data.databases.get('journal');
  if (journal !== undefined) data.note(await checkReplay(journal, data));
}

export const holdMempoolAgainst: NonNullable<RoleDefinition['holdAgainst']> = async (archive, data, show) =>
  holdStateAgainst(archive, await loadState(data), show, data.signal);

/** The state as the next start will have it, and the same from the journal alone. */
async function checkReplay(journal: Kv, data: VerifiedData): Promise<string> {
  const { config, signal } = data;
  const progress = data.progress('replaying', 'commands');
  const { head, first, isFromNothing } = await replayJournal({
    state: data.kv,
    journal,
    rules: stateRules(await readGenesis(config.network.genesisFile), config),
    unicorn: unicornSource(config),
    signal,
    onProgress: (done, total) => progress.update(done, total),
  }).finally(() => progress.end());
  if (isFromNothing) return `the journal alone gives the same state, after command ${head}`;
  return `the journal goes on to command ${head}; it begins at command ${first}, so it was not applied from the first on`;
}

async function loadState(data: VerifiedData, onProgress = (_: number): void => undefined): Promise<MempoolState> {
  const rules = stateRules(await readGenesis(data.config.network.genesisFile), data.config);
  const hashKey = systemRandom.bytes(HASH_KEY_BYTES);
  return loadMempoolState(data.kv, rules, { hashKey, onProgress });
}
