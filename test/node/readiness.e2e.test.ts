/** What /readyz says on real nodes: why a node cannot do its work, and that it can. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { devConfig } from '../../src/config/dev-config.js';
import { IN_CODE } from '../../src/config/sources.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { Node } from '../../src/node/node.js';
import { NodeLogger } from '../../src/observability/logger.js';
import { until } from '../support/processes.js';

const logger = NodeLogger.create({ level: 'silent', format: 'json' });
const nodes: Node[] = [];
const folders: string[] = [];

afterEach(async () => {
  for (const node of nodes.splice(0).reverse()) await node.stop();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});

type Peers = { readonly mempool?: readonly string[]; readonly storage?: readonly string[] };

async function start(
  role: NodeRole,
  peers: Peers = {},
  options: Readonly<Record<string, unknown>> = {},
  folder?: string,
): Promise<Node> {
  const dataDir = folder ?? (await mkdtemp(join(tmpdir(), 'tessera-test-')));
  if (folder === undefined) folders.push(dataDir);
  const flags = Object.entries(options).map(([option, value]) => ({ option, value, flag: IN_CODE }));
  const node = await Node.create(devConfig(role, { dataDir, ports: 'any', peers, flags }), { logger });
  nodes.push(node);
  await node.start();
  return node;
}

async function readyz(node: Node): Promise<{ status: number; reasons: string[] }> {
  const response = await fetch(`${node.apiUrl}/readyz`);
  const { reasons } = (await response.json()) as { reasons: string[] };
  return { status: response.status, reasons };
}

const isReady = (node: Node): Promise<true> =>
  until('a node that is ready', async () => ((await readyz(node)).status === 200 ? true : undefined));

const saysOnly = (node: Node, reason: RegExp): Promise<true> =>
  until(`only ${reason}`, async () => {
    const { status, reasons } = await readyz(node);
    return status === 503 && reasons.length === 1 && reason.test(reasons[0] ?? '') ? true : undefined;
  });

describe('/readyz', () => {
  it('of a mempool node names what is missing until a miner and a storage node are linked, and again when one goes', async () => {
    const storage = await start('storage');
    expect(await readyz(storage)).toEqual({ status: 200, reasons: [] });
    const alone = await start('mempool');
    expect(await readyz(alone)).toEqual({
      status: 503,
      reasons: [expect.stringMatching(/^no miner has joined/), expect.stringMatching(/^no storage node/)],
    });
    const mempool = await start('mempool', { storage: [storage.peerAddress] });
    await saysOnly(mempool, /^no miner has joined/);
    const miner = await start('miner', { mempool: [mempool.peerAddress] });
    await isReady(mempool);
    await isReady(miner);
    await miner.stop();
    await saysOnly(mempool, /^no miner has joined/);
    await storage.stop();
    await until('both reasons', async () => ((await readyz(mempool)).reasons.length === 2 ? true : undefined));
  });

  it('of a mempool node waits for block 0, whose outputs the first transactions spend', async () => {
    const storage = await start('storage');
    const peers = { storage: [storage.peerAddress] };
    const mempool = await start('mempool', peers, { 'mining.min_miners': 2, 'mining.partition_size': 2 });
    await start('miner', { mempool: [mempool.peerAddress] });
    await saysOnly(mempool, /^block 0 is not stored yet/);
    await start('miner', { mempool: [mempool.peerAddress] });
    await isReady(mempool);
    expect(storage.services.storage?.nextHeight).toBeGreaterThan(0);
  });

  it.each(['miner', 'user'] as const)('of a %s node asks for a mempool node', async (role) => {
    expect(await readyz(await start(role))).toEqual({ status: 503, reasons: ['no mempool node is linked'] });
  });

  it('of a user node says what is wrong with the mempool node that its wallet does not believe', async () => {
    const chain = async (): Promise<Node> => {
      const storage = await start('storage');
      const mempool = await start('mempool', { storage: [storage.peerAddress] });
      await start('miner', { mempool: [mempool.peerAddress] });
      await isReady(mempool);
      return mempool;
    };
    const mempool = await chain();
    const user = await start('user', { mempool: [mempool.peerAddress] });
    const folder = folders.at(-1);
    await isReady(user);
    await until('a block', async () => ((user.services.wallet?.chain.height ?? -1) >= 0 ? true : undefined));
    await user.stop();
    const startAt = ({ peerAddress }: Node): Promise<Node> => start('user', { mempool: [peerAddress] }, {}, folder);

    const behind = await startAt(await start('mempool'));
    await saysOnly(behind, /^the mempool node is behind block \d+ of this wallet: .*tessera rebuild/);
    await behind.stop();
    const elsewhere = await startAt(await chain());
    await until('both reasons', async () => {
      const [link, reason = ''] = (await readyz(elsewhere)).reasons;
      return link === 'no mempool node is linked' && /block 0 is/.test(reason) ? true : undefined;
    });
  });

  it('of a storage node that catches up says how far it is, and so do its metrics', async () => {
    const storage = await start('storage');
    const mempool = await start(
      'mempool',
      { storage: [storage.peerAddress] },
      { 'mining.instant': false, 'mining.block_interval_ms': 1 },
    );
    const miner = await start('miner', { mempool: [mempool.peerAddress] });
    const blocksOf = (node: Node): number => node.services.storage?.nextHeight ?? 0;
    for (let blocks = 10; blocks <= 100; blocks += 10)
      await until(`${blocks} blocks`, async () => (blocksOf(storage) >= blocks ? true : undefined));
    // Without a miner there are no more: a chain that grows all the time is never caught up with for long.
    await miner.stop();
    const late = await start('storage', { storage: [storage.peerAddress] }, { 'metrics.enabled': true });
    const seen = new Set<string>();
    const shares = new Set<number>();
    await until('the late node to have caught up', async () => {
      for (const reason of (await readyz(late)).reasons) seen.add(reason);
      const page = await (await fetch(`${late.metricsUrl}/metrics`)).text();
      shares.add(Number(/^tessera_progress_ratio\{task="catch_up"\} (\S+)$/m.exec(page)?.[1]));
      return blocksOf(late) >= 100 && (await readyz(late)).status === 200 ? true : undefined;
    });
    expect([...seen].some((reason) => /^catching up: \d+ %, \d+ of \d+ blocks$/.test(reason))).toBe(true);
    expect([...shares].every((share) => share >= 0 && share <= 1)).toBe(true);
    expect(shares.size).toBeGreaterThan(1);
  });
});
