/** How long a storage node needs to start, and to answer, by the number of blocks that it has; with the index of the chain. */

import { join } from 'node:path';
import { coinbaseTransaction } from '../src/chain/builders.js';
import { encodeBlock, encodeTransaction, encodeTxOut } from '../src/chain/codec.js';
import { blockReward } from '../src/chain/coinbase.js';
import { parseGenesis } from '../src/chain/genesis.js';
import { blockHash, merkleRoot, transactionHashOfBytes, txsHash } from '../src/chain/hash.js';
import { compactToBytes, MAX_COMPACT_TARGET } from '../src/chain/pow.js';
import type { Block, Transaction } from '../src/chain/types.js';
import { sha3Hex } from '../src/crypto/sha3.js';
import { DataDir } from '../src/db/data-dir.js';
import { endlessRoom, folderSize } from '../src/db/disk-room.js';
import { encodeU64 } from '../src/db/keys.js';
import type { Kv, KvBatch } from '../src/db/kv.js';
import { systemClock } from '../src/lib/clock.js';
import { silentLogger } from '../src/lib/logger.js';
import { indexDatabase } from '../src/node/rebuild/rebuild-index.js';
import { noMetrics } from '../src/observability/metrics.js';
import { Archive } from '../src/storage/archive/archive.js';
import {
  blockAtKey,
  blockKey,
  heightKey,
  LAST_KEY,
  namesKey,
  transactionKey,
  UNSPENT_TIP_KEY,
  unspentKey,
} from '../src/storage/archive/layout.js';
import { encodeBlockRecord, encodeLast, encodeNames, encodeTransactionRecord } from '../src/storage/archive/records.js';
import { ChainIndex } from '../src/storage/chain-index/chain-index.js';
import { printRow, printSection } from './report.js';
import { measured } from './rounds.js';
import { inFolders, type SizeOptions } from './sizes.js';
import { threadTime } from './turns.js';

const SIZES = [1_000, 1_000_000];
const SHORT_SIZES = [1_000, 10_000];
/** Blocks that are written together. */
const BATCH = 1_000;
const READINGS = 400;
/** Addresses that miners are paid at, in turn. */
const MINERS = 1_000;
const OPTIONS = { role: 'storage', networkName: 'bench' };
const GENESIS = parseGenesis({ mempool_seed_utxo: {}, mempool_genesis_tx_in: 'bench', initial_issuances: [] });
const miners = Array.from({ length: MINERS }, (_, i) => sha3Hex(`miner ${i}`));
const rules = { genesis: GENESIS, activationHeight: 3 };
const target = compactToBytes(MAX_COMPACT_TARGET);

/** Blocks of a coinbase each, as the archive keeps them; nobody has mined them, and nothing that is measured looks at that. */
async function fill(kv: Kv, count: number): Promise<void> {
  let previousHash: string | null = null;
  let issued = 0n;
  let batch = kv.batch();
  for (let height = 0; height < count; height++) {
    const mining = coinbaseTransaction(BigInt(height), blockReward(issued), miners[height % MINERS] ?? '');
    const bytes = encodeTransaction(mining);
    const miningTxHash = transactionHashOfBytes(bytes);
    const block = blockAfter(previousHash, height, miningTxHash);
    const hash = blockHash(block.header);
    issued += mining.outputs[0]?.value.amount ?? 0n;
    put(batch, { height, hash, issued, block, mining, miningTxHash, bytes });
    previousHash = hash;
    if (height % BATCH !== BATCH - 1 && height < count - 1) continue;
    batch.put(LAST_KEY, encodeLast(height, hash)).put(UNSPENT_TIP_KEY, encodeLast(height, hash));
    await kv.write(batch, { sync: false });
    batch = kv.batch();
  }
}

function blockAfter(previousHash: string | null, height: number, miningTxHash: string): Block {
  return {
    header: {
      version: 6,
      bits: 0n,
      nonce: new Uint8Array(4),
      miningTxHash,
      bNum: BigInt(height),
      timestamp: 1_700_000_000n + BigInt(height),
      difficulty: target,
      seedValue: Buffer.from(`${height}-9`),
      previousHash,
      merkleRoot: merkleRoot([]),
      txsHash: txsHash([]),
    },
    transactions: [],
  };
}

interface Made {
  readonly height: number;
  readonly hash: string;
  readonly issued: bigint;
  readonly block: Block;
  readonly mining: Transaction;
  readonly miningTxHash: string;
  readonly bytes: Uint8Array;
}

function put(batch: KvBatch, made: Made): void {
  const { height, hash, issued, block, mining, miningTxHash, bytes } = made;
  batch.put(blockAtKey(height), encodeBlockRecord(issued, encodeBlock(block)));
  batch.put(blockKey(hash), encodeU64(height));
  batch.put(heightKey(height), Buffer.from(hash, 'utf8'));
  batch.put(transactionKey(miningTxHash), encodeTransactionRecord(height, 0, bytes));
  batch.put(namesKey(height, 0), encodeNames([miningTxHash]));
  for (const [n, output] of mining.outputs.entries()) {
    batch.put(unspentKey({ tHash: miningTxHash, n }), encodeTxOut(output));
  }
}

