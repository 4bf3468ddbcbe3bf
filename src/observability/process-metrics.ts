/** Metrics of the process itself: memory, processor time, and how late the event loop is. */

import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Metrics } from './metrics.js';

const RESOLUTION_MS = 10;
const NANOSECONDS = 1e9;
const MICROSECONDS = 1e6;

/** Feeds the process metrics at each scrape until the returned function is called. */
export function watchProcess(metrics: Metrics): () => void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  let lastCpu = { user: 0, system: 0 };
  let lastUtilization = performance.eventLoopUtilization();
  metrics.gauge('tessera_process_start_time_seconds').set(performance.timeOrigin / 1_000);

  const remove = metrics.beforeScrape(() => {
    const memory = process.memoryUsage();
    for (const kind of ['rss', 'heapUsed', 'heapTotal', 'external'] as const) {
      metrics.gauge('tessera_process_memory_bytes', kind).set(memory[kind]);
    }
    const cpu = process.cpuUsage();
    for (const mode of ['user', 'system'] as const) {
      metrics.counter('tessera_process_cpu_seconds_total', mode).inc((cpu[mode] - lastCpu[mode]) / MICROSECONDS);
    }
    lastCpu = cpu;
    for (const [quantile, percent] of [
      ['0.5', 50],
      ['0.99', 99],
      ['1', 100],
    ] as const) {
      // The histogram counts the timer's own period too; what is beyond it is the delay.
      const late = Math.max(0, delay.percentile(percent) / NANOSECONDS - RESOLUTION_MS / 1_000);
      metrics.gauge('tessera_event_loop_delay_seconds', quantile).set(late);
    }
    delay.reset();
    const utilization = performance.eventLoopUtilization();
    metrics
      .gauge('tessera_event_loop_utilization')
      .set(performance.eventLoopUtilization(utilization, lastUtilization).utilization);
    lastUtilization = utilization;
  });

  return () => {
    remove();
    delay.disable();
  };
}
