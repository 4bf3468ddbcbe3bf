/** Where the metrics meet what they measure: the observers that services take, over the catalogue. No service knows a metric. */

import type { RequestObserver } from '../api/http/request-log.js';
import type { KvObserver } from '../db/observed-kv.js';
import type { JournalObserver } from '../journal/local-journal.js';
import type { Clock } from '../lib/clock.js';
import type { MempoolObserver } from '../mempool/observer.js';
import { type HistogramHandle, type Metrics, startTimer } from '../observability/metrics.js';
import type { ArchiveObserver } from '../storage/archive/archive.js';

const MS_PER_SECOND = 1_000;

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

export function journalObserver(modules: ObserverModules): JournalObserver {
  const { metrics } = modules;
  const entries = metrics.histogram('tessera_journal_group_entries');
  return {
    appending: stopwatch(modules, metrics.histogram('tessera_journal_append_duration_seconds')),
    committed: (count) => entries.observe(count),
  };
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

export interface MeasuredMempool extends MempoolObserver {
  /** A storage node has the block. */
  blockConfirmed(height: number): void;
}

/** What the mempool does from submission to block; what it holds is read at each scrape instead. */
export function mempoolObserver(modules: ObserverModules): MeasuredMempool {
  const { metrics, clock } = modules;
  const admission = stopwatch(modules, metrics.histogram('tessera_mempool_admission_duration_seconds'));
  const admitted = metrics.counter('tessera_mempool_admissions_total', 'admitted');
  const known = metrics.counter('tessera_mempool_admissions_total', 'known');
  const template = metrics.histogram('tessera_mempool_template_duration_seconds');
  const templateSize = metrics.gauge('tessera_mempool_template_transactions');
  const proofWait = metrics.histogram('tessera_mempool_proof_wait_seconds');
  const accepted = metrics.counter('tessera_mempool_proofs_total', 'accepted');
  const refused = metrics.counter('tessera_mempool_proofs_total', 'refused');
  /** The block whose first proof is waited for. */
  let open: { readonly height: number; readonly at: number } | undefined;
  /** The block that no storage node has confirmed. */
  let closed: { readonly height: number; readonly at: number } | undefined;
  const confirm = metrics.histogram('tessera_mempool_block_confirm_seconds');
  const secondsSince = (at: number): number => (clock.monotonic() - at) / MS_PER_SECOND;
  return {
    submission() {
      const done = admission();
      return {
        admitted(fresh, already) {
          done();
          if (fresh > 0) admitted.inc(fresh);
          if (already > 0) known.inc(already);
        },
        refused(code) {
          done();
          metrics.counter('tessera_mempool_admissions_total', code).inc();
        },
      };
    },
    templateCut(transactions, seconds) {
      template.observe(seconds);
      templateSize.set(transactions);
    },
    templateSent(height) {
      open = { height, at: clock.monotonic() };
    },
    proofJudged(height, isAccepted) {
      (isAccepted ? accepted : refused).inc();
      if (!isAccepted || open?.height !== height) return;
      proofWait.observe(secondsSince(open.at));
      open = undefined;
    },
    blockClosed(height) {
      closed = { height, at: clock.monotonic() };
    },
    blockConfirmed(height) {
      if (closed?.height === height) confirm.observe(secondsSince(closed.at));
    },
    applyingBlock: stopwatch(modules, metrics.histogram('tessera_mempool_block_apply_duration_seconds')),
  };
}
