/**
 * A mempool, a miner, and an archive behind a storage node, without processes: every block that the one makes, the other
 * verifies and keeps.
 */

import { encodeTransaction } from '../../src/chain/codec.js';
import { blockReward } from '../../src/chain/coinbase.js';
import type { Genesis } from '../../src/chain/genesis.js';
import { merkleRoot, transactionHash, txsHash } from '../../src/chain/hash.js';
import { compactToBytes, MAX_COMPACT_TARGET } from '../../src/chain/pow.js';
import type { FullBlock, Transaction } from '../../src/chain/types.js';
import type { Kv } from '../../src/db/kv.js';
import type { Journal } from '../../src/journal/journal.js';
import type { ChainRules } from '../../src/ledger/block/rules.js';
import { toHex } from '../../src/lib/bytes.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { type Logger, silentLogger } from '../../src/lib/logger.js';
import { type ConfirmedBlock, Mempool } from '../../src/mempool/mempool.js';
import type { StateRules } from '../../src/mempool/state/state.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { decodeFullBlock } from './full-block.js';
import { openJournal } from './journal.js';
import { MemoryKv } from './memory-kv.js';
import { type Account, chainFor, keepStep, mine, rulesFor, unicornOf } from './mempool.js';
import { createBed, createSeededRandom, nextOf, SECRET } from './peers.js';

/** No target is set below this height. */
const ACTIVATION_HEIGHT = 3;

export interface PairOptions {
  readonly genesis: Genesis;
  /** Who is paid for blocks. */
  readonly miner: Account;
  /** Transactions that the pool takes; 3,000 by default. */
  readonly poolSize?: number;
  /** Cuts when `cut` is called, not for each transaction. */
  readonly onDemand?: boolean;
  /** Commands that are there before the mempool starts. */
  readonly journal?: Journal;
  /** The mempool's database; a new one by default. */
  readonly kv?: Kv;
  /** The mempool's; a silent one by default. */
  readonly logger?: Logger;
  /** By default those of the genesis alone. */
  readonly rules?: StateRules;
  /** What storage has already; an empty one by default. */
  readonly archive?: Archive;
  /** Called with the hash of each transaction that a rule takes out. */
  readonly onRejected?: (hash: string) => void;
  /** Called with each closed block before the archive gets it. */
  readonly onBlock?: (block: FullBlock, pair: Pick<Pair, 'storageVerdict'>) => Promise<void>;
}

export interface Pair {
  readonly mempool: Mempool;
  readonly archive: Archive;
  readonly blocks: FullBlock[];
  /** What the archive has refused of the mempool's blocks, and what `onBlock` has thrown. */
  readonly refusals: unknown[];
  /** Cuts a block of what waits; resolves when it is stored. */
  cut(): Promise<ConfirmedBlock>;
  /** The rule by which storage refuses the block now, or null; nothing is written. */
  storageVerdict(block: FullBlock): Promise<string | null>;
  /** A block of these transactions that follows the last one. */
  blockOf(transactions: readonly Transaction[], names?: readonly string[]): FullBlock;
  close(): Promise<void>;
}

const INTERVAL_MS = 10_000;
const ACCEPTED = new Error('the block is accepted');

/** The state's rules for a genesis. */
export function stateRulesOf(genesis: Genesis): StateRules {
  const issued = [...genesis.transactions].map(([hash, tx]) => ({
    hash,
    bytes: encodeTransaction(tx),
    amount: tx.outputs.reduce((sum, { value }) => sum + value.amount, 0n),
  }));
  return rulesFor([], { genesis: issued, block: genesis.blockRules });
}

