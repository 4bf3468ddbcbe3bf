/**
 * The index of the chain: what it adds to storing blocks of 2,000 payments, in time and on disk, and how fast it answers over a
 * chain of 10,000 blocks about an address with 100,000 outputs.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addressOf } from '../src/chain/address.js';
import { tokenAsset } from '../src/chain/assets.js';
import { assembleSigned, txOut, unsignedInput } from '../src/chain/builders.js';
import { type Genesis, parseGenesis } from '../src/chain/genesis.js';
import { transactionHash } from '../src/chain/hash.js';
import { outPointKey } from '../src/chain/transaction.js';
import type { FullBlock, OutPoint, Transaction } from '../src/chain/types.js';
import { type KeyPair, keyPairFromSeed } from '../src/crypto/ed25519.js';
import { sha3Bytes, sha3Hex } from '../src/crypto/sha3.js';
import { DataDir } from '../src/db/data-dir.js';
import { endlessRoom, folderSize } from '../src/db/disk-room.js';
import { Verifier } from '../src/ledger/verifier/verifier.js';
import { systemClock } from '../src/lib/clock.js';
import { silentLogger } from '../src/lib/logger.js';
import { openArchiveFiles } from '../src/node/archive-files.js';
import { indexDatabase } from '../src/node/rebuild/rebuild-index.js';
import { noMetrics } from '../src/observability/metrics.js';
import { Archive } from '../src/storage/archive/archive.js';
import { ChainIndex } from '../src/storage/chain-index/chain-index.js';
import type { ChainView } from '../src/storage/chain-index/service.js';
import { createTestChain } from '../test/support/storage/test-chain.js';
import { printRow, printSection } from './report.js';
import { measureTurns } from './turns.js';

const PAYMENTS = 2_000;
const LARGE_BLOCKS = 10;
const SMALL_BLOCKS = 10_000;
const OUTPUTS_EACH = 10;
const READINGS = 300;

const KEY = keyPairFromSeed(sha3Bytes('bench index'));
const OWNER = addressOf(KEY.publicKey);
const RICH = sha3Hex('the address with many outputs');

const percentile = (times: readonly number[], share: number): number =>
  [...times].sort((a, b) => a - b)[Math.floor(share * (times.length - 1))] ?? 0;

const genesisOf = (outputs: number): Genesis =>
  parseGenesis({
    mempool_seed_utxo: {
      '000000': Array.from({ length: outputs }, () => ({ address: OWNER, amount: 10_000, locktime: 0 })),
    },
    mempool_genesis_tx_in: 'bench',
    initial_issuances: [],
  });

function pay(outPoint: OutPoint, to: readonly string[], amounts: readonly bigint[], key: KeyPair = KEY): Transaction {
  const outputs = to.map((address, i) => txOut(tokenAsset(amounts[i] ?? 0n), address));
  return assembleSigned({ inputs: [unsignedInput(outPoint)], outputs }, new Map([[outPointKey(outPoint), key]]));
}

/** Each payment goes to an address of its own, and its change to another one: the most that an index has to write. */
function largeBlocks(genesis: Genesis): FullBlock[] {
  const chain = createTestChain(0, genesis);
  chain.add();
  for (let block = 0; block < LARGE_BLOCKS; block++) {
    chain.add(
      Array.from({ length: PAYMENTS }, (_, i) => {
        const n = block * PAYMENTS + i;
        return pay({ tHash: '000000', n }, [sha3Hex(`to ${n}`), sha3Hex(`change ${n}`)], [4_000n, 6_000n]);
      }),
    );
  }
  return chain.blocks;
}

