/** The API of a mempool node on a port of its own, with what the caller does with submitted transactions behind it. */

import { setFlagsFromString } from 'node:v8';
import type { MempoolService } from '../src/mempool/service.js';
import type { Metrics } from '../src/observability/metrics.js';
import { compiled } from './contest.js';

const { createApi } = await compiled<typeof import('../src/api/app.js')>('api/app.js');
const { createConfig } = await compiled<typeof import('../src/config/load.js')>('config/load.js');
const { systemClock: clock } = await compiled<typeof import('../src/lib/clock.js')>('lib/clock.js');
const { silentLogger: logger } = await compiled<typeof import('../src/lib/logger.js')>('lib/logger.js');
const { systemRandom: random } = await compiled<typeof import('../src/lib/random.js')>('lib/random.js');
const { MetricsRegistry } =
  await compiled<typeof import('../src/observability/metrics.js')>('observability/metrics.js');

// As the role of a mempool node does.
setFlagsFromString('--no-parallel-scavenge');

export async function mempoolApi(submit: MempoolService['submit'], metrics: Metrics = new MetricsRegistry('mempool')) {
  const mempool = { submit } as Partial<MempoolService> as MempoolService;
  const config = createConfig('mempool', { 'network.secret': 'a secret for the benchmark', 'api.port': 0 });
  const app = await createApi(
    { roles: ['mempool'], api: { ...config.api, auth: 'open' }, envelope: config.envelope },
    {
      ...{ logger, clock, random, metrics },
      requestLines: { write: () => undefined },
      readiness: () => [],
      node: { type: () => 'Mempool', peers: () => [], routesPow: {} },
      mempool,
    },
  );
  return { url: await app.listen({ host: '127.0.0.1', port: 0 }), close: () => app.close() };
}
