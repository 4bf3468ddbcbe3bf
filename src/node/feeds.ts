/** The metrics that are read rather than counted: before each scrape, services are asked for their figures. */

import type { Miner } from '../miner/miner.js';
import { followTotal, type Metrics } from '../observability/metrics.js';

export function feedMiner(metrics: Metrics, miner: Miner): void {
  const hashes = followTotal(metrics.counter('tessera_miner_hashes_total'));
  const accepted = followTotal(metrics.counter('tessera_miner_proofs_total', 'accepted'));
  const refused = followTotal(metrics.counter('tessera_miner_proofs_total', 'refused'));
  metrics.beforeScrape(() => {
    const figures = miner.figures();
    hashes(figures.hashes);
    accepted(figures.accepted);
    refused(figures.refused);
  });
}
