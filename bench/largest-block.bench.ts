/**
 * The largest blocks that the rules allow, and the longest turn of the event loop that each step of their life takes: cut and
 * confirmed by the mempool, stored, adopted, looked at by a wallet.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addressOf, p2shAddress } from '../src/chain/address.js';
import { tokenAsset } from '../src/chain/assets.js';
import { DEFAULT_BLOCK_RULES } from '../src/chain/block-rules.js';
import { assemble, assembleSigned, txOut, unsignedInput } from '../src/chain/builders.js';
import { encodeTransaction } from '../src/chain/codec.js';
import { transactionHashOfBytes } from '../src/chain/hash.js';
import { txInsAddress } from '../src/chain/signable.js';
import { outPointKey } from '../src/chain/transaction.js';
import type { DruidInfo, OutPoint, Script, Transaction } from '../src/chain/types.js';
import { createUnicorn, DEFAULT_MODULUS } from '../src/chain/unicorn.js';
import { keyPairFromSeed } from '../src/crypto/ed25519.js';
import { sha3Bytes } from '../src/crypto/sha3.js';
import { DataDir } from '../src/db/data-dir.js';
import { LocalJournal } from '../src/journal/local-journal.js';
import type { ChainRules } from '../src/ledger/block/rules.js';
import { Verifier } from '../src/ledger/verifier/verifier.js';
import { systemClock } from '../src/lib/clock.js';
import { silentLogger } from '../src/lib/logger.js';
import { inPieces } from '../src/lib/pieces.js';
import { TimeSlices } from '../src/lib/time-slices.js';
import { readAdoptedBlock } from '../src/mempool/state/adoption.js';
import { Applier } from '../src/mempool/state/applier.js';
import { closedBlockBytes, closedHash } from '../src/mempool/state/round.js';
import { MempoolState, type StateRules } from '../src/mempool/state/state.js';
import { StateStore } from '../src/mempool/state/state-store.js';
import { noMetrics } from '../src/observability/metrics.js';
import { Archive } from '../src/storage/archive/archive.js';
import { Segments } from '../src/storage/segments/segments.js';
import { headFaultInPieces } from '../src/wallet/block-check.js';
import { decodeFullBlock } from '../test/support/full-block.js';
import { mine } from '../test/support/mempool.js';
import { BENCH_RULES } from './payments.js';
import { printRow, printSection } from './report.js';
import { measureTurns } from './turns.js';

const AMOUNT = 4_500n;
const GENESIS = '000000';
/** Bytes of a block, with room for the names of its transactions. */
const BLOCK_BYTES = 31 * 1024 * 1024;
const SET = 64;
const PAYMENTS = 20_000;
const BLOCK_RULES = { ...DEFAULT_BLOCK_RULES, transactions: PAYMENTS, signatureOperations: 2 * PAYMENTS };
const key = keyPairFromSeed(sha3Bytes('bench largest block'));
const address = addressOf(key.publicKey);
const TRUE: Script = [{ kind: 'num', value: 1n }];
const trueAddress = p2shAddress(TRUE);

interface Case {
  readonly name: string;
  /** Who the outputs of the genesis belong to, and how many there are. */
  readonly owner: string;
  readonly outputs: number;
  readonly transactions: readonly Transaction[];
}

const out = (n: number): OutPoint => ({ tHash: GENESIS, n });

/** Payments of one input and as many outputs as fit. */
function wide(): Case {
  const transactions = Array.from({ length: 62 }, (_, n) => {
    const outputs = Array.from({ length: 4_500 }, () => txOut(tokenAsset(1n), address));
    return assembleSigned({ inputs: [unsignedInput(out(n))], outputs }, new Map([[outPointKey(out(n)), key]]));
  });
  return { name: '62 payments of 4,500 outputs', owner: address, outputs: 62, transactions };
}

/** As many payments of one input and two outputs as a network may let into a block of 20,000. */
function payments(count: number): Case {
  const half = AMOUNT / 2n;
  const transactions = Array.from({ length: count }, (_, n) => {
    const outputs = [txOut(tokenAsset(half), address), txOut(tokenAsset(AMOUNT - half), trueAddress)];
    return assembleSigned({ inputs: [unsignedInput(out(n))], outputs }, new Map([[outPointKey(out(n)), key]]));
  });
  return { name: `${count.toLocaleString('en-US')} payments`, owner: address, outputs: count, transactions };
}

