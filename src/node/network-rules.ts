/** The rules of the network that the nodes of a role follow, which the handshake compares. */

import { createHmac } from 'node:crypto';
import { isDefault } from '../chain/block-rules.js';
import { encodeTransaction } from '../chain/codec.js';
import * as chainConstants from '../chain/constants.js';
import { eraView } from '../chain/eras.js';
import type { Genesis } from '../chain/genesis.js';
import type { Config } from '../config/schema.js';
import { sha3Hex } from '../crypto/sha3.js';
import { toHex } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import { hasService, isOperator } from '../lib/roles.js';
import type { NetworkRules } from '../peers/link/frames.js';

/** Milliseconds between two rounds where neither the genesis file nor the configuration sets them. */
const DEFAULT_INTERVAL_MS = 30_000;
const HASH_DIGITS = 32;
const KEY_DIGITS = 16;

/** Rules of a mempool node that its state does not depend on. */
const NOT_OF_THE_STATE: ReadonlySet<string> = new Set([
  'mining.block_interval_ms',
  'mining.instant',
  'mining.min_miners',
  'mining.proof_window_ms',
  'network.producer_keys',
]);

/** Rules that the nodes of a link compare. Storage nodes also check difficulties; mempool nodes follow all rules. */
export function networkRules(config: Config, genesis: Genesis): NetworkRules {
  const { role } = config.node;
  const everybody = {
    'chain.constants': hashOf(constants()),
    'network.genesis_file': genesisFingerprint(genesis),
    'network.min_output_amount': String(config.network.minOutputAmount),
    ...producerRule(config),
  };
  if (!isOperator(role)) return everybody;
  const { mining } = config;
  const checked = { ...everybody, 'mining.asert_activation_height': String(mining.asertActivationHeight) };
  if (!hasService(role, 'mempool')) return checked;
  return {
    ...checked,
    'mempool.druid_lifetime_blocks': String(config.mempool.druidLifetimeBlocks),
    'mining.block_interval_ms': String(blockInterval(config, genesis)),
    'mining.instant': String(mining.instant),
    'mining.min_miners': String(mining.minMiners),
    'mining.partition_size': String(mining.partitionSize),
    'mining.proof_window_ms': String(mining.proofWindowMs),
    'mining.unicorn.iterations': String(mining.unicorn.iterations),
    'mining.unicorn.modulus': hashOf(mining.unicorn.modulus),
    'mining.unicorn.security': String(mining.unicorn.security),
  };
}

/** Rules that all writers to one journal share: those that the state depends on, and the operator's secret, hashed. */
export function journalRules(config: Config, genesis: Genesis): NetworkRules {
  const { name: network, secret = '' } = config.network;
  const rules = Object.entries(networkRules(config, genesis)).filter(([name]) => !NOT_OF_THE_STATE.has(name));
  // The hash has the secret as its key: it tells others nothing, and differs in each network.
  const mac = createHmac('sha3-256', secret).update(`tessera/journal/secret\0${network}`).digest('hex');
  return { ...Object.fromEntries(rules), 'network.secret': mac.slice(0, HASH_DIGITS) };
}

/** Milliseconds between two rounds, of genesis file or configuration. Throws `invalid_config` where they differ. */
export function blockInterval({ node, mining }: Config, { blockRules: { intervalMs, start } }: Genesis): number {
  const own = mining.blockIntervalMs;
  if (hasService(node.role, 'mempool') && mining.instant && (intervalMs !== null || start === 'interval')) {
    throw new TesseraError(
      'invalid_config',
      'mining.instant is true, but the genesis file says when blocks begin (block_rules): set it to false',
    );
  }
  if (intervalMs !== null && own !== undefined && own !== intervalMs) {
    throw new TesseraError(
      'invalid_config',
      `mining.block_interval_ms is ${own}, but the genesis file says ${intervalMs} (block_rules.interval_ms): leave the option out`,
    );
  }
  return intervalMs ?? own ?? DEFAULT_INTERVAL_MS;
}

/** The beginning of each producer key; no rule in a network that names no producers. */
function producerRule({ network: { producerKeys } }: Config): NetworkRules {
  if (producerKeys.length === 0) return {};
  return { 'network.producer_keys': producerKeys.map((key) => key.slice(0, KEY_DIGITS)).join(' ') };
}

/** The fingerprint of a genesis file, which nodes compare: 32 hex digits, equal for files that begin the same chain. */
export function genesisFingerprint(genesis: Genesis): string {
  const known = fingerprints.get(genesis) ?? hashOf(genesisFacts(genesis));
  fingerprints.set(genesis, known);
  return known;
}

/** Fingerprints computed before: a start asks more than once, and a genesis file may have very many outputs. */
const fingerprints = new WeakMap<Genesis, string>();

function constants(): string {
  const all = Object.entries(chainConstants).map(([name, value]) => `${name} ${value}`);
  return all.sort().join('\n');
}

/** The parts of a genesis file that belong to the chain; seeds of wallets do not, nor rules that every network has. */
function genesisFacts({ transactions, issuances, blockRules, eras }: Genesis): string {
  return JSON.stringify([
    [...transactions].map(([hash, transaction]) => [hash, toHex(encodeTransaction(transaction))]),
    issuances.map(({ address, amount, bNum }) => [address, String(amount), String(bNum)]),
    ...(isDefault(blockRules) ? [] : [blockRules]),
    ...(eras.length === 0 ? [] : [eras.map(eraView)]),
  ]);
}

function hashOf(text: string): string {
  return sha3Hex(text).slice(0, HASH_DIGITS);
}