async function timed<T>(name: string, work: () => Promise<T>): Promise<T> {
  const [clock, used] = [performance.now(), process.cpuUsage()];
  const result = await work();
  const { user, system } = process.cpuUsage(used);
  const note = `by the clock ${((performance.now() - clock) / 1_000).toFixed(1)} s`;
  printRow({ name, value: (user + system) / 1e6, unit: 's of all threads', note });
  return result;
}

async function readings(name: string, read: (i: number) => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  const clock: number[] = [];
  for (let i = 0; i < READINGS; i++) {
    const [begun, at] = [threadTime(), performance.now()];
    await read(i);
    times.push(threadTime() - begun);
    clock.push(performance.now() - at);
  }
  const sum = times.reduce((all, time) => all + time, 0) / READINGS;
  const [typical, worst] = [measured(clock).median, clock.sort((a, b) => a - b)[Math.floor(READINGS * 0.99)] ?? 0];
  const note = `by the clock ${typical.toFixed(2)}, 99 of 100 within ${worst.toFixed(1)}`;
  printRow({ name, value: sum, unit: 'ms of the main thread', note });
}

const indexOf = (dataDir: DataDir, archive: Archive): ChainIndex => {
  const modules = { room: endlessRoom, clock: systemClock, logger: silentLogger, metrics: noMetrics };
  return new ChainIndex({}, { ...modules, archive, database: indexDatabase(dataDir) });
};

async function make(folder: string, name: string, count: number): Promise<void> {
  const dataDir = await DataDir.open(folder, OPTIONS);
  const kv = await dataDir.open('archive');
  await timed(`${name}: make them`, () => fill(kv, count));
  const index = indexOf(dataDir, await Archive.open({ rules }, { kv }));
  await timed(`${name}: build the index`, () => index.build(count, new AbortController().signal));
  await index.stop();
  await dataDir.close();
  for (const database of ['archive', 'index']) {
    const size = (await folderSize(join(folder, 'db', database))) / count;
    printRow({ name: `${name}: ${database} on disk`, value: size, unit: 'bytes/block' });
  }
}

async function measure(folder: string, count: number): Promise<void> {
  const name = `${count.toLocaleString('en-US')} blocks`;
  await make(folder, name, count);
  const dataDir = await DataDir.open(folder, OPTIONS);
  const { archive, index } = await timed(`${name}: start`, async () => {
    const opened = await Archive.open({ rules, cacheBytes: 1 }, { kv: await dataDir.open('archive') });
    await opened.load(() => undefined);
    const following = indexOf(dataDir, opened);
    await following.start();
    while (following.status().state !== 'ready') await new Promise((resolve) => setTimeout(resolve, 1));
    return { archive: opened, index: following };
  });
  const numbers = Array.from({ length: 2 * READINGS }, (_, i) => (Math.imul(i + 1, 0x9e37_79b1) >>> 0) % count);
  const hashes = await archiveAnswers(name, archive, numbers);
  await indexAnswers(name, index, numbers, hashes);
  await index.stop();
  await dataDir.close();
}

/** Gives the hashes of the first blocks that are named. */
async function archiveAnswers(name: string, archive: Archive, numbers: readonly number[]): Promise<string[]> {
  const hashes: string[] = [];
  const transactions: string[] = [];
  for (const height of numbers.slice(0, READINGS)) {
    hashes.push((await archive.hashAt(height)) ?? '');
    transactions.push((await archive.blockAt(height))?.block().header.miningTxHash ?? '');
  }
  await readings(`${name}: the latest`, () => archive.latest());
  await readings(`${name}: a block by its number`, (i) => archive.blockAt(numbers[READINGS + i] ?? 0));
  await readings(`${name}: a block by its hash`, (i) => archive.entry(hashes[i] ?? ''));
  await readings(`${name}: a transaction`, (i) => archive.entry(transactions[i] ?? ''));
  return hashes;
}

async function indexAnswers(
  name: string,
  index: ChainIndex,
  numbers: readonly number[],
  hashes: readonly string[],
): Promise<void> {
  const other = (i: number): number => numbers[READINGS + i] ?? 0;
  await readings(`${name}: 100 blocks of the index`, (i) => index.at((view) => view.blocks(100, other(i))));
  await readings(`${name}: an address`, (i) => index.at((view) => view.address(miners[i] ?? '')));
  await readings(`${name}: search by a number`, (i) => index.at((view) => view.search(String(other(i)))));
  await readings(`${name}: search by the beginning of a hash`, (i) =>
    index.at((view) => view.search((hashes[i] ?? '').slice(0, 12))),
  );
}

export async function archiveSizeBench({ short, sizes = short ? SHORT_SIZES : SIZES }: SizeOptions): Promise<void> {
  printSection('A storage node by its blocks, of a coinbase each');
  await inFolders('archive', sizes, measure);
}
