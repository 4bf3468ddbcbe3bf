/**
 * What a confirmed payment takes at least, by parts: µs of processor time of all threads. Each part does what no four nodes of this contract can leave
 * out, in a process that does nothing else. There are no bounds, turns or links, and neither miner nor user takes a block in. What LevelDB merges after a part has ended is
 * not counted. `npm run bench:network` measures the four nodes.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KvBatch } from '../src/db/kv.js';
import type { CandidateTx } from '../src/mempool/state/acceptance.js';
import { mine } from '../test/support/mempool.js';
import type { BenchArguments } from './arguments.js';
import { benchState, benchUnicorn, CUT, NOTHING } from './bench-state.js';
import { fill, BLOCKS as STORED_BLOCKS, storageParts } from './catch-up.bench.js';
import { Contestant, compiled } from './contest.js';
import { post } from './cost.bench.js';
import { costOf, roundOf } from './network/beside.js';
import { OriginalNetwork } from './network/original.js';
import { benchGenesis, benchOutputs, benchPayments } from './payments.js';
import { printRow, printSection } from './report.js';
import { measured } from './rounds.js';
import { VERIFICATION_THERE, verificationCost } from './verification.js';

const { encodeTransaction } = await compiled<typeof import('../src/chain/codec.js')>('chain/codec.js');
const { parseGenesis } = await compiled<typeof import('../src/chain/genesis.js')>('chain/genesis.js');
const { transactionHashOfBytes } = await compiled<typeof import('../src/chain/hash.js')>('chain/hash.js');
const { planValidation } = await compiled<typeof import('../src/chain/validation.js')>('chain/validation.js');
const { DataDir } = await compiled<typeof import('../src/db/data-dir.js')>('db/data-dir.js');
const { unsealRecord, writesOf } = await compiled<typeof import('../src/db/record.js')>('db/record.js');
const { systemClock } = await compiled<typeof import('../src/lib/clock.js')>('lib/clock.js');
const { parseExactJson } = await compiled<typeof import('../src/lib/json.js')>('lib/json.js');
const { atOnce } = await compiled<typeof import('../src/lib/pieces.js')>('lib/pieces.js');
const { TimeSlices } = await compiled<typeof import('../src/lib/time-slices.js')>('lib/time-slices.js');
const { closedBlockBytes, closedHash } =
  await compiled<typeof import('../src/mempool/state/round.js')>('mempool/state/round.js');
const { openArchiveFiles } = await compiled<typeof import('../src/node/archive-files.js')>('node/archive-files.js');
const { Archive } = await compiled<typeof import('../src/storage/archive/archive.js')>('storage/archive/archive.js');
const { readBlockToIndex } = await compiled<typeof import('../src/storage/chain-index/block-to-index.js')>(
  'storage/chain-index/block-to-index.js',
);
const { EMPTY_TIP } = await compiled<typeof import('../src/storage/chain-index/records.js')>(
  'storage/chain-index/records.js',
);
const { Sources } = await compiled<typeof import('../src/storage/chain-index/sources.js')>(
  'storage/chain-index/sources.js',
);
const { IndexStep } =
  await compiled<typeof import('../src/storage/chain-index/step.js')>('storage/chain-index/step.js');

/** Payments of a block: as many as the mempool puts into one by default, in all parts. */
const PAYMENTS = 2_000;
const BLOCKS = 24;
/** Blocks at the beginning that are not counted: the code is compiled with them. */
const UNCOUNTED = 8;
/** Posts of a hundred: those that are not counted, and those that are. */
const WARM_UP_PAYMENTS = 20_000;
const POSTED_PAYMENTS = 20_000;
const POSTS = { size: 100, connections: 32 };
/** µs, where a verification takes `VERIFICATION_THERE`; the original took 250 to 275 there. */
const GOAL = 250;
const GOAL_OF_ORIGINAL = 0.95;
/** How the original is posted to, in each of its rounds: before the parts, and after them. */
const ORIGINAL_LOAD = { seconds: 10, connections: 16, batch: 100 };

const outputs = Math.max(BLOCKS * PAYMENTS, WARM_UP_PAYMENTS + POSTED_PAYMENTS, STORED_BLOCKS * PAYMENTS);