export async function createPair(options: PairOptions): Promise<Pair> {
  const { genesis, miner: owner, onDemand = false, poolSize = 3_000, onBlock } = options;
  const bed = createBed('memory');
  const network = bed.node('mempool', { role: 'mempool', secret: SECRET });
  const stateRules = options.rules ?? stateRulesOf(genesis);
  const mempool = new Mempool(
    {
      rules: stateRules,
      chain: chainFor(stateRules),
      pool: { maxTransactions: poolSize, maxBytes: 10_000_000 },
      blocks: { instant: !onDemand, blockInterval: INTERVAL_MS, proofWindow: 500, minMiners: 1, partitionSize: 10 },
      statuses: { lifetime: 86_400 },
      verifyThreads: 0,
    },
    {
      kv: options.kv ?? new MemoryKv(),
      journal: options.journal ?? (await openJournal(new MemoryKv())),
      network,
      clock: bed.clock,
      random: createSeededRandom('mempool'),
      logger: options.logger ?? silentLogger,
      metrics: noMetrics,
      unicorn: unicornOf,
    },
  );
  const kv = new MemoryKv();
  const rules: ChainRules = { genesis, activationHeight: ACTIVATION_HEIGHT };
  const archive = options.archive ?? (await Archive.open({ rules }, { kv }));
  const blocks: FullBlock[] = [];
  const refusals: unknown[] = [];
  const storageVerdict = (block: FullBlock): Promise<string | null> => verdictOf(kv, rules, block);

  mempool.transactionRejected.on(({ hash }) => options.onRejected?.(hash));
  await mempool.start();
  await network.start();
  const storage = bed.node('storage', { role: 'storage', secret: SECRET });
  keepStep(storage);
  storage.handle('block.deliver', async (_link, { body, attachment }) => {
    const block = decodeFullBlock(attachment);
    try {
      await onBlock?.(block, { storageVerdict });
      await archive.store(block);
    } catch (error) {
      refusals.push(error);
    }
    blocks.push(block);
    return { type: 'block.stored', body };
  });
  await storage.start();
  await storage.dial(network.address, { timeoutMs: 5_000 });
  const miner = bed.node('miner', { role: 'miner' });
  miner.handle('mining.template', (link, { body, attachment }) => {
    const { nonce, coinbase } = mine(attachment, BigInt(body.reward), owner);
    const proof = { block_num: body.block_num, nonce: toHex(nonce) };
    void link.request('mining.proof', proof, { attachment: encodeTransaction(coinbase) }).catch(() => undefined);
    return undefined;
  });
  for (const message of ['mining.stop', 'block.mined'] as const) miner.handle(message, () => undefined);
  await miner.start();
  const link = await miner.dial(network.address, { timeoutMs: 5_000 });
  await link.request('mining.join', {});
  if (mempool.figures().height < 0) await nextOf(mempool.blockConfirmed);

  return {
    mempool,
    archive,
    blocks,
    refusals,
    storageVerdict,
    async cut() {
      const next = nextOf(mempool.blockConfirmed);
      await bed.clock.advance(INTERVAL_MS);
      return next;
    },
    blockOf: (transactions, names) => followingBlock(archive, blocks.at(-1), owner, transactions, names),
    async close() {
      await bed.stop();
      await mempool.stop();
    },
  };
}

/** An archive on the same records that can read and not write. */
async function verdictOf(kv: MemoryKv, rules: ChainRules, block: FullBlock): Promise<string | null> {
  const reading: Kv = {
    get: (key) => kv.get(key),
    getMany: (keys) => kv.getMany(keys),
    entries: (range) => kv.entries(range),
    batch: () => kv.batch(),
    write: () => Promise.reject(ACCEPTED),
    close: async () => undefined,
  };
  const copy = await Archive.open({ rules }, { kv: reading });
  try {
    await copy.store(block);
  } catch (error) {
    if (error === ACCEPTED) return null;
    if (isTesseraError(error, 'block_refused')) return String(error.details.rule);
    throw error;
  }
  throw new Error('broken invariant: a store that cannot write has stored');
}

/** A block of these transactions that follows the last one of the archive. */
export function followingBlock(
  { tip }: Archive,
  last: FullBlock | undefined,
  miner: Account,
  transactions: readonly Transaction[],
  names: readonly string[] = transactions.map(transactionHash),
): FullBlock {
  if (last === undefined) throw new Error('no block yet');
  const lists = { txsHash: txsHash(names), merkleRoot: merkleRoot(names) };
  // Storage holds a target to its form and its maximum.
  const difficulty = tip.next > ACTIVATION_HEIGHT ? compactToBytes(MAX_COMPACT_TARGET) : new Uint8Array();
  const template = { ...last.block.header, bNum: BigInt(tip.next), previousHash: tip.hash, difficulty, ...lists };
  return remined(
    { ...last, block: { header: template, transactions: names }, transactions },
    blockReward(tip.issued),
    miner,
  );
}

/** The block with a coinbase and a proof of work of its own. */
export function remined(full: FullBlock, reward: bigint, miner: Account): FullBlock {
  const { header } = full.block;
  const { nonce, coinbase } = mine(header, reward, miner);
  const proven = { ...header, nonce, miningTxHash: transactionHash(coinbase) };
  return { ...full, block: { ...full.block, header: proven }, miningTransaction: coinbase };
}
