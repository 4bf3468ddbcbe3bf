/** The metrics that are read rather than counted: before each scrape, services are asked for their figures. */

import type { Miner } from '../miner/miner.js';
import { followTotal, type Metrics } from '../observability/metrics.js';
import type { RunningStorageService } from '../storage/storage-service.js';

export function feedStorage(metrics: Metrics, storage: RunningStorageService): void {
  metrics.beforeScrape(() => {
    metrics.gauge('tessera_block_height').set(storage.nextHeight - 1);
    const { height, target } = storage.catchingUp ?? { height: 0, target: 0 };
    metrics.gauge('tessera_storage_blocks_behind').set(target - height);
  });
}

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
