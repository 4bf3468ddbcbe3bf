/**
 * Proofs of the amounts of outputs. No signature covers amounts or fees: if an output holds more than a node has said, whoever gets the
 * payment takes the rest as a fee. The transaction that made an output proves its amount: the output's name has the transaction's hash.
 */

import { TX_HASH_LENGTH } from '../chain/constants.js';
import { parseGenesis } from '../chain/genesis.js';
import { transactionHash } from '../chain/hash.js';
import { parseTransaction } from '../chain/json-read.js';
import { outPointKey } from '../chain/transaction.js';
import type { Transaction } from '../chain/types.js';
import { systemClock } from '../lib/clock.js';
import { TesseraError } from '../lib/errors.js';
import { assertSound } from '../lib/fault.js';
import { pause } from '../lib/pause.js';
import { unspentFault } from '../wallet/coins/unspent.js';
import type { CallOptions } from './calls.js';
import type { Operations } from './generated/operations.js';
import type { UnspentOutput } from './payments.js';

/** Maximum number of transactions in one answer: eight of the largest size fit. */
const PER_ANSWER = 8;
const WAIT_MS = 10_000;
/** Milliseconds between two looks. */
const LOOK_EVERY = 250;
/** Form of a transaction's hash; transactions of the genesis file have other names. */
export const HASH = new RegExp(`^g[0-9a-f]{${TX_HASH_LENGTH - 1}}$`);

/** Methods that a client must have. The storage node that it asks need not be trusted. */
export type ProvingClient = Pick<Operations, 'queryBlockchainEntries'>;

export interface ProofOptions extends Pick<CallOptions, 'signal' | 'timeoutMs'> {
  /** Transactions that no block has yet, such as the caller's own whose change is spent. */
  readonly known?: Iterable<Transaction> | undefined;
  /** The genesis file of the network, as JSON: it says what outputs of block 0 hold, whose names are not hashes. */
  readonly genesis?: unknown;
  /** Milliseconds to wait for a new block to come to the storage node. Default: 10 s. */
  readonly waitMs?: number | undefined;
}

/** Resolves when each output holds what is said. Throws `malformed_transaction` if not, `entry_not_found` if nothing proves it. */
export async function proveOutputs(
  client: ProvingClient,
  outputs: readonly UnspentOutput[],
  { known = [], genesis, waitMs = WAIT_MS, ...options }: ProofOptions = {},
): Promise<void> {
  const makers = new Map([...known].map((transaction) => [transactionHash(transaction), transaction]));
  const atGenesis = genesis === undefined ? [] : parseGenesis(genesis).transactions;
  for (const [name, transaction] of atGenesis) makers.set(name, transaction);
  const names = new Set(outputs.map(({ outPoint }) => outPoint.tHash).filter((name) => HASH.test(name)));
  await fetchMakers((keys) => client.queryBlockchainEntries({ keys }, options), [...names], makers, {
    waitMs,
    signal: options.signal,
  });
  for (const output of outputs) {
    const maker = makers.get(output.outPoint.tHash);
    if (maker === undefined) {
      throw new TesseraError('entry_not_found', `nothing proves what ${outPointKey(output.outPoint)} holds`);
    }
    assertSound(unspentFault(output, maker));
  }
}

/** Adds the transactions that the node sends for the names, each under its computed hash; true when `makers` has all the names. */
export async function fetchMakers(
  ask: (keys: string[]) => Promise<unknown>,
  names: readonly string[],
  makers: Map<string, Transaction>,
  { waitMs = WAIT_MS, signal }: Pick<ProofOptions, 'waitMs' | 'signal'> = {},
): Promise<boolean> {
  const until = systemClock.monotonic() + waitMs;
  for (;;) {
    const missing = names.filter((name) => !makers.has(name));
    for (let at = 0; at < missing.length; at += PER_ANSWER) {
      const keys = missing.slice(at, at + PER_ANSWER);
      for (const transaction of readTransactions(await ask(keys)))
        makers.set(transactionHash(transaction), transaction);
      // The other transactions prove nothing without these, so they are asked for afterwards.
      if (!keys.some((name) => makers.has(name))) break;
    }
    const isAll = names.every((name) => makers.has(name));
    if (isAll || systemClock.monotonic() >= until) return isAll;
    await pause(LOOK_EVERY, signal);
  }
}

/** The valid transactions of an answer: a node may send anything. */
function readTransactions(entries: unknown): Transaction[] {
  if (!Array.isArray(entries)) return [];
  return entries.slice(0, PER_ANSWER).flatMap((entry: unknown) => {
    try {
      return [parseTransaction((entry as { readonly data: unknown }).data)];
    } catch {
      return [];
    }
  });
}