/** A chain of one payment in each block, with some outputs for the same address. */
function* smallBlocks(genesis: Genesis): Generator<FullBlock> {
  const chain = createTestChain(0, genesis);
  yield chain.add();
  let coin: OutPoint = { tHash: '000000', n: 0 };
  let left = BigInt(SMALL_BLOCKS * OUTPUTS_EACH * 2);
  const to = [...Array.from({ length: OUTPUTS_EACH }, () => RICH), OWNER];
  for (let block = 1; block < SMALL_BLOCKS; block++) {
    left -= BigInt(OUTPUTS_EACH);
    const tx = pay(coin, to, [...Array.from({ length: OUTPUTS_EACH }, () => 1n), left]);
    coin = { tHash: transactionHash(tx), n: OUTPUTS_EACH };
    yield chain.add([tx]);
  }
}

interface Opened {
  readonly dataDir: DataDir;
  readonly archive: Archive;
  readonly scripts: Verifier;
  readonly folder: string;
}

async function open(genesis: Genesis): Promise<Opened> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-bench-'));
  const dataDir = await DataDir.open(folder, { role: 'bench', networkName: 'bench' });
  const scripts = new Verifier({ threads: 1 });
  const rules = { genesis, activationHeight: 3 };
  return {
    folder,
    dataDir,
    scripts,
    archive: await Archive.open({ rules }, { ...(await openArchiveFiles(dataDir)), scripts }),
  };
}

async function close({ scripts, dataDir, folder }: Opened): Promise<void> {
  await scripts.close();
  await dataDir.close();
  await rm(folder, { recursive: true, force: true });
}

function indexOf({ archive, dataDir }: Opened): ChainIndex {
  const database = indexDatabase(dataDir);
  const modules = {
    archive,
    database,
    room: endlessRoom,
    clock: systemClock,
    logger: silentLogger,
    metrics: noMetrics,
  };
  return new ChainIndex({}, modules);
}

/** Milliseconds until all is stored, and until all is indexed too; processor time of all threads. */
async function store(opened: Opened, blocks: Iterable<FullBlock>, index: ChainIndex | undefined) {
  await index?.start();
  const used = process.cpuUsage();
  const start = performance.now();
  for (const block of blocks) await opened.archive.store(block);
  const stored = performance.now() - start;
  if (index !== undefined) await caughtUp(index);
  const { user, system } = process.cpuUsage(used);
  return { stored, indexed: performance.now() - start, processor: (user + system) / 1_000 };
}

async function caughtUp(index: ChainIndex): Promise<void> {
  while (index.status().state !== 'ready') await new Promise((resolve) => setTimeout(resolve, 1));
}

async function storeBench(): Promise<void> {
  printSection(`The index of the chain: blocks of ${PAYMENTS} payments, each to two addresses of its own`);
  const genesis = genesisOf(PAYMENTS * LARGE_BLOCKS);
  const blocks = largeBlocks(genesis);
  const bare = await open(genesis);
  const without = await store(bare, blocks, undefined);
  await close(bare);
  const opened = await open(genesis);
  const index = indexOf(opened);
  const stopTurns = measureTurns();
  const withIndex = await store(opened, blocks, index);
  const longest = stopTurns();
  const each = (total: number): number => total / LARGE_BLOCKS;
  printRow({ name: 'store a block without it', value: each(without.stored), unit: 'ms' });
  const against = ['without it', each(without.stored)] as const;
  printRow({ name: 'store a block while it follows', value: each(withIndex.stored), unit: 'ms', against });
  printRow({ name: 'store and index a block', value: each(withIndex.indexed), unit: 'ms', against });
  printRow({
    name: 'the same, processor time of all threads',
    value: each(withIndex.processor),
    unit: 'ms',
    against: ['without it', each(without.processor)],
  });
  if (longest > 0) printRow({ name: 'longest turn of the event loop, processor time', value: longest, unit: 'ms' });
  await holdersBench(index);
  await index.stop();
  await rebuildBench(opened);
  await opened.dataDir.close();
  const size = (name: string): Promise<number> => folderSize(join(opened.folder, 'db', name));
  const archive = (await size('archive')) / (PAYMENTS * LARGE_BLOCKS);
  printRow({ name: 'archive on disk', value: archive, unit: 'bytes/tx' });
  const own = (await size('index')) / (PAYMENTS * LARGE_BLOCKS);
  printRow({ name: 'index on disk', value: own, unit: 'bytes/tx', against: ['the archive', archive] });
  await close(opened);
}

