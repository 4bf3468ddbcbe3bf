/** Builds the state of a mempool node from the blocks of an archive. */

import { join } from 'node:path';
import type { Genesis } from '../../chain/genesis.js';
import type { Config } from '../../config/schema.js';
import type { DataDir } from '../../db/data-dir.js';
import type { Kv } from '../../db/kv.js';
import { LocalJournal } from '../../journal/local-journal.js';
import { HASH_KEY_BYTES } from '../../ledger/utxo/keyed-hash.js';
import { Verifier } from '../../ledger/verifier/verifier.js';
import { systemClock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { silentLogger } from '../../lib/logger.js';
import { systemRandom } from '../../lib/random.js';
import { AdoptionCheck } from '../../mempool/blocks/adoption-check.js';
import { encodePlace } from '../../mempool/replicas/ahead-of-journal.js';
import { Applier } from '../../mempool/state/applier.js';
import { keys } from '../../mempool/state/layout.js';
import { loadMempoolState } from '../../mempool/state/load.js';
import { StateStore } from '../../mempool/state/state-store.js';
import { noMetrics } from '../../observability/metrics.js';
import { etcdJournal } from '../roles/mempool/etcd-journal.js';
import { stateRules, unicornSource } from '../roles/mempool/options.js';
import { ArchiveSource } from './archive-source.js';
import { OldTransactions } from './old-transactions.js';

export interface RebuildOptions {
  readonly config: Config;
  readonly genesis: Genesis;
  /** Data folder of a stopped storage node; without it, the node fetches the blocks when it starts. */
  readonly archive: string | undefined;
  readonly signal: AbortSignal;
  /** Called with the blocks done and the blocks in the archive. */
  readonly onProgress: (done: number, total: number) => void;
}

/** Folder of the databases, in the data folder of a node and in the folder where a new state is built. */
export const DATABASE_FOLDER = 'db';

/** Builds the state in a folder of its own: from blocks of the archive, and transactions that the old databases still hold. */
export async function buildState(
  building: DataDir,
  options: RebuildOptions,
): Promise<{ readonly height: number; readonly carried: number; readonly problems: string[] }> {
  const kv = await building.open('mempool');
  const journalKv = await building.open('journal');
  const journal = await LocalJournal.open({}, { kv: journalKv, clock: systemClock, metrics: noMetrics });
  try {
    const height = await adoptAll(kv, journal, options);
    const old = new OldTransactions(join(options.config.node.dataDir, DATABASE_FOLDER), kv);
    const carried = await old.carryOver();
    // A journal cannot go on from a state without blocks; the node gets one at its start.
    if (options.config.journal.kind === 'etcd' && options.archive !== undefined) await joinEtcd(kv, options);
    return { height, carried, problems: old.problems };
  } finally {
    await journal.close();
  }
}

/** Takes in the blocks that the new state lacks; returns the number of the last one. */
async function adoptAll(kv: Kv, journal: LocalJournal, options: RebuildOptions): Promise<number> {
  const { config, genesis, signal, onProgress } = options;
  const state = await loadMempoolState(kv, stateRules(genesis, config), {
    hashKey: systemRandom.bytes(HASH_KEY_BYTES),
  });
  const store = new StateStore(kv, systemClock);
  const modules = { journal, store, state, clock: systemClock, metrics: noMetrics, unicorn: unicornSource(config) };
  const applier = new Applier(modules);
  await applier.start();
  const verifier = new Verifier({ threads: config.mempool.verifyThreads });
  const source = options.archive === undefined ? undefined : await ArchiveSource.open(options.archive, options);
  try {
    const rules = { genesis, activationHeight: config.mining.asertActivationHeight };
    const check = new AdoptionCheck(rules, { state, store, verifier, clock: systemClock });
    const target = source?.archive.nextHeight ?? 0;
    while (source !== undefined && state.head.height + 1 < target) {
      if (signal.aborted) throw new TesseraError('aborted', 'interrupted; the same command continues from here');
      const block = await source.block(state.head.height + 1);
      await check.check(block);
      await applier.submit<'block-adopted'>({ kind: 'block-adopted', block: block.bytes, facts: block.facts });
      onProgress(state.head.height + 1, target);
    }
    return state.head.height;
  } finally {
    await applier.stop();
    await verifier.close();
    await source?.close();
  }
}

/** Places the state at the beginning of the journal in etcd. A transaction that is in its blocks changes nothing when it comes again. */
async function joinEtcd(kv: Kv, { config, genesis, signal }: RebuildOptions): Promise<void> {
  const journal = etcdJournal(config, 'rebuild', {
    clock: systemClock,
    metrics: noMetrics,
    logger: silentLogger,
  });
  const giveUp = (): void => {
    journal.close().catch(() => undefined);
  };
  signal.addEventListener('abort', giveUp);
  try {
    const base = await journal.base();
    const hashKey = systemRandom.bytes(HASH_KEY_BYTES);
    const state = await loadMempoolState(kv, stateRules(genesis, config), { hashKey });
    const batch = kv.batch().put(keys.ahead, encodePlace({ until: state.head.height, at: -1 }));
    state.seal(base - 1, batch);
    await kv.write(batch, { sync: true });
  } finally {
    signal.removeEventListener('abort', giveUp);
    await journal.close();
  }
}
