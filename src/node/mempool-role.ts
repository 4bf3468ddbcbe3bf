/** The role mempool: rules from configuration and genesis, journal and state in databases of their own. */

import { encodeTransaction } from '../chain/codec.js';
import { type Genesis, issuanceTransactions } from '../chain/genesis.js';
import { transactionHash } from '../chain/hash.js';
import type { Transaction } from '../chain/types.js';
import type { Config } from '../config/schema.js';
import { LocalJournal } from '../journal/local-journal.js';
import { createUnicornSource } from '../mempool/blocks/unicorn-source.js';
import { Mempool } from '../mempool/mempool.js';
import type { MempoolProgress } from '../mempool/progress.js';
import type { IssuedTx } from '../mempool/state/round.js';
import type { StateRules } from '../mempool/state/state.js';
import type { Role, RoleContext } from './role.js';

const SECONDS_PER_HOUR = 3_600;

export async function createMempoolRole(context: RoleContext): Promise<Role> {
  const { config, dataDir, network } = context;
  const { mempool: pool, mining } = config;
  const kv = await dataDir.open('mempool');
  const journal = await LocalJournal.open({}, { ...context, kv: await dataDir.open('journal') });
  const loading = context.progress('load', { task: 'reading the unspent outputs', unit: 'outputs' });
  const replaying = context.progress('replay', { task: 'applying the journal', unit: 'commands' });
  const progress: MempoolProgress = {
    loading: (outputs) => loading.update(outputs),
    replaying(done, total) {
      loading.end();
      replaying.update(done, total);
    },
  };
  const mempool = new Mempool(
    {
      rules: stateRules(context.genesis, config),
      pool: { maxTransactions: pool.poolMaxTransactions, maxBytes: pool.poolMaxBytes },
      blocks: {
        instant: mining.instant,
        blockInterval: mining.blockIntervalMs,
        proofWindow: mining.proofWindowMs,
        minMiners: mining.minMiners,
        partitionSize: mining.partitionSize,
      },
      statuses: { lifetime: pool.txStatusLifetimeHours * SECONDS_PER_HOUR },
      verifyThreads: pool.verifyThreads,
    },
    { ...context, kv, journal, logger: context.logger('mempool'), unicorn: unicornSource(config), progress },
  );
  let started = false;
  return {
    type: 'Mempool',
    services: { mempool },
    async load() {
      await mempool.start();
      loading.end();
      replaying.end();
      started = true;
    },
    async start() {},
    async stop() {
      await mempool.stop();
      await journal.close();
    },
    readiness() {
      if (!started) return [replaying.current ?? loading.current ?? 'the mempool reads its state'];
      const { miners, notStored } = mempool.figures();
      const hasStorage = [...network.links].some((link) => link.role === 'storage' && link.trusted);
      return [
        ...(miners === 0 ? ['no miner takes part: no block can be made'] : []),
        ...(hasStorage ? [] : ['no storage node with the same network.secret is linked: no block can be kept']),
        ...(hasStorage && notStored !== '' ? [notStored] : []),
      ];
    },
    failed: mempool.failed,
  };
}

/** The rules of the network as the state machine needs them. */
export function stateRules(genesis: Genesis, config: Config): StateRules {
  const heights = new Set(genesis.issuances.map(({ bNum }) => bNum));
  return {
    genesis: [...genesis.transactions].map(([hash, tx]) => issued(hash, tx)),
    issuances: new Map(
      [...heights].map((bNum) => [
        Number(bNum),
        issuanceTransactions(genesis, bNum).map((tx) => issued(transactionHash(tx), tx)),
      ]),
    ),
    partitionSize: config.mining.partitionSize,
    asertActivationHeight: config.mining.asertActivationHeight,
    druidLifetime: config.mempool.druidLifetimeBlocks,
  };
}

function issued(hash: string, tx: Transaction): IssuedTx {
  return { hash, bytes: encodeTransaction(tx), amount: tx.outputs.reduce((sum, { value }) => sum + value.amount, 0n) };
}

function unicornSource({ mining: { unicorn } }: Config) {
  return createUnicornSource({ modulus: BigInt(unicorn.modulus), iterations: unicorn.iterations });
}