/** Sets of trades that no signature limits: what they spend is paid to a script. */
function trades(expectations: number, most: number): Case {
  const transactions: Transaction[] = [];
  let bytes = 0;
  while (bytes < BLOCK_BYTES && transactions.length < most) {
    const druid = `set ${transactions.length}`;
    for (let i = 0; i < SET; i++) {
      const n = transactions.length;
      const inputs = [{ previousOut: out(n), script: TRUE }];
      const wanted = { from: txInsAddress(inputs), to: trueAddress, asset: tokenAsset(AMOUNT) };
      const druidInfo: DruidInfo = {
        druid,
        participants: BigInt(SET),
        expectations: Array.from({ length: expectations }, () => wanted),
        genesisHash: null,
      };
      const outputs = [txOut(tokenAsset(AMOUNT), trueAddress)];
      const tx = { ...assemble({ inputs: [], outputs, druidInfo }), inputs };
      bytes += encodeTransaction(tx).length;
      transactions.push(tx);
    }
  }
  return {
    name: `${transactions.length.toLocaleString('en-US')} members of trades with ${expectations} expectations each`,
    owner: trueAddress,
    outputs: transactions.length,
    transactions,
  };
}

async function timed<T>(name: string, work: () => Promise<T>): Promise<T> {
  const stopTurns = measureTurns();
  const used = process.cpuUsage();
  const begun = performance.now();
  const result = await work();
  const ms = performance.now() - begun;
  await new Promise((resolve) => setImmediate(resolve));
  const longest = stopTurns();
  const { user, system } = process.cpuUsage(used);
  const note = `${ms.toFixed(0)} ms in all, ${((user + system) / 1_000).toFixed(0)} ms of processors`;
  printRow({ name: `    ${name}: longest turn`, value: longest, unit: 'ms', note });
  return result;
}

/** A mempool with nothing but state, journal and database. */
async function createMempool(dir: DataDir, name: string, rules: StateRules) {
  const state = new MempoolState(rules);
  const store = new StateStore(await dir.open(`state-${name}`), systemClock);
  const modules = { state, store, clock: systemClock, metrics: noMetrics, logger: silentLogger };
  const journal = await LocalJournal.open({}, { ...modules, kv: await dir.open(`journal-${name}`) });
  const unicorn = (seed: bigint) => createUnicorn(seed, { modulus: DEFAULT_MODULUS, iterations: 2 });
  const applier = new Applier({ ...modules, journal, unicorn });
  await applier.start();
  return { state, applier };
}

type Bed = Awaited<ReturnType<typeof createMempool>>;

async function makeBlock({ state, applier }: Bed, measure: typeof timed): Promise<Uint8Array> {
  const round = await measure('mempool: cut', () =>
    applier.submit<'cut-block'>({ kind: 'cut-block', time: 1, miners: ['m'] }),
  );
  if (round === null) throw new Error('no round');
  const { height, header, reward } = round;
  const { nonce, coinbase } = mine(header, reward, { address });
  const proof = { kind: 'proof' as const, height, miner: 'm', nonce, coinbase: encodeTransaction(coinbase) };
  await measure('mempool: proof', () => applier.submit<'proof'>(proof));
  const closed = await measure('mempool: close', () => applier.submit<'close-block'>({ kind: 'close-block', height }));
  if (closed === null) throw new Error('not closed');
  const bytes = closedBlockBytes(closed);
  await measure('mempool: stored', () =>
    applier.submit<'block-stored'>({ kind: 'block-stored', height, hash: closedHash(closed) }),
  );
  if (state.head.height !== height) throw new Error('not stored');
  return bytes;
}

const silent: typeof timed = (_name, work) => work();

async function admit({ applier }: Bed, transactions: readonly Transaction[]): Promise<void> {
  for (let from = 0; from < transactions.length; from += 960) {
    const group = transactions.slice(from, from + 960).map((tx) => {
      const bytes = encodeTransaction(tx);
      return { hash: transactionHashOfBytes(bytes), bytes, tx };
    });
    const command = { kind: 'transactions' as const, time: 1, groups: [group.map(({ bytes }) => bytes)] };
    const [refusal] = await applier.submit<'transactions'>(command, [group]);
    if (refusal !== null) throw new Error(`refused: ${refusal?.fault.message}`);
  }
}

