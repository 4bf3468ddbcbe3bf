/**
 * The mempool node of the admission benchmark: `DIR THREADS OUTPUTS` admits for real, with journal and state on disk. It has
 * what a mempool node needs for that and no more, so that no block is cut and nobody is told. It does what its parent says
 * (`contest.ts`).
 */

import { benchState, benchUnicorn, CUT } from './bench-state.js';
import { compiled, obey } from './contest.js';
import { mempoolApi } from './mempool-api.js';

const { endlessRoom } = await compiled<typeof import('../src/db/disk-room.js')>('db/disk-room.js');
const { LevelKv } = await compiled<typeof import('../src/db/level-kv.js')>('db/level-kv.js');
const { LogKv } = await compiled<typeof import('../src/db/log-kv.js')>('db/log-kv.js');
const { LocalJournal } = await compiled<typeof import('../src/journal/local-journal.js')>('journal/local-journal.js');
const { Verifier } = await compiled<typeof import('../src/ledger/verifier/verifier.js')>('ledger/verifier/verifier.js');
const { systemClock: clock } = await compiled<typeof import('../src/lib/clock.js')>('lib/clock.js');
const { silentLogger: logger } = await compiled<typeof import('../src/lib/logger.js')>('lib/logger.js');
const { Admission } = await compiled<typeof import('../src/mempool/admission/admission.js')>(
  'mempool/admission/admission.js',
);
const { Applier } = await compiled<typeof import('../src/mempool/state/applier.js')>('mempool/state/applier.js');
const { StateStore } =
  await compiled<typeof import('../src/mempool/state/state-store.js')>('mempool/state/state-store.js');
const { Statuses } = await compiled<typeof import('../src/mempool/state/statuses.js')>('mempool/state/statuses.js');
const { MetricsRegistry } =
  await compiled<typeof import('../src/observability/metrics.js')>('observability/metrics.js');

const [dir = '', threads = '1', outputs = '0'] = process.argv.slice(2);
const metrics = new MetricsRegistry('mempool');

async function openAdmission() {
  const state = benchState(Number(outputs));
  const store = new StateStore(await LevelKv.open(`${dir}/state`, { createIfMissing: true }), clock);
  const modules = { state, store, clock, metrics, logger, room: endlessRoom };
  const kv = await LogKv.open(`${dir}/journal`, { createIfMissing: true });
  const journal = await LocalJournal.open({}, { ...modules, kv });
  const applier = new Applier({ ...modules, journal, unicorn: benchUnicorn });
  await applier.start();
  // The outputs of block 0 can be spent as soon as it is cut.
  await applier.submit<'cut-block'>(CUT);
  const verifier = new Verifier({ threads: Number(threads) });
  const pool = { maxTransactions: 1_000_000, maxBytes: 2 ** 31 };
  return new Admission(pool, {
    ...modules,
    applier,
    statuses: new Statuses({ lifetime: 86_400 }, modules),
    verifier,
    assertNotBehind: () => undefined,
    onRefused: () => undefined,
  });
}

const admission = await openAdmission();
const { url, close } = await mempoolApi(admission.submit.bind(admission), metrics);
obey(url, close);
