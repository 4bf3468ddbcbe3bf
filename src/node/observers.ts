/** Where the metrics meet what they measure: the observers that services take, over the catalogue. No service knows a metric. */

import type { RequestObserver } from '../api/http/request-log.js';
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

/** Operations and statuses are few: a handle for each is made once. */
export function requestObserver({ metrics }: ObserverModules): RequestObserver {
  const handles = new Map<string, HistogramHandle[]>();
  const inFlight = metrics.gauge('tessera_http_requests_in_flight');
  return {
    began: () => inFlight.inc(),
    ended: () => inFlight.dec(),
    answered(operation, status, seconds) {
      let known = handles.get(operation);
      if (known === undefined) {
        known = [];
        handles.set(operation, known);
      }
      known[status] ??= metrics.histogram('tessera_http_request_duration_seconds', operation, String(status));
      known[status].observe(seconds);
    },
  };
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
