/** Limits of a block, and the start of a round, from the genesis file (docs/chain.md#genesis). */

import { BLOCK_SIZE_IN_TX, MAX_BLOCK_SIGNATURE_OPERATIONS, MAX_BLOCK_TX_BYTES } from './constants.js';
import { at, fail, type Place, readObject, readU64 } from './json-fields.js';

/** Highest limit of a block's bytes: such a block, encoded or as JSON, still fits into a message. */
const MOST_BYTES = 48 * 1024 * 1024;
const MOST_TRANSACTIONS = 100_000;
const MOST_SIGNATURE_OPERATIONS = 1_000_000;
/** Longest interval: a day. */
const MOST_INTERVAL_MS = 86_400_000;
/** Signature operations for each transaction of a large block, on average. */
const OPERATIONS_PER_TRANSACTION = 2;

/** Values of `start`: a round begins at the interval alone, or also when a full block waits. */
const STARTS = ['full_or_interval', 'interval'] as const;

export interface BlockLimits {
  readonly transactions: number;
  readonly bytes: number;
  readonly signatureOperations: number;
}

export interface BlockRules extends BlockLimits {
  /** Longest time between the beginnings of two rounds, in milliseconds; null where each mempool node's configuration says. */
  readonly intervalMs: number | null;
  readonly start: (typeof STARTS)[number];
  /**
   * True for blocks in the order of original nodes: DRUID sets, then single transactions by hash, none of which spends
   * an output of another in the block; nonces have 4 bytes.
   */
  readonly originalOrder?: true;
}

/** Rules of the existing networks. */
export const DEFAULT_BLOCK_RULES: BlockRules = {
  transactions: BLOCK_SIZE_IN_TX,
  bytes: MAX_BLOCK_TX_BYTES,
  signatureOperations: MAX_BLOCK_SIGNATURE_OPERATIONS,
  intervalMs: null,
  start: 'full_or_interval',
};

/** Reads the member `block_rules` of a genesis file; each of its members is optional, and others are refused. */
export function readBlockRules(value: unknown, place: Place): BlockRules {
  if (value === undefined) return DEFAULT_BLOCK_RULES;
  const object = readObject(value, place);
  const { max_transactions, max_bytes, max_signature_operations, interval_ms, start, original_order, ...others } =
    object;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) fail(place, unknown, 'is no rule of blocks');
  const isOrdered = original_order === true;
  if (!isOrdered && (original_order ?? false) !== false) fail(place, 'original_order', 'must be true or false');
  const within = (one: unknown, key: string, least: number, most: number, otherwise: number): number => {
    if (one === undefined) return otherwise;
    const number = readU64(one, place, key);
    if (number >= BigInt(least) && number <= BigInt(most)) return Number(number);
    return fail(place, key, `must be an integer from ${least} to ${most}, not ${number}`);
  };
  const rules = DEFAULT_BLOCK_RULES;
  const transactions = within(max_transactions, 'max_transactions', 1, MOST_TRANSACTIONS, rules.transactions);
  const operations = Math.max(MAX_BLOCK_SIGNATURE_OPERATIONS, OPERATIONS_PER_TRANSACTION * transactions);
  return {
    transactions,
    bytes: within(max_bytes, 'max_bytes', MAX_BLOCK_TX_BYTES, MOST_BYTES, rules.bytes),
    signatureOperations: within(
      max_signature_operations,
      'max_signature_operations',
      MAX_BLOCK_SIGNATURE_OPERATIONS,
      MOST_SIGNATURE_OPERATIONS,
      operations,
    ),
    intervalMs: interval_ms === undefined ? null : within(interval_ms, 'interval_ms', 0, MOST_INTERVAL_MS, 0),
    start: readStart(start, at(place, 'start')),
    ...(isOrdered && { originalOrder: true as const }),
  };
}

/** True for a network that has the rules of the existing networks. */
export function isDefault(rules: BlockRules): boolean {
  const isSame = Object.entries(DEFAULT_BLOCK_RULES).every(
    ([name, value]) => rules[name as keyof BlockRules] === value,
  );
  return isSame && rules.originalOrder === undefined;
}

function readStart(value: unknown, place: Place): BlockRules['start'] {
  if (value === undefined) return DEFAULT_BLOCK_RULES.start;
  const start = STARTS.find((one) => one === value);
  return start ?? fail(place, null, `must be one of ${STARTS.map((one) => `"${one}"`).join(', ')}`);
}