/** Holders of an item are read as those of tokens are, from the same table. */
async function holdersBench(index: ChainIndex): Promise<void> {
  const limit = 100;
  const pages = Math.floor((2 * PAYMENTS * LARGE_BLOCKS) / limit / 2);
  const deep = await index.at(async (view) => {
    let cursor: string | undefined;
    for (let page = 0; page < pages; page++) cursor = (await view.tokenHolders({ limit, cursor })).next ?? undefined;
    return cursor;
  });
  await readings(index, `100 of ${2 * PAYMENTS * LARGE_BLOCKS} holders`, (view) => view.tokenHolders({ limit }));
  await readings(index, `100 of them, ${pages * limit} further on`, (view) =>
    view.tokenHolders({ limit, cursor: deep }),
  );
}

async function rebuildBench(opened: Opened): Promise<void> {
  await opened.dataDir.removeDerived('index');
  const index = indexOf(opened);
  const start = performance.now();
  await index.build(opened.archive.nextHeight, new AbortController().signal);
  const rate = (PAYMENTS * LARGE_BLOCKS) / ((performance.now() - start) / 1_000);
  printRow({ name: 'build it anew from the archive', value: rate, unit: 'tx/s' });
  await index.stop();
}

async function readBench(): Promise<void> {
  printSection(`Answers over ${SMALL_BLOCKS} blocks, about an address with ${SMALL_BLOCKS * OUTPUTS_EACH} outputs`);
  const genesis = parseGenesis({
    mempool_seed_utxo: { '000000': [{ address: OWNER, amount: SMALL_BLOCKS * OUTPUTS_EACH * 2, locktime: 0 }] },
    mempool_genesis_tx_in: 'bench',
    initial_issuances: [],
  });
  const opened = await open(genesis);
  const index = indexOf(opened);
  const { indexed } = await store(opened, smallBlocks(genesis), index);
  printRow({ name: 'make, store and index a block', value: indexed / SMALL_BLOCKS, unit: 'ms' });
  const deep = await index.at(async (view) => {
    let cursor: string | undefined;
    for (let page = 0; page < SMALL_BLOCKS / 200; page++) {
      cursor = (await view.addressTransactions(RICH, { limit: 100, cursor })).next ?? undefined;
    }
    return cursor;
  });
  const hash = (await opened.archive.latest())?.block().transactions[0] ?? '';
  await readings(index, '100 blocks', (view) => view.blocks(100, SMALL_BLOCKS / 2));
  await readings(index, 'a transaction', (view) => view.transaction(hash, { firstInput: 0, firstOutput: 0 }));
  await readings(index, 'the address', (view) => view.address(RICH));
  await readings(index, '25 of its transactions', (view) => view.addressTransactions(RICH, { limit: 25 }));
  await readings(index, '25 of them, 5,000 further on', (view) =>
    view.addressTransactions(RICH, { limit: 25, cursor: deep }),
  );
  await readings(index, '25 of its outputs', (view) => view.addressOutputs(RICH, { limit: 25 }));
  await readings(index, 'search by the beginning of a hash', (view) => view.search(hash.slice(0, 8)));
  await index.stop();
  await close(opened);
}

async function readings(index: ChainIndex, name: string, read: (view: ChainView) => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  for (let i = 0; i < READINGS; i++) {
    const start = performance.now();
    await index.at(read);
    times.push(performance.now() - start);
  }
  const note = `99 of 100 within ${percentile(times, 0.99).toFixed(1)} ms`;
  printRow({ name, value: percentile(times, 0.5), unit: 'ms', note });
}

export async function chainIndexBench(): Promise<void> {
  await storeBench();
  await readBench();
}
