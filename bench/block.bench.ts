/**
 * A block of 2,000 payments: cutting and applying it in the mempool, writing it in the archive, reading it back over HTTP.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Fastify from 'fastify';
import { createApi } from '../src/api/app.js';
import { addressOf } from '../src/chain/address.js';
import { encodeTransaction } from '../src/chain/codec.js';
import { parseGenesis } from '../src/chain/genesis.js';
import { transactionHashOfBytes } from '../src/chain/hash.js';
import { createUnicorn, DEFAULT_MODULUS } from '../src/chain/unicorn.js';
import { createConfig } from '../src/config/load.js';
import { keyPairFromSeed } from '../src/crypto/ed25519.js';
import { sha3Bytes } from '../src/crypto/sha3.js';
import { DataDir } from '../src/db/data-dir.js';
import type { Kv } from '../src/db/kv.js';
import type { ChainRules } from '../src/ledger/block/rules.js';
import { Verifier } from '../src/ledger/verifier/verifier.js';
import { systemClock } from '../src/lib/clock.js';
import { parseExactJson } from '../src/lib/json.js';
import { silentLogger } from '../src/lib/logger.js';
import { atOnce } from '../src/lib/pieces.js';
import { systemRandom } from '../src/lib/random.js';
import { closedBlockBytes, closedHash, type Round } from '../src/mempool/state/round.js';
import { MempoolState } from '../src/mempool/state/state.js';
import { type ArchiveFiles, openArchiveFiles } from '../src/node/archive-files.js';
import { stateRules } from '../src/node/roles/mempool/options.js';
import { noMetrics } from '../src/observability/metrics.js';
import { Archive } from '../src/storage/archive/archive.js';
import { UNSPENT, UNSPENT_TIP_KEY } from '../src/storage/archive/layout.js';
import { decodeFullBlock } from '../test/support/full-block.js';
import { mine } from '../test/support/mempool.js';
import { load, repeat, requestBytes } from './load.js';
import { benchGenesis, benchPayments } from './payments.js';
import { printRow, printSection } from './report.js';
import { measureTurns } from './turns.js';

const TRANSACTIONS = 2_000;
const ROUNDS = 5;
const READS = 20_000;
const miner = { address: addressOf(keyPairFromSeed(sha3Bytes('bench miner')).publicKey) };

const median = (times: number[]): number => times.sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;

/** Rounds of a mempool state on a real database: block 0, then blocks of 2,000 payments. */
async function makeRounds(kv: Kv): Promise<{ rounds: Round[]; admit: number; cut: number; store: number }> {
  const genesis = parseGenesis(parseExactJson(benchGenesis(TRANSACTIONS * ROUNDS)));
  const config = createConfig('mempool', { 'network.secret': 'a secret for the benchmark' });
  const state = new MempoolState(stateRules(genesis, config));
  const rounds: Round[] = [];
  const times = { admit: [] as number[], cut: [] as number[], store: [] as number[] };
  let seq = 0;
  const step = async <T>(run: (batch: ReturnType<Kv['batch']>) => T, into?: number[]): Promise<T> => {
    const start = performance.now();
    const batch = kv.batch();
    const result = run(batch);
    state.seal(++seq, batch);
    await kv.write(batch, { sync: false });
    into?.push(performance.now() - start);
    return result;
  };
  for (let height = 0; height <= ROUNDS; height++) {
    if (height > 0) {
      const groups = benchPayments((height - 1) * TRANSACTIONS, TRANSACTIONS).map((tx) => {
        const bytes = encodeTransaction(tx);
        return [{ hash: transactionHashOfBytes(bytes), bytes, tx }];
      });
      await step((batch) => atOnce(state.accept(groups, { time: 1, isInChain: () => false }, batch)), times.admit);
    }
    const round = await step(
      (batch) => {
        const plan = atOnce(state.planCut());
        if (plan === null) throw new Error('a round is under way');
        const unicorn = createUnicorn(plan.seed, { modulus: DEFAULT_MODULUS, iterations: 2 });
        return atOnce(state.cutBlock({ kind: 'cut-block', time: 1, miners: ['m'] }, plan, unicorn, batch));
      },
      height > 0 ? times.cut : undefined,
    );
    if (round === null) throw new Error('no round');
    const { nonce, coinbase } = mine(round.header, round.reward, miner);
    await step((batch) =>
      state.addProof({ kind: 'proof', height, miner: 'm', nonce, coinbase: encodeTransaction(coinbase) }, batch),
    );
    const closed = await step((batch) => state.closeBlock({ kind: 'close-block', height }, batch));
    if (closed === null) throw new Error('not closed');
    rounds.push(closed);
    const hash = closedHash(closed);
    await step(
      (batch) => atOnce(state.blockStored({ kind: 'block-stored', height, hash }, batch)),
      height > 0 ? times.store : undefined,
    );
  }
  return { rounds, admit: median(times.admit), cut: median(times.cut), store: median(times.store) };
}

