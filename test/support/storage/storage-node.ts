/** A storage node on a fake network, with its archive in memory. */

import { endlessRoom, type Room } from '../../../src/db/disk-room.js';
import type { ChainRules } from '../../../src/ledger/block/rules.js';
import type { ScriptVerifier } from '../../../src/ledger/block/spending.js';
import { Verifier } from '../../../src/ledger/verifier/verifier.js';
import { type Logger, silentLogger } from '../../../src/lib/logger.js';
import type { Signal } from '../../../src/lib/signal.js';
import { type Metrics, noMetrics } from '../../../src/observability/metrics.js';
import { Archive } from '../../../src/storage/archive/archive.js';
import type { Segments } from '../../../src/storage/segments/segments.js';
import { RunningStorageService } from '../../../src/storage/storage-service.js';
import { withWrite } from '../kv.js';
import { ManualClock } from '../manual-clock.js';
import { MemoryKv } from '../memory-kv.js';
import { createFakeNode } from './fake-network.js';
import { RULES, type TestChain } from './test-chain.js';

export const CATCH_UP = { requestTimeoutMs: 1_000, retryMs: 500, blocksPerRequest: 4 };

export async function createStorageNode(
  name: string,
  clock: ManualClock = new ManualClock(),
  rules: ChainRules = RULES,
  logger: Logger = silentLogger,
  metrics: Metrics = noMetrics,
  scripts: ScriptVerifier = new Verifier({ threads: 0 }),
  room: Room = endlessRoom,
  segments?: Segments,
) {
  const node = createFakeNode(name, 'storage');
  const hooks = { beforeWrite: async (): Promise<void> => undefined };
  const memory = new MemoryKv();
  const kv = withWrite(memory, async (batch, options) => {
    await hooks.beforeWrite();
    await memory.write(batch, options);
  });
  const archive = await Archive.open({ rules }, { kv, metrics, scripts, ...(segments && { segments }) });
  const service = new RunningStorageService(
    { catchUp: CATCH_UP, producers: rules.producers },
    { archive, network: node.network, clock, logger, metrics, room },
  );
  return {
    ...node,
    node,
    kv,
    hooks,
    clock,
    archive,
    service,
    async fill(chain: TestChain, to: number) {
      chain.grow(to);
      for (const block of chain.blocks.slice(archive.nextHeight, to)) await archive.store(block);
    },
    /** Resolves when the archive holds `count` blocks. */
    async until(count: number): Promise<void> {
      while (archive.nextHeight < count) await next(archive.blockStored);
    },
  };
}

export type StorageNode = Awaited<ReturnType<typeof createStorageNode>>;

/** The next value of a signal. */
function next<T>(signal: Signal<T>): Promise<T> {
  return new Promise((resolve) => {
    const off = signal.on((value) => {
      off();
      resolve(value);
    });
  });
}

/** Lets all microtasks and immediate work settle. */
export async function settle(turns = 20): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
}