/** µs of processor time of all threads. */
async function cost(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** Admission behind the API, by the rules and into the pool, with one append and sync for all that came during the last one. */
async function admission(folder: string): Promise<number> {
  const server = await Contestant.start('bare parts', 'bare-server.ts', [folder, 'rules', String(outputs)]);
  await post(server, benchPayments(0, WARM_UP_PAYMENTS), POSTS);
  const { cost: each } = await post(server, benchPayments(WARM_UP_PAYMENTS, POSTED_PAYMENTS), POSTS);
  await server.end();
  return each;
}

/** Blocks are cut, closed and confirmed by the state of a mempool, the records of each step given to `write`. Of acceptance and of proofs only the records count. */
async function blocks(createBatch: () => KvBatch, write: (batch: KvBatch) => Promise<void>): Promise<number> {
  const state = benchState(outputs);
  let seq = state.seq;
  let used = 0;
  const step = async <T>(work: (batch: KvBatch) => T): Promise<T> => {
    let result: T | undefined;
    used += await cost(async () => {
      const batch = createBatch();
      state.begin(++seq, batch);
      result = work(batch);
      state.seal(seq, batch);
      await write(batch);
      state.written();
    });
    return result as T;
  };
  const makeBlock = async (): Promise<void> => {
    const round = await step((batch) => {
      const plan = atOnce(state.planCut());
      return plan && atOnce(state.cutBlock(CUT, plan, benchUnicorn(plan.seed), batch));
    });
    if (round === null) throw new Error('no block is cut');
    const { height, header, reward } = round;
    const { nonce, coinbase } = mine(header, reward, { address: '0'.repeat(64) });
    const proof = { kind: 'proof' as const, height, miner: 'm', nonce, coinbase: encodeTransaction(coinbase) };
    await step((batch) => state.addProof(proof, batch));
    const closed = await step((batch) => state.closeBlock({ kind: 'close-block', height }, batch));
    if (closed === null) throw new Error('no block is closed');
    used += await cost(() => closedBlockBytes(closed));
    const stored = { kind: 'block-stored' as const, height, hash: closedHash(closed) };
    await step((batch) => atOnce(state.blockStored(stored, batch)));
    if (state.head.height !== height) throw new Error('no block is confirmed');
  };
  await makeBlock();
  for (let block = 0; block < BLOCKS; block++) {
    const candidates = benchPayments(block * PAYMENTS, PAYMENTS).map((tx): CandidateTx => {
      const bytes = encodeTransaction(tx);
      return { hash: transactionHashOfBytes(bytes), bytes, tx };
    });
    if (block === UNCOUNTED) used = 0;
    // What the pool takes costs here what it writes; its own work is part of admission.
    const batch = createBatch();
    state.begin(++seq, batch);
    const outcomes = atOnce(
      state.accept(
        candidates.map((one) => [one]),
        { time: 1, isInChain: () => false },
        batch,
      ),
    );
    if (outcomes.some((outcome) => outcome !== null)) throw new Error('a payment is not taken');
    used += await cost(() => write(batch));
    await makeBlock();
  }
  return used / (BLOCKS - UNCOUNTED) / PAYMENTS;
}

/** The rules of a payment, without its signature. */
async function rules(): Promise<number> {
  const coins = benchOutputs(PAYMENTS);
  const payments = benchPayments(0, PAYMENTS);
  const check = (): void => {
    for (const tx of payments)
      if (planValidation(tx, 1n, ({ n }) => coins[n]).fault !== null) throw new Error('a payment is refused');
  };
  for (let i = 0; i < UNCOUNTED; i++) check();
  return (await cost(check)) / PAYMENTS;
}

/** The records of the chain index for the blocks of an archive, put into LevelDB, which is all that is counted. */
async function indexRecords(folder: string, genesisText: string): Promise<number> {
  const giver = await DataDir.open(join(folder, 'giver'), { role: 'storage', networkName: 'bench' });
  const own = await DataDir.open(join(folder, 'index'), { role: 'storage', networkName: 'bench' });
  const chain = { genesis: parseGenesis(parseExactJson(genesisText)), activationHeight: 3 };
  const archive = await Archive.open({ rules: chain }, await openArchiveFiles(giver));
  const slices = new TimeSlices(systemClock);
  const [kv, again] = [await own.open('index'), await own.open('index-check')];
  const sources = new Sources(archive.lookups, slices);
  let used = 0;
  let tip = EMPTY_TIP;
  for (let height = 0; height < archive.nextHeight; height++) {
    const gathered: ReturnType<typeof writesOf>[number][] = [];
    const noted = {
      get: (key: Uint8Array) => kv.get(key),
      getMany: (keys: readonly Uint8Array[]) => kv.getMany(keys),
      batch: () => kv.batch(),
      entries: kv.entries.bind(kv),
      close: () => kv.close(),
      write: async (batch: KvBatch, options: { readonly sync: boolean }) => {
        gathered.push(...writesOf(batch));
        await kv.write(batch, options);
      },
    };
    const step = new IndexStep(tip, { kv: noted, sources, slices });
    await step.add(await readBlockToIndex(height, archive.lookups, slices));
    tip = await step.write();
    const writes = gathered.map(({ key, record }) => ({ key, value: record && unsealRecord(key, record) }));
    const each = await cost(async () => {
      const batch = again.batch();
      for (const { key, value } of writes) {
        if (value === undefined) batch.del(key);
        else batch.put(key, value);
      }
      await again.write(batch, { sync: false });
    });
    if (height > UNCOUNTED) used += each;
  }
  const counted = (archive.nextHeight - 1 - UNCOUNTED) * PAYMENTS;
  await giver.close();
  await own.close();
  return used / counted;
}

export async function confirmedBench({ original }: Pick<BenchArguments, 'original'>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-bench-'));
  const originals: number[] = [];
  const askOriginal = async (): Promise<void> => {
    if (original === undefined) return;
    originals.push(costOf(await roundOf(await OriginalNetwork.start(original), ORIGINAL_LOAD)));
  };
  try {
    await askOriginal();
    const verifications = [verificationCost(benchPayments(0, PAYMENTS))];
    const genesisText = benchGenesis(PAYMENTS * STORED_BLOCKS, {
      mempool_genesis_tx_in: 'bench',
      initial_issuances: [],
    });
    const genesisFile = join(folder, 'genesis.json');
    await writeFile(genesisFile, genesisText);
    await fill(join(folder, 'giver'), genesisText, PAYMENTS);
    const dataDir = await DataDir.open(join(folder, 'mempool'), { role: 'mempool', networkName: 'bench' });
    const kv = await dataDir.open('mempool');
    const alone = await blocks(
      () => NOTHING,
      async () => undefined,
    );
    const recorded = await blocks(
      () => kv.batch(),
      (batch) => kv.write(batch, { sync: false }),
    );
    await dataDir.close();
    const stored = Object.values(await storageParts(folder, genesisFile)).reduce((sum, part) => sum + part, 0);
    verifications.push(verificationCost(benchPayments(0, PAYMENTS)));
    const admitted = await admission(folder);
    verifications.push(verificationCost(benchPayments(0, PAYMENTS)));
    const verification = measured(verifications).median;
    const parts = {
      'mempool: admitted in posts of 100, with rules, pool and signature': admitted,
      'mempool: blocks made of the pool, without records': alone,
      'mempool: records of its state': recorded - alone,
      'storage: signature': verification,
      'storage: rules': await rules(),
      'storage: decoded, hashed, packed, appended, put into LevelDB': stored,
      'storage: records of the index put into LevelDB': await indexRecords(folder, genesisText),
    };
    await askOriginal();
    printSection('A confirmed payment, the least of its parts');
    const all = Object.values(parts).reduce((sum, part) => sum + part, 0);
    const goal = (GOAL * verification) / VERIFICATION_THERE;
    const note = `a verification takes ${verification.toFixed(0)} us here, and took ${VERIFICATION_THERE} us there`;
    printRow({ name: 'all of them', value: all, unit: 'us', against: ['the goal', goal], note });
    if (originals.length > 0) {
      const least = measured(originals).median * GOAL_OF_ORIGINAL;
      const here = `the original took ${originals.map(Math.round).join(' and ')} us here`;
      printRow({ name: 'all of them', value: all, unit: 'us', against: ['the goal beside it', least], note: here });
    }
    for (const [name, value] of Object.entries(parts)) printRow({ name: `  ${name}`, value, unit: 'us' });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
