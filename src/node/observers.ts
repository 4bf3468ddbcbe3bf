/** Where the metrics meet what they measure: the observers that services take, over the catalogue. No service knows a metric. */

import type { KvObserver } from '../db/observed-kv.js';
import type { Clock } from '../lib/clock.js';
import { type HistogramHandle, type Metrics, startTimer } from '../observability/metrics.js';
import type { ArchiveObserver } from '../storage/archive/archive.js';

export interface ObserverModules {
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** A timer that is begun again and again. */
function stopwatch({ clock }: ObserverModules, histogram: HistogramHandle): () => () => void {
  return () => startTimer(histogram, clock);
}

export function kvObserver(modules: ObserverModules): KvObserver {
  const start = (sync: 'true' | 'false') =>
    stopwatch(modules, modules.metrics.histogram('tessera_db_write_duration_seconds', sync));
  const synced = start('true');
  const unsynced = start('false');
  return { writing: (sync) => (sync ? synced() : unsynced()) };
}

export function archiveObserver(modules: ObserverModules): ArchiveObserver {
  const { metrics } = modules;
  const reads = {
    cache: metrics.counter('tessera_storage_reads_total', 'cache'),
    disk: metrics.counter('tessera_storage_reads_total', 'disk'),
    missing: metrics.counter('tessera_storage_reads_total', 'missing'),
  };
  return {
    storing: stopwatch(modules, metrics.histogram('tessera_storage_block_write_duration_seconds')),
    read: (source) => reads[source].inc(),
  };
}