async function life(dir: DataDir, { name, owner, outputs, transactions }: Case, id: string): Promise<void> {
  const genesis = assemble({
    inputs: [],
    outputs: Array.from({ length: outputs }, () => txOut(tokenAsset(AMOUNT), owner)),
  });
  const issued = { hash: GENESIS, bytes: encodeTransaction(genesis), amount: AMOUNT * BigInt(outputs) };
  const rules: StateRules = {
    genesis: [issued],
    ...BENCH_RULES,
    block: BLOCK_RULES,
  };
  const maker = await createMempool(dir, `${id}-maker`, rules);
  const zero = await makeBlock(maker, silent);
  const idle = await createMempool(dir, `${id}-idle`, rules);
  await makeBlock(idle, silent);
  const empty = await makeBlock(idle, silent);
  await admit(maker, transactions);
  const block = await makeBlockPrinted(maker, name);
  const next = await makeBlock(maker, silent);

  const transactions0 = new Map([[GENESIS, genesis]]);
  const chain = {
    genesis: { transactions: transactions0, issuances: [], blockRules: BLOCK_RULES, eras: [] },
    activationHeight: 1_000,
  };
  const scripts = new Verifier({ threads: 1 });
  // A block has a segment of its own, which the next one closes.
  const segments = await Segments.open(join(dir.path, `segments-${id}`), { maxBytes: 1 });
  const archive = await Archive.open({ rules: chain }, { kv: await dir.open(`archive-${id}`), segments, scripts });
  await archive.store(decodeFullBlock(zero));
  const full = decodeFullBlock(block);
  const { hash } = await timed('storage: check and store', () => archive.store(full));
  const given = await timed('storage: give it to another node', () => archive.fullBlockBytes(1));
  if (given?.length !== block.length) throw new Error('another block');
  await timed('storage: close its segment, and store an empty block', () => archive.store(decodeFullBlock(next)));
  await timed('storage: take it in again', () => takeIn(dir, chain, id, segments, scripts));
  await scripts.close();
  await segments.close();

  const adopter = await createMempool(dir, `${id}-adopter`, rules);
  await makeBlock(adopter, silent);
  await admit(adopter, transactions);
  const slices = new TimeSlices(systemClock);
  await readAdoptedBlock(block, null, () => slices.turn());
  await timed('mempool: adopt', () =>
    adopter.applier.submit<'block-adopted'>({ kind: 'block-adopted', block, facts: null }),
  );

  // Here the pool has to be put together again: what was cut comes back into it.
  const giver = await createMempool(dir, `${id}-giver`, rules);
  await makeBlock(giver, silent);
  await admit(giver, transactions);
  await giver.applier.submit<'cut-block'>({ kind: 'cut-block', time: 1, miners: ['m'] });
  await timed('mempool: give up the same block and adopt an empty one', () =>
    giver.applier.submit<'block-adopted'>({ kind: 'block-adopted', block: empty, facts: null }),
  );
  if (giver.state.head.height !== 1 || giver.state.ready !== transactions.length) throw new Error('not adopted');

  const wallet = { activationHeight: 1_000, producers: undefined };
  await timed('wallet: check', async () => {
    const wrong = await inPieces(headFaultInPieces({ full, hash }, wallet), () => slices.turn());
    if (wrong !== null) throw new Error(wrong.message);
  });
}

/** As a start does without the database. */
async function takeIn(dir: DataDir, rules: ChainRules, id: string, segments: Segments, scripts: Verifier) {
  const archive = await Archive.open({ rules }, { kv: await dir.open(`again-${id}`), segments, scripts });
  await archive.load();
  if (archive.nextHeight !== 3) throw new Error('not taken in');
}

async function makeBlockPrinted(bed: Bed, name: string): Promise<Uint8Array> {
  const block = await makeBlock(bed, async (step, work) => {
    if (step === 'mempool: cut') printSection(`A block of ${name}`);
    return timed(step, work);
  });
  console.log(`    (${(block.length / 1e6).toFixed(1)} MB)`);
  return block;
}

export async function largestBlockBench(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-bench-'));
  const dir = await DataDir.open(folder, { role: 'bench', networkName: 'bench' });
  try {
    await life(dir, payments(PAYMENTS), 'payments');
    await life(dir, wide(), 'wide');
    await life(dir, trades(0, 30_000), 'trades');
    await life(dir, trades(60, 4_000), 'expectations');
  } finally {
    await dir.close();
    await rm(folder, { recursive: true, force: true });
  }
}
