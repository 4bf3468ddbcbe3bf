/** The states of mempool nodes that have stopped, as their folders have them. */

import { loadConfig } from '../../src/config/load.js';
import { IN_CODE } from '../../src/config/sources.js';
import { DataDir } from '../../src/db/data-dir.js';
import { HASH_KEY_BYTES } from '../../src/ledger/utxo/keyed-hash.js';
import { systemRandom } from '../../src/lib/random.js';
import { loadMempoolState } from '../../src/mempool/state/load.js';
import { readGenesis } from '../../src/node/genesis-file.js';
import { stateRules } from '../../src/node/roles/mempool/options.js';

/** The last command that the state has taken in, and its digest, which covers the pool and the block being made too. */
export async function storedState(folder: string): Promise<string> {
  const flags = [{ option: 'node.data_dir', value: folder, flag: IN_CODE }];
  const config = loadConfig({ role: 'mempool', file: 'config/dev.toml', env: {}, flags }).config;
  const directory = await DataDir.open(folder, { role: 'mempool', networkName: config.network.name });
  try {
    const rules = stateRules(await readGenesis(config.network.genesisFile), config);
    const kv = await directory.open('mempool');
    const state = await loadMempoolState(kv, rules, { hashKey: systemRandom.bytes(HASH_KEY_BYTES) });
    return `after command ${state.seq}: ${state.digest()}`;
  } finally {
    await directory.close();
  }
}
