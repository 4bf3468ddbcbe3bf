/** The metrics that are read rather than counted: before each scrape, services are asked for their figures. */

import { folderSize } from '../db/folder-size.js';
import type { Journal } from '../journal/journal.js';
import type { Clock } from '../lib/clock.js';
import { NODE_ROLES, type NodeRole } from '../lib/roles.js';
import type { Mempool } from '../mempool/mempool.js';
import type { Miner } from '../miner/miner.js';
import type { LineLevel, NodeLogger } from '../observability/logger.js';
import { followTotal, type Metrics } from '../observability/metrics.js';
import { watchProcess } from '../observability/process-metrics.js';
import type { PeerNetwork } from '../peers/network.js';
import type { RunningStorageService } from '../storage/storage-service.js';
import type { Wallet } from '../wallet/wallet.js';

/** Milliseconds that the size of the data directory is believed: looking at every file is work. */
const SIZE_FRESH_MS = 10_000;
const LEVELS: readonly LineLevel[] = ['debug', 'info', 'warn', 'error'];

export interface FeedModules {
  readonly node: {
    readonly version: string;
    readonly role: NodeRole;
    readonly name: string;
    readonly dataDir: string;
  };
  readonly network: PeerNetwork;
  readonly logger: NodeLogger;
  readonly clock: Clock;
  readonly readiness: () => readonly string[];
}

/** What every node has. The result ends the watching of the process. */
export function feedNode(metrics: Metrics, { node, network, logger, clock, readiness }: FeedModules): () => void {
  metrics.gauge('tessera_build_info', node.version, node.role, node.name).set(1);
  // A counter that nothing has happened to yet is 0, and there.
  metrics.counter('tessera_peers_violations_total').inc(0);
  metrics.counter('tessera_peers_dial_failures_total').inc(0);
  const logLines = LEVELS.map(
    (level) => [level, followTotal(metrics.counter('tessera_log_lines_total', level))] as const,
  );
  let sizedAt = Number.NEGATIVE_INFINITY;
  metrics.beforeScrape(async () => {
    metrics.gauge('tessera_node_ready').set(readiness().length === 0 ? 1 : 0);
    for (const [level, set] of logLines) set(logger.lines[level]);
    for (const role of NODE_ROLES) {
      const count = [...network.links].filter((link) => link.role === role).length;
      metrics.gauge('tessera_peers_links', role).set(count);
    }
    if (clock.monotonic() - sizedAt < SIZE_FRESH_MS) return;
    sizedAt = clock.monotonic();
    metrics.gauge('tessera_db_size_bytes').set(await folderSize(node.dataDir));
  });
  return watchProcess(metrics);
}

export function feedMempool(metrics: Metrics, mempool: Mempool, journal: Journal): void {
  const worker = followTotal(metrics.counter('tessera_mempool_signature_checks_total', 'worker'));
  const main = followTotal(metrics.counter('tessera_mempool_signature_checks_total', 'main'));
  metrics.beforeScrape(() => {
    metrics.gauge('tessera_journal_head').set(journal.head);
    const figures = figuresOf(mempool);
    if (figures === undefined) return;
    metrics.gauge('tessera_mempool_transactions').set(figures.waitingCount);
    metrics.gauge('tessera_mempool_bytes').set(figures.waitingBytes);
    metrics.gauge('tessera_mempool_druid_sets').set(figures.druidSets);
    metrics.gauge('tessera_mempool_unspent_outputs').set(figures.utxos);
    metrics.gauge('tessera_mempool_miners').set(figures.miners);
    metrics.gauge('tessera_block_height').set(figures.height);
    worker(figures.checks.worker);
    main(figures.checks.main);
  });
}

/** Undefined while the mempool is not up. */
function figuresOf(mempool: Mempool) {
  try {
    return mempool.figures();
  } catch {
    return undefined;
  }
}

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

export function feedWallet(metrics: Metrics, wallet: Wallet): void {
  const outcomes = {
    confirmed: metrics.counter('tessera_wallet_payments_total', 'confirmed'),
    rejected: metrics.counter('tessera_wallet_payments_total', 'rejected'),
  };
  outcomes.confirmed.inc(0);
  outcomes.rejected.inc(0);
  wallet.settled.on(({ state }) => {
    if (state === 'confirmed' || state === 'rejected') outcomes[state].inc();
  });
  metrics.beforeScrape(() => {
    metrics.gauge('tessera_wallet_queue').set(wallet.inFlight().length);
    metrics.gauge('tessera_block_height').set(wallet.blockNum);
  });
}
