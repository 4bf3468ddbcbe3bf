/** The journal in etcd, on a real etcd. */

import { afterAll, beforeAll, describe } from 'vitest';
import { EtcdJournal, type EtcdJournalOptions } from '../../src/journal/etcd/etcd-journal.js';
import { toHex } from '../../src/lib/bytes.js';
import { systemClock } from '../../src/lib/clock.js';
import { silentLogger } from '../../src/lib/logger.js';
import { systemRandom } from '../../src/lib/random.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { type Etcd, hasEtcd, startEtcd } from '../support/etcd.js';
import { journalContract } from './journal-contract.js';

let etcd: Etcd;
const name = (): string => toHex(systemRandom.bytes(8));

async function open(prefix: string, options: Partial<EtcdJournalOptions> = {}): Promise<EtcdJournal> {
  const journal = new EtcdJournal(
    {
      etcd: { endpoints: [etcd.endpoint], callTimeout: 2_000 },
      prefix,
      replica: 'one',
      process: name(),
      timeout: 60_000,
      ...options,
    },
    { clock: systemClock, metrics: noMetrics, logger: silentLogger },
  );
  await journal.start();
  return journal;
}

describe.runIf(hasEtcd)('on a real etcd', () => {
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.dispose());

  journalContract('etcd', async () => {
    const prefix = `${name()}/`;
    return { open: () => open(prefix), dispose: async () => undefined };
  });
});
