/** The metrics of one node: a registry over the catalogue, with cached handles, as making one for each event is slow. */

import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Clock } from '../lib/clock.js';
import type { NodeRole } from '../lib/roles.js';
import { METRICS as CATALOGUE, type LabelValues, type MetricName, rolesOf } from './catalogue.js';

export interface CounterHandle {
  inc(by?: number): void;
}

export interface GaugeHandle {
  set(value: number): void;
  inc(by?: number): void;
  dec(by?: number): void;
}

export interface HistogramHandle {
  /** Observes a value in seconds, or in the unit of the metric. */
  observe(value: number): void;
}

/** Metrics as services see them. The same arguments give the same handle; a caller in a hot path keeps it. */
export interface Metrics {
  counter<N extends MetricName<'counter'>>(name: N, ...labels: LabelValues<N>): CounterHandle;
  gauge<N extends MetricName<'gauge'>>(name: N, ...labels: LabelValues<N>): GaugeHandle;
  histogram<N extends MetricName<'histogram'>>(name: N, ...labels: LabelValues<N>): HistogramHandle;
  /** Calls `update` before each scrape, for values that are read rather than counted; the returned function removes it. */
  beforeScrape(update: () => void | Promise<void>): () => void;
}

/** Combinations of label values for one metric; further ones are counted together as `other`. */
const MAX_CHILDREN = 1_000;

type Handle = CounterHandle & GaugeHandle & HistogramHandle;

const ignore = (): void => undefined;
const noHandle: Handle = { inc: ignore, set: ignore, dec: ignore, observe: ignore };

export class MetricsRegistry implements Metrics {
  readonly #registry = new Registry();
  readonly #families = new Map<string, (labels: readonly string[]) => Partial<Handle>>();
  readonly #updates = new Set<() => void | Promise<void>>();

  /** Makes the metrics that nodes of the role serve; handles of other metrics count nothing. Without a role all are made. */
  constructor(role?: NodeRole) {
    for (const [name, definition] of Object.entries(CATALOGUE)) {
      if (role !== undefined && !rolesOf(name).includes(role)) continue;
      this.#families.set(name, cached(family(this.#registry, name, definition)));
    }
  }

  counter<N extends MetricName<'counter'>>(name: N, ...labels: LabelValues<N>): CounterHandle {
    return this.#handle(name, labels);
  }

  gauge<N extends MetricName<'gauge'>>(name: N, ...labels: LabelValues<N>): GaugeHandle {
    return this.#handle(name, labels);
  }

  histogram<N extends MetricName<'histogram'>>(name: N, ...labels: LabelValues<N>): HistogramHandle {
    return this.#handle(name, labels);
  }

  beforeScrape(update: () => void | Promise<void>): () => void {
    this.#updates.add(update);
    return () => this.#updates.delete(update);
  }

  async render(): Promise<{ readonly contentType: string; readonly body: string }> {
    await Promise.all([...this.#updates].map((update) => update()));
    return { contentType: this.#registry.contentType, body: await this.#registry.metrics() };
  }

  #handle(name: string, labels: readonly string[]): Handle {
    return (this.#families.get(name)?.(labels) ?? noHandle) as Handle;
  }
}

function family(
  registry: Registry,
  name: string,
  definition: (typeof CATALOGUE)[keyof typeof CATALOGUE],
): (labels: readonly string[]) => Partial<Handle> {
  const { kind, help, labels } = definition;
  const common = { name, help, labelNames: [...labels], registers: [registry] };
  const byName = (values: readonly string[]) =>
    Object.fromEntries(labels.map((label, index) => [label, values[index] ?? '']));
  switch (kind) {
    case 'counter': {
      const metric = new Counter(common);
      return (values) => metric.labels(byName(values));
    }
    case 'gauge': {
      const metric = new Gauge(common);
      return (values) => metric.labels(byName(values));
    }
    case 'histogram': {
      const metric = new Histogram({ ...common, buckets: [...definition.buckets] });
      return (values) => metric.labels(byName(values));
    }
  }
}

function cached<H>(make: (labels: readonly string[]) => H): (labels: readonly string[]) => H {
  const children = new Map<string, H>();
  return (labels) => {
    const id = labels.join('\0');
    const known = children.get(id);
    if (known !== undefined) return known;
    const child = make(children.size < MAX_CHILDREN ? labels : labels.map(() => 'other'));
    if (children.size < MAX_CHILDREN) children.set(id, child);
    return child;
  };
}

/** Metrics that count nothing: for tests, and for a node whose metrics are switched off. */
export const noMetrics: Metrics = {
  counter: () => noHandle,
  gauge: () => noHandle,
  histogram: () => noHandle,
  beforeScrape: () => ignore,
};

const MS_PER_SECOND = 1_000;

/** Begins to measure; the returned function ends the measurement and observes the seconds in between. */
export function startTimer(histogram: HistogramHandle, clock: Clock): () => void {
  const begun = clock.monotonic();
  return () => histogram.observe((clock.monotonic() - begun) / MS_PER_SECOND);
}

/** Makes a counter follow a total that is kept elsewhere: call the returned function with the total before each scrape. */
export function followTotal(counter: CounterHandle): (total: number) => void {
  let last = 0;
  return (total) => {
    counter.inc(total - last);
    last = total;
  };
}

/** Milliseconds between two looks at the event loop while it works, and while it rests: each look wakes the process. */
const LOOK_MS = 10;
const REST_LOOK_MS = 200;
/** Part of the time in which the event loop of a node at rest works at most. */
const AT_REST = 0.02;
const QUANTILES = { '0.5': 50, '0.99': 99, '1': 100 };
const NANOSECONDS = 1e9;
const MICROSECONDS = 1e6;

/** Feeds the process metrics at each scrape until the returned function is called. */
export function watchProcess(metrics: Metrics): () => void {
  let lookMs = REST_LOOK_MS;
  let delay = watchedDelay(lookMs);
  let lastUtilization = performance.eventLoopUtilization();
  const userSeconds = followTotal(metrics.counter('tessera_process_cpu_seconds_total', 'user'));
  const systemSeconds = followTotal(metrics.counter('tessera_process_cpu_seconds_total', 'system'));
  metrics.gauge('tessera_process_start_time_seconds').set(performance.timeOrigin / 1_000);

  const remove = metrics.beforeScrape(() => {
    const memory = process.memoryUsage();
    for (const kind of ['rss', 'heapUsed', 'heapTotal', 'external'] as const) {
      metrics.gauge('tessera_process_memory_bytes', kind).set(memory[kind]);
    }
    const { user, system } = process.cpuUsage();
    userSeconds(user / MICROSECONDS);
    systemSeconds(system / MICROSECONDS);
    for (const [quantile, percent] of Object.entries(QUANTILES)) {
      // The histogram's delays include the time between two looks, which is taken off.
      const late = Math.max(0, delay.percentile(percent) / NANOSECONDS - lookMs / MS_PER_SECOND);
      metrics.gauge('tessera_event_loop_delay_seconds', quantile).set(late);
    }
    const { utilization } = performance.eventLoopUtilization(lastUtilization);
    lastUtilization = performance.eventLoopUtilization();
    metrics.gauge('tessera_event_loop_utilization').set(utilization);
    delay.disable();
    lookMs = utilization > AT_REST ? LOOK_MS : REST_LOOK_MS;
    delay = watchedDelay(lookMs);
  });

  return () => {
    remove();
    delay.disable();
  };
}

function watchedDelay(resolution: number): IntervalHistogram {
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  return delay;
}
