/** The value of a metric in a registry. */

import type { MetricsRegistry } from '../../src/observability/metrics.js';

/** The value of the metric with this label value, or without labels; 0 when nothing was counted. */
export async function metricValue(metrics: MetricsRegistry, name: string, label?: string): Promise<number> {
  const { body } = await metrics.render();
  const lines = body.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  const line = lines.find((one) => label === undefined || one.includes(`"${label}"`));
  return Number(line?.split(' ').at(-1) ?? 0);
}
