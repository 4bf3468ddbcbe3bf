/** The folder of a node: its databases, its key, and the room on its disk. */

import { join } from 'node:path';
import type { Config } from '../config/schema.js';
import type { KeyPair } from '../crypto/ed25519.js';
import { DataDir } from '../db/data-dir.js';
import { DiskRoom } from '../db/disk-room.js';
import type { ClosingStack } from '../lib/service.js';
import type { NodeLogger } from '../observability/logger.js';
import { type Metrics, noMetrics } from '../observability/metrics.js';
import type { HasClock, HasRandom } from '../observability/modules.js';
import { loadOrCreateNodeKey, NODE_KEY_FILE } from '../peers/node-key.js';

export interface NodeFolder {
  readonly dataDir: DataDir;
  /** The node's own key, by which its peers know it. */
  readonly nodeKey: KeyPair;
  readonly room: DiskRoom;
}

export interface NodeFolderModules extends HasClock, HasRandom {
  readonly logger: NodeLogger;
  readonly metrics: Metrics | undefined;
  readonly opened: ClosingStack;
}

/** Opens the folder. Throws like `DataDir.open`. */
export async function openNodeFolder({ node, network }: Config, modules: NodeFolderModules): Promise<NodeFolder> {
  const { logger, clock, random, metrics, opened } = modules;
  const measures = metrics && {
    synced: metrics.histogram('tessera_db_write_duration_seconds', 'true'),
    unsynced: metrics.histogram('tessera_db_write_duration_seconds', 'false'),
    clock,
  };
  const dataDir = await DataDir.open(node.dataDir, { role: node.role, networkName: network.name, measures });
  opened.add(() => dataDir.close());
  const { path } = dataDir;
  const nodeKey = await loadOrCreateNodeKey(join(path, NODE_KEY_FILE), random);
  const { minFreeBytes } = node;
  const room = new DiskRoom({ path, minFreeBytes }, { clock, logger: logger.child('disk'), databases: dataDir });
  opened.add(() => room.stop());
  opened.add(measureDisk(metrics ?? noMetrics, minFreeBytes, { dataDir, room }));
  await room.start();
  return { dataDir, nodeKey, room };
}

function measureDisk(metrics: Metrics, minFreeBytes: number, { dataDir, room }: Omit<NodeFolder, 'nodeKey'>) {
  metrics.gauge('tessera_disk_min_free_bytes').set(minFreeBytes);
  return metrics.beforeScrape(() => {
    if (Number.isFinite(room.freeBytes)) metrics.gauge('tessera_disk_free_bytes').set(room.freeBytes);
    metrics.gauge('tessera_db_unwritable').set(dataDir.problems.length);
  });
}