export async function blockBench(): Promise<void> {
  printSection(`A block of ${TRANSACTIONS.toLocaleString('en-US')} payments`);
  const dir = await mkdtemp(join(tmpdir(), 'tessera-bench-'));
  const dataDir = await DataDir.open(dir, { role: 'bench', networkName: 'bench' });
  try {
    const { rounds, admit, cut, store } = await makeRounds(await dataDir.open('mempool'));
    printRow({ name: 'mempool: apply the admission of all (checked before)', value: admit, unit: 'ms' });
    printRow({ name: 'mempool: cut the template', value: cut, unit: 'ms' });
    printRow({ name: 'mempool: apply "stored"', value: store, unit: 'ms' });

    const genesis = parseGenesis(parseExactJson(benchGenesis(TRANSACTIONS * ROUNDS)));
    const files = await openArchiveFiles(dataDir);
    const scripts = new Verifier({ threads: 1 });
    const rules = { genesis, activationHeight: 3 };
    const archive = await Archive.open({ rules }, { ...files, scripts });
    await storeBench(archive, rounds);
    await countBench(rules, files, rounds.length);
    await scripts.close();
    await readBench(archive);
  } finally {
    await dataDir.close();
    await rm(dir, { recursive: true, force: true });
  }
}

/** All checks and the write, with one thread for signatures. */
async function storeBench(archive: Archive, rounds: readonly Round[]): Promise<void> {
  const times: number[] = [];
  const processor: number[] = [];
  let longest = 0;
  for (const round of rounds) {
    const bytes = closedBlockBytes(round);
    const stopTurns = measureTurns();
    const used = process.cpuUsage();
    const start = performance.now();
    await archive.store(decodeFullBlock(bytes));
    const elapsed = performance.now() - start;
    const { user, system } = process.cpuUsage(used);
    const turn = stopTurns();
    if (round.height === 0) continue;
    times.push(elapsed);
    processor.push((user + system) / 1_000);
    longest = Math.max(longest, turn);
  }
  printRow({ name: 'archive: check and write, synced', value: median(times), unit: 'ms' });
  printRow({ name: 'archive: the same, processor time of all threads', value: median(processor), unit: 'ms' });
  if (longest > 0)
    printRow({ name: 'archive: longest turn of the event loop, processor time', value: longest, unit: 'ms' });
}

/** What an archive of a version without unspent outputs does at its first start. */
async function countBench(rules: ChainRules, files: ArchiveFiles, blocks: number): Promise<void> {
  const { kv } = files;
  const batch = kv.batch().del(UNSPENT_TIP_KEY);
  for await (const [key] of kv.entries(UNSPENT)) batch.del(key);
  await kv.write(batch, { sync: true });
  const archive = await Archive.open({ rules }, files);
  const start = performance.now();
  await archive.load();
  const rate = (TRANSACTIONS * (blocks - 1)) / ((performance.now() - start) / 1_000);
  printRow({ name: 'archive: counting unspent outputs anew', value: rate, unit: 'tx/s' });
}

/** Hot reads over HTTP beside a bare route that sends the same bytes. */
async function readBench(archive: Archive): Promise<void> {
  const config = createConfig('storage', { 'network.secret': 'a secret for the benchmark' });
  const app = await createApi(
    { roles: ['storage'], api: { ...config.api, auth: 'open' }, envelope: config.envelope },
    {
      storage: archive,
      logger: silentLogger,
      clock: systemClock,
      random: systemRandom,
      metrics: noMetrics,
      readiness: () => [],
      node: { type: () => 'Storage', peers: () => [], routesPow: {} },
    },
  );
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const paths = ['/v1/blocks/1', '/v1/blocks/latest', '/v1/debug'];
  const bare = Fastify();
  for (const path of paths) {
    const bytes = Buffer.from(await (await fetch(url + path)).arrayBuffer());
    bare.get(path, (_request, reply) => {
      reply.header('content-type', 'application/json; charset=utf-8').send(bytes);
    });
  }
  const bareUrl = await bare.listen({ host: '127.0.0.1', port: 0 });
  for (const path of paths) {
    const rate = async (base: string): Promise<number> => {
      const request = requestBytes(base + path, 'GET');
      await load({ url: base, connections: 32, next: repeat(request, READS / 4) });
      return (await load({ url: base, connections: 32, next: repeat(request, READS) })).rate;
    };
    // In turn, twice, the better of each: the machine is not always quiet.
    const rates = [await rate(bareUrl), await rate(url), await rate(bareUrl), await rate(url)];
    const best = (a = 0, b = 0): number => Math.max(a, b);
    printRow({
      name: `GET ${path}, hot (generator in the same process)`,
      value: best(rates[1], rates[3]),
      unit: 'req/s',
      against: ['a bare route', best(rates[0], rates[2])],
    });
  }
  await Promise.all([app.close(), bare.close()]);
}
