/** Shows a wallet the blocks of the chain, one after the other, as a storage node has them: its coins and its history follow. */

import { getBlocks, queryBlockchainEntries } from '../../api/routes/storage/operations.js';
import { blockHash } from '../../chain/hash.js';
import { parseBlock, parseTransaction } from '../../chain/json-read.js';
import type { Block, FullBlock, Transaction } from '../../chain/types.js';
import type { NodeClient } from '../../client/client.js';
import { TesseraError } from '../../lib/errors.js';
import type { Wallet } from '../../wallet/wallet.js';
import { BLOCKS, TRANSACTIONS } from './chain-search.js';
import { type Patience, PatientReader } from './patient-reader.js';

export interface ChainBlocksModules extends Patience {
  readonly storage: NodeClient;
  /** Told how many of the blocks have been taken in. */
  readonly onProgress: (done: number, total: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Reads blocks, from the first that the wallet has not seen up to `end`. The blocks of one request are durable before the next, so a run
 * that was cut off goes on there. Throws what the node answers, and `protocol_violation` when its blocks are not a chain.
 */
export async function takeBlocks(wallet: Wallet, end: number, modules: ChainBlocksModules): Promise<void> {
  const first = wallet.chain.height + 1;
  const reader = { blocks: new PatientReader(BLOCKS, modules), transactions: new PatientReader(TRANSACTIONS, modules) };
  for (let at = first; at <= end; at += BLOCKS) {
    const count = Math.min(BLOCKS, end - at + 1);
    const numbers = Array.from({ length: count }, (_, i) => at + i);
    for (const full of await readBlocks(numbers, reader, modules)) {
      await wallet.chain.apply({ full, hash: blockHash(full.block.header), isPast: true });
    }
    await wallet.chain.sync();
    modules.onProgress(at + count - first, end - first + 1);
  }
}

interface Readers {
  readonly blocks: PatientReader;
  readonly transactions: PatientReader;
}

async function readBlocks(
  numbers: readonly number[],
  readers: Readers,
  { storage, signal }: ChainBlocksModules,
): Promise<readonly FullBlock[]> {
  const blocks: Block[] = [];
  await readers.blocks.read(
    numbers,
    (num) => storage.call(getBlocks, { query: { num: [...num] } }, { signal }),
    (entries) => blocks.push(...entries.map(({ data }) => parseBlock(data.block))),
  );
  const found = new Map<string, Transaction>();
  await readers.transactions.read(
    blocks.flatMap(({ header, transactions }) => [...transactions, header.miningTxHash]),
    (keys) => storage.call(queryBlockchainEntries, { body: { keys: [...keys] } }, { signal }),
    (entries) => {
      for (const { key, data } of entries) found.set(key, parseTransaction(data));
    },
  );
  const whole = blocks.flatMap((block) => fullBlock(block, found) ?? []);
  if (whole.length === numbers.length) return whole;
  throw new TesseraError('data_lost', `${storage.url} has not all of the blocks ${numbers[0]} to ${numbers.at(-1)}`);
}

function fullBlock(block: Block, found: ReadonlyMap<string, Transaction>): FullBlock | undefined {
  const transactions = block.transactions.flatMap((hash) => found.get(hash) ?? []);
  const miningTransaction = found.get(block.header.miningTxHash);
  if (miningTransaction === undefined || transactions.length !== block.transactions.length) return undefined;
  return { block, transactions, miningTransaction };
}
