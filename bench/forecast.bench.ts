/** `GET /v1/mempool` and the place of one transaction, without HTTP: what looking at a large pool costs. */

import { DEFAULT_BLOCK_RULES } from '../src/chain/block-rules.js';
import { sha3Hex } from '../src/crypto/sha3.js';
import { blocksAhead, placeAhead } from '../src/mempool/state/forecast.js';
import type { PooledTx } from '../src/mempool/state/pool.js';
import { MempoolState } from '../src/mempool/state/state.js';
import { account, rulesFor } from '../test/support/mempool.js';
import { printRow, printSection } from './report.js';

/** What waits, and transactions of a block. */
const CASES = [
  [10_000, 2_000],
  [200_000, 2_000],
  [200_000, 100_000],
  [1_000_000, 100_000],
] as const;
const TIMES = 100;

function waiting(count: number): PooledTx[] {
  const bytes = new Uint8Array(350);
  const rest = { time: 1, unit: 0, operations: 1, fault: null, height: 0 };
  return Array.from({ length: count }, (_, at) => ({
    ...rest,
    hash: `g${sha3Hex(`waiting ${at}`).slice(0, 31)}`,
    bytes: bytes.subarray(0),
    arrival: at,
  }));
}

/** A state that says that these wait: to admit them would take the minutes that their signatures take. */
function stateOf(transactions: readonly PooledTx[], perBlock: number): MempoolState {
  const block = {
    ...DEFAULT_BLOCK_RULES,
    transactions: perBlock,
    bytes: 1_000_000_000,
    signatureOperations: 1_000_000,
  };
  const state = new MempoolState(rulesFor([account('bench')], { block }));
  const units = transactions.map((tx) => [tx]);
  const byHash = new Map(transactions.map((tx) => [tx.hash, tx]));
  state.readyUnits = () => units;
  state.isReady = (hash) => byHash.has(hash);
  state.pending = (hash) => {
    const found = byHash.get(hash);
    return found && { bytes: found.bytes, time: found.time, info: '' };
  };
  return state;
}

/** ms of processor time. */
function each(run: () => unknown): number {
  for (let i = 0; i < TIMES / 10; i++) run();
  const used = process.cpuUsage();
  for (let i = 0; i < TIMES; i++) run();
  return process.cpuUsage(used).user / 1_000 / TIMES;
}

export async function forecastBench(): Promise<void> {
  printSection('Blocks to come, processor time');
  for (const [count, perBlock] of CASES) {
    const transactions = waiting(count);
    const state = stateOf(transactions, perBlock);
    const name = `${count} wait, ${perBlock} in a block`;
    const last = transactions.at(-1)?.hash ?? '';
    printRow({ name: `${name}: all`, value: each(() => blocksAhead(state)), unit: 'ms' });
    printRow({ name: `${name}: the place of the last`, value: each(() => placeAhead(state, last)), unit: 'ms' });
  }
}
