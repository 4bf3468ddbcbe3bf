/** A miner that has no wallet keeps its links: it is told of each block as every miner is, and has nothing to do with it. */

import { expect, it, onTestFinished } from 'vitest';
import { parseGenesis } from '../../src/chain/genesis.js';
import { createConfig } from '../../src/config/load.js';
import { endlessRoom } from '../../src/db/disk-room.js';
import { silentLogger } from '../../src/lib/logger.js';
import type { RoleContext } from '../../src/node/roles/role.js';
import { DEFINITIONS } from '../../src/node/roles/roles.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { Progress } from '../../src/observability/progress.js';
import { settle } from '../support/manual-clock.js';
import { createBed, createSeededRandom, keyOf } from '../support/peers.js';

it('stays linked to its mempool node when a block is mined', async () => {
  const bed = createBed('memory');
  const network = bed.node('miner', { role: 'miner' });
  const context: Partial<RoleContext> = {
    config: createConfig('miner', { 'wallet.enabled': false, 'mining.enabled': false }),
    genesis: parseGenesis({ mempool_seed_utxo: {} }),
    network,
    nodeKey: keyOf('miner'),
    room: endlessRoom,
    clock: bed.clock,
    random: createSeededRandom('miner'),
    metrics: noMetrics,
    logger: () => silentLogger,
    progress: (_name, options) => new Progress(options, { clock: bed.clock }),
  };
  const role = await DEFINITIONS.miner.open(context as RoleContext);
  const mempool = await bed.start('mempool', { role: 'mempool' });
  await network.start();
  onTestFinished(async () => {
    await role.stop();
    await bed.stop();
  });
  await role.start();
  await network.dial(mempool.address, { timeoutMs: 5_000 });
  const hash = 'b'.repeat(64);
  mempool.broadcast(mempool.links, 'block.mined', { block_num: 0, hash }, new Uint8Array());
  await settle();
  expect([...network.links].map(({ role }) => role)).toEqual(['mempool']);
});
