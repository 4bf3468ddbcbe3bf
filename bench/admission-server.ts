/**
 * The node that the admission benchmark posts to: `DIR THREADS` is a whole network in this process whose mempool admits for
 * real, no block being cut meanwhile; with `ENDPOINT NAME` its journal is in that etcd, and its folder `DIR/NAME`. It does what
 * its parent says (`contest.ts`).
 */

import { compiled, obey } from './contest.js';

const { DevNetwork } = await compiled<typeof import('../src/node/dev-network.js')>('node/dev-network.js');
const { NodeLogger } = await compiled<typeof import('../src/observability/logger.js')>('observability/logger.js');

const [dir = '', threads = '1', endpoint, name = 'data'] = process.argv.slice(2);
const flags = Object.entries({
  'network.genesis_file': `${dir}/genesis.json`,
  'mining.instant': false,
  'mining.block_interval_ms': 86_400_000,
  'mempool.verify_threads': Number(threads),
  'wallet.enabled': true,
  'log.level': 'error',
  ...(endpoint !== undefined && { 'journal.kind': 'etcd', 'journal.endpoints': [endpoint] }),
}).map(([option, value]) => ({ option, value, flag: 'bench' }));
const network = new DevNetwork(
  { dataDir: `${dir}/${name}`, ports: 'any', flags },
  { logger: NodeLogger.create({ level: 'error', format: 'json' }) },
);
await network.start();
obey(network.urls.mempool, () => network.stop());
