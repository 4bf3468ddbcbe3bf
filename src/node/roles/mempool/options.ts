/** Options of a mempool, from configuration and genesis. */

import { encodeTransaction } from '../../../chain/codec.js';
import { type Genesis, issuanceTransactions } from '../../../chain/genesis.js';
import { transactionHash } from '../../../chain/hash.js';
import type { Transaction } from '../../../chain/types.js';
import type { Config } from '../../../config/schema.js';
import { createUnicornSource } from '../../../mempool/blocks/unicorn-source.js';
import type { MempoolOptions } from '../../../mempool/options.js';
import type { IssuedTx } from '../../../mempool/state/round.js';
import type { StateRules } from '../../../mempool/state/state.js';
import { blockInterval } from '../../network-rules.js';
import type { RoleContext } from '../role.js';

const SECONDS_PER_HOUR = 3_600;

export function mempoolOptions({ config, genesis, producers }: RoleContext): MempoolOptions {
  const { mempool: pool, mining } = config;
  return {
    rules: stateRules(genesis, config),
    pool: {
      maxTransactions: pool.poolMaxTransactions,
      maxBytes: pool.poolMaxBytes,
      maxAncestors: pool.maxAncestors,
      maxAncestorBytes: pool.maxAncestorBytes,
      minOutputAmount: BigInt(config.network.minOutputAmount),
      impersonation: genesis.eras.some(({ impersonation }) => impersonation),
    },
    blocks: {
      instant: mining.instant,
      blockInterval: blockInterval(config, genesis),
      proofWindow: mining.proofWindowMs,
      minMiners: mining.minMiners,
      partitionSize: mining.partitionSize,
    },
    chain: {
      rules: { genesis, producers, activationHeight: mining.asertActivationHeight },
      storageNodes: config.peers.storage.length,
      maxClockSkew: mining.maxClockSkewMs,
    },
    statuses: { lifetime: pool.txStatusLifetimeHours * SECONDS_PER_HOUR },
    verifyThreads: pool.verifyThreads,
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
    block: genesis.blockRules,
    partitionSize: config.mining.partitionSize,
    asertActivationHeight: config.mining.asertActivationHeight,
    eras: genesis.eras,
    druidLifetime: config.mempool.druidLifetimeBlocks,
  };
}

function issued(hash: string, tx: Transaction): IssuedTx {
  return { hash, bytes: encodeTransaction(tx), amount: tx.outputs.reduce((sum, { value }) => sum + value.amount, 0n) };
}

/** The source of the network's unicorns. */
export function unicornSource({ mining: { unicorn } }: Config) {
  return createUnicornSource({ modulus: BigInt(unicorn.modulus), iterations: unicorn.iterations });
}
