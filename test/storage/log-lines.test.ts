/** What a storage node tells its operator of each block. */

import { expect, it } from 'vitest';
import { Verifier } from '../../src/ledger/verifier/verifier.js';
import { silentLogger } from '../../src/lib/logger.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { encodeFullBlock } from '../support/full-block.js';
import { ManualClock } from '../support/manual-clock.js';
import { connect, createFakeNode } from '../support/storage/fake-network.js';
import { createStorageNode, settle } from '../support/storage/storage-node.js';
import { createTestChain, RULES } from '../support/storage/test-chain.js';

function collector() {
  const lines: [fields: object, message: string][] = [];
  const info = (fields: object, message: string): void => void lines.push([fields, message]);
  return { lines, logger: { ...silentLogger, info } };
}

it('a block that is stored is a line with its height and the number of its transactions', async () => {
  const { lines, logger } = collector();
  const node = await createStorageNode('storage', new ManualClock(), RULES, logger);
  const chain = createTestChain().grow(2);
  await node.service.start();
  await node.fill(chain, 2);
  const stored = lines.filter(([, message]) => message.startsWith('block '));
  expect(stored).toEqual(
    [0, 1].map((height) => [
      { height, hash: chain.hash(height), transactions: chain.block(height).block.transactions.length },
      `block ${height} stored`,
    ]),
  );
  await node.service.stop();
});

it('blocks that are fetched while catching up are not: their progress is', async () => {
  const clock = new ManualClock();
  const { lines, logger } = collector();
  const node = await createStorageNode('storage', clock, RULES, logger);
  await node.service.start();
  const other = await createStorageNode('other', clock);
  await other.fill(createTestChain(), 6);
  connect(node.node, other.node, clock);
  await node.until(6);
  await settle();
  expect(lines.filter(([, message]) => message.startsWith('block '))).toEqual([]);
  expect(lines.map(([, message]) => message)).toContain('catching up with other storage nodes');
  await node.service.stop();
});

it('nor is a mirror late that gets each new block from another storage node: the block is its line', async () => {
  const clock = new ManualClock();
  const { lines, logger } = collector();
  const mirror = await createStorageNode('mirror', clock, RULES, logger);
  const chain = createTestChain();
  const other = await createStorageNode('other', clock);
  await other.fill(chain, 6);
  const late: object[] = [];
  mirror.service.catchUpProgress.on(() => late.push({ ...mirror.service.catchingUp }));
  await mirror.service.start();
  await other.service.start();
  connect(mirror.node, other.node, clock);
  await mirror.until(6);
  await settle();
  expect(late[0]).toEqual({ height: 1, target: 6 });
  late.length = lines.length = 0;
  await other.fill(chain, 7);
  await mirror.until(7);
  await settle();
  expect(late).toEqual([{}]);
  expect(lines.map(([, message]) => message)).toEqual(['block 6 stored']);
  await mirror.service.stop();
  await other.service.stop();
});

it('a block that comes while the node stops is no error of the operator: it is delivered again', async () => {
  const clock = new ManualClock();
  const errors: string[] = [];
  const logger = { ...silentLogger, error: (_: object, message: string) => void errors.push(message) };
  const scripts = new Verifier({ threads: 0 });
  const node = await createStorageNode('storage', clock, RULES, logger, noMetrics, scripts);
  const chain = createTestChain().grow(2);
  await node.fill(chain, 1);
  await node.service.start();
  const mempool = createFakeNode('mempool', 'mempool');
  const { a: link } = connect(mempool, node.node, clock);
  await scripts.close();
  const attachment = encodeFullBlock(chain.block(1));
  const answer = await link.request('block.deliver', { block_num: 1, hash: chain.hash(1) }, { attachment });
  expect(answer).toMatchObject({ type: 'error', body: { code: 'shutting_down' } });
  expect(errors).toEqual([]);
  await node.service.stop();
});
