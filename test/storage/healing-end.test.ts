/** Healing that ends while it is asked what the damaged archive has (docs/adr/0015-damaged-archives-heal.md). */

import { expect, it } from 'vitest';
import { createDeferred } from '../../src/lib/deferred.js';
import { TesseraError } from '../../src/lib/errors.js';
import { silentLogger } from '../../src/lib/logger.js';
import { SignalSource } from '../../src/lib/signal.js';
import { noMetrics } from '../../src/observability/metrics.js';
import type { Archive, StoredBlockName } from '../../src/storage/archive/archive.js';
import type { DamagedArchive } from '../../src/storage/heal/damaged-archive.js';
import { Healing } from '../../src/storage/heal/healing.js';
import { ManualClock } from '../support/manual-clock.js';

it('answers that nothing is there: it is no fault of the node that the rest is asked of', async () => {
  const read = createDeferred<undefined>();
  const archive = { nextHeight: 1, blockStored: new SignalSource<StoredBlockName>() };
  const damaged = {
    blocks: 1,
    isOpen: true,
    known: [],
    unknown: [],
    open: async () => undefined,
    block: () => read.promise,
    // As a database does with the reads that are under way.
    close: async () => read.reject(new TesseraError('shutting_down', 'the database is closed')),
  };
  const healing = new Healing({
    archive: archive as unknown as Archive,
    damaged: damaged as unknown as DamagedArchive,
    clock: new ManualClock(),
    logger: silentLogger,
    metrics: noMetrics,
    onProgress: () => undefined,
    onDone: async () => undefined,
  });
  const missing = healing.missingFrom(1, 32);
  await healing.take();
  expect(await missing).toBe(32);
});
