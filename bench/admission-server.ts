/**
 * The server that the admission benchmark posts to. `node DIR`: a whole network in this process whose mempool admits for
 * real, no block being cut meanwhile. `parse`: the same HTTP app over a mempool that admits everything unseen, which is the
 * limit of parsing. Prints its URL; ends on SIGTERM.
 */

import { systemClock } from '../src/lib/clock.js';
import { silentLogger } from '../src/lib/logger.js';
import { systemRandom } from '../src/lib/random.js';
import type { MempoolService } from '../src/mempool/service.js';
import { noMetrics } from '../src/observability/metrics.js';

// The compiled code, as it is run: tsx wraps every closure, which costs as much as a good part of the work.
const compiled = <T>(path: string): Promise<T> => import(new URL(`../dist/${path}`, import.meta.url).href);
const { createApi } = await compiled<typeof import('../src/api/app.js')>('api/app.js');
const { createConfig } = await compiled<typeof import('../src/config/load.js')>('config/load.js');
const { DevNetwork } = await compiled<typeof import('../src/node/dev-network.js')>('node/dev-network.js');
const { NodeLogger } = await compiled<typeof import('../src/observability/logger.js')>('observability/logger.js');

const [mode, dir = '', threads = '1'] = process.argv.slice(2);

async function startNode(): Promise<{ url: string; stop(): Promise<void> }> {
  const flags = Object.entries({
    'network.genesis_file': `${dir}/genesis.json`,
    'mining.instant': false,
    'mining.block_interval_ms': 86_400_000,
    'mempool.verify_threads': Number(threads),
    'wallet.enabled': true,
    'log.level': 'error',
  }).map(([option, value]) => ({ option, value, flag: 'bench' }));
  const network = new DevNetwork(
    { dataDir: `${dir}/data`, ports: 'any', flags },
    { logger: NodeLogger.create({ level: 'error', format: 'json' }) },
  );
  await network.start();
  return { url: network.urls.mempool, stop: () => network.stop() };
}

async function startParser(): Promise<{ url: string; stop(): Promise<void> }> {
  const config = createConfig('mempool', { 'network.secret': 'a secret for the benchmark', 'api.port': 0 });
  const mempool: MempoolService = {
    submit: async (transactions) => transactions.map((transaction) => ({ hash: 'g', transaction })),
    createItem: () => Promise.reject(new Error('not here')),
    balances: () => ({ tokens: 0n, items: new Map(), addresses: new Map() }),
    countOutputs: () => 0,
    supply: () => ({ total: 0n, issued: 0n }),
    statuses: async () => new Map(),
  };
  const app = await createApi(
    { roles: ['mempool'], api: { ...config.api, auth: 'open' }, envelope: config.envelope },
    {
      mempool,
      logger: silentLogger,
      clock: systemClock,
      random: systemRandom,
      metrics: noMetrics,
      readiness: () => [],
      node: { type: () => 'Mempool', peers: () => [], routesPow: {} },
    },
  );
  return { url: await app.listen({ host: '127.0.0.1', port: 0 }), stop: () => app.close() };
}

const server = await (mode === 'parse' ? startParser() : startNode());
console.log(server.url);
process.on('SIGTERM', () => {
  void server.stop().finally(() => process.exit(0));
});
