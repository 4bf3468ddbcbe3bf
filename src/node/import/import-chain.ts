/**
 * `tessera import`: a whole chain from elsewhere into the folder of a storage node, each block held to the rules of its height and
 * synced before the next one, so that the imported part is whole whenever the process ends. The same command goes on from there. Rules
 * that a genesis file does not know (`find` in docs/chain.md#eras) are found in the blocks.
 */

import { blockReward } from '../../chain/coinbase.js';
import { type Era, eraAt } from '../../chain/eras.js';
import type { Genesis } from '../../chain/genesis.js';
import { blockHash } from '../../chain/hash.js';
import { pay2pkhParts } from '../../chain/script/builders.js';
import { outPointSignable } from '../../chain/signable.js';
import type { FullBlock, Transaction } from '../../chain/types.js';
import type { Config } from '../../config/schema.js';
import { DataDir } from '../../db/data-dir.js';
import type { Kv } from '../../db/kv.js';
import type { ChainTip } from '../../ledger/block/rules.js';
import { unicornFault } from '../../ledger/block/unicorn.js';
import { Verifier } from '../../ledger/verifier/verifier.js';
import { systemClock } from '../../lib/clock.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import { TimeSlices } from '../../lib/time-slices.js';
import { Archive } from '../../storage/archive/archive.js';
import { UNSPENT } from '../../storage/archive/layout.js';
import { verifyAhead } from '../../storage/blocks/verify-ahead.js';
import { openArchiveFiles, segmentsOf } from '../archive-files.js';
import { readGenesis, writeEras } from '../genesis-file.js';
import { producersOf } from '../producers.js';
import type { ChainEnd, ChainSource } from './source.js';

interface ImportOptions {
  /** Configuration of the storage node, whose folder has no chain, or a part of this one. */
  readonly config: Config;
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number) => void;
  /** Called with each rule that was found, in words. */
  readonly onFound: (what: string) => void;
}

export type ImportedChain = Awaited<ReturnType<typeof importChain>>;

/** Imports the chain. Throws the fault of the source, with its name, `block_refused` for a block that breaks a rule, `aborted`. */
export async function importChain(source: ChainSource, options: ImportOptions) {
  const { config, signal } = options;
  const directory = await DataDir.open(config.node.dataDir, { role: 'storage', networkName: config.network.name });
  const scripts = new Verifier({ threads: config.storage.verifyThreads });
  try {
    // Another import may have held the folder and written into the file.
    const genesis = await readGenesis(config.network.genesisFile, { withUnknown: true });
    const end = await source.latest();
    const rules = new FoundSoFar(genesis, options);
    const files = await openArchiveFiles(directory, await segmentsOf(directory, config));
    const activationHeight = config.mining.asertActivationHeight;
    const soFar = Object.defineProperty({ ...genesis }, 'eras', { get: () => rules.eras });
    const chain = { genesis: soFar, producers: producersOf(config, genesis), activationHeight };
    const archive = await Archive.open({ rules: chain, cacheBytes: config.storage.cacheBytes }, { ...files, scripts });
    // An import that was killed may have appended blocks: `load` takes them in.
    await archive.load(undefined, signal);
    const before = archive.nextHeight;
    await holdBeginning(archive, source, end);
    await storeAll(archive, source, end, { look: (full) => rules.look(full, archive), scripts, ...options });
    signal.throwIfAborted();
    await rules.settle();
    return {
      ...(await summary(archive, files.kv)),
      /** Blocks imported in this run. */
      imported: archive.nextHeight - before,
      eras: rules.eras,
    };
  } finally {
    await scripts.close();
    await directory.close();
  }
}

/** The genesis file while its eras are being found. */
class FoundSoFar {
  readonly #genesis: Genesis;
  readonly #options: ImportOptions;
  #eras: readonly Era[];

  constructor(genesis: Genesis, options: ImportOptions) {
    this.#genesis = genesis;
    this.#options = options;
    const last = genesis.eras.at(-1);
    const isOpen = last?.unicorn?.miners.length === 1 && !last.find.includes('miners');
    // Another miner may have joined since the last import.
    this.#eras = isOpen ? genesis.eras.with(-1, { ...last, find: [...last.find, 'miners'] }) : genesis.eras;
  }

  get eras(): readonly Era[] {
    return this.#eras;
  }

  /** The next block in the form of its era. Rules found in it are written down when it meets them all, before it is stored. */
  async look(full: FullBlock, archive: Archive): Promise<FullBlock> {
    const { tip } = archive;
    const before = this.eras;
    const issued = tip.next === 0 ? this.#genesis.initialIssuance : tip.issued;
    const { eras, found } = findRules(before, full, tip, issued);
    const one = asIn(full, eras, tip.next);
    if (eras === before) return one;
    this.#eras = eras;
    try {
      await archive.check(one);
    } catch (error) {
      this.#eras = before;
      throw error;
    }
    await this.#write();
    for (const what of found) this.#options.onFound(what);
    return one;
  }

  /** Ends the search in the genesis file, so that nodes may start. */
  async settle(): Promise<void> {
    if (this.eras.every(({ find }) => find.length === 0)) return;
    this.#eras = this.eras.map((era) => ({ ...era, find: [] }));
    await this.#write();
  }

  #write(): Promise<void> {
    return writeEras(this.#options.config.network.genesisFile, this.eras);
  }
}

/** Checks that the folder has the beginning of the chain. Throws `other_chain`. */
export async function holdBeginning(archive: Archive, source: ChainSource, end: ChainEnd): Promise<void> {
  const { next, hash } = archive.tip;
  if (next === 0) return;
  if (next - 1 > end.height) {
    throw new TesseraError('other_chain', `the folder has ${next} blocks, and ${source.name} only ${end.height + 1}`);
  }
  const [theirs] = await source.blocks(next - 1, next - 1);
  if (theirs !== undefined && blockHash(theirs.block.header) === hash) return;
  throw new TesseraError(
    'other_chain',
    `the folder has another block ${next - 1} than ${source.name}: import into a new folder`,
  );
}

export interface Storing extends Pick<ImportOptions, 'signal' | 'onProgress'> {
  readonly scripts: Verifier;
  /** The next block in the form of its era; called in the order of the blocks. */
  look(full: FullBlock): FullBlock | Promise<FullBlock>;
}

/** Stores the blocks up to the end of the source's chain. Throws as `importChain`. */
export async function storeAll(archive: Archive, source: ChainSource, end: ChainEnd, options: Storing): Promise<void> {
  const { signal, onProgress, scripts } = options;
  const slices = new TimeSlices(systemClock);
  // The next blocks are on their way while these are verified.
  const read = (from: number) => {
    const reading = from > end.height ? Promise.resolve([]) : source.blocks(from, end.height);
    reading.catch(() => undefined);
    return reading;
  };
  let reading = read(archive.nextHeight);
  for (let blocks = await reading; blocks.length > 0; blocks = await reading) {
    reading = read(archive.nextHeight + blocks.length);
    for (const full of blocks) await verifyAhead(full, scripts, slices);
    for (const full of blocks) {
      if (signal.aborted) throw new TesseraError('aborted', 'interrupted; the same command continues from here');
      await storeOne(archive, source, full, options);
      onProgress(archive.nextHeight, end.height + 1);
    }
  }
  if (archive.tip.hash === end.hash || archive.nextHeight > end.height + 1) return;
  throw new TesseraError(
    'other_chain',
    `${source.name} said that block ${end.height} is ${end.hash}, and gave ${archive.tip.hash}`,
  );
}

async function storeOne(archive: Archive, source: ChainSource, full: FullBlock, { look }: Storing): Promise<void> {
  const { tip } = archive;
  try {
    await archive.store(await look(full));
  } catch (error) {
    if (!isTesseraError(error, 'block_refused')) throw error;
    const isOther = error.details.rule === 'link';
    const message = isOther
      ? `its blocks ${tip.next - 1} and ${tip.next} are of two chains`
      : `block ${tip.next}: ${error.message}`;
    throw new TesseraError(isOther ? 'other_chain' : 'block_refused', `${source.name}: ${message}`, {
      cause: error,
      details: error.details,
    });
  }
}

/** The block in the form of its era, which JSON does not tell. Throws `invalid_config` where our nodes have taken over. */
export function asIn(full: FullBlock, eras: readonly Era[], height: number): FullBlock {
  const { isOriginal } = eraAt(eras, height);
  if (!isOriginal && eras.some((era) => era.isOriginal && era.from < height)) {
    const message = `by the genesis file our nodes make block ${height}, and get it from each other; to go on with the old network, remove the last of its "eras" first (docs/moving-in.md)`;
    throw new TesseraError('invalid_config', message);
  }
  const header = { ...full.block.header, ...(isOriginal && { isOriginal: true as const }) };
  return { ...full, block: { ...full.block, header } };
}

async function summary(archive: Archive, kv: Kv) {
  const { next, hash, issued } = archive.tip;
  let transactions = 0;
  for (let height = 0; height < next; height++) {
    transactions += (await archive.lookups.blockAt(height)).block.transactions.length + 1;
  }
  let unspent = 0;
  for await (const _ of kv.entries(UNSPENT)) unspent++;
  return { blocks: next, transactions, supply: issued, unspent, lastHash: hash ?? '' };
}

/** The most mempool nodes that a reward may be divided by. */
const MOST_NODES = 100;
const OTHER_MINERS = 'seeds that the addresses of the miners do not give';
const UNKNOWN_SEEDS = 'seeds and witnesses that the settings do not give';

/**
 * The eras by which the next block may be valid; whether it is, the rules check afterwards. A source that lies here is refused
 * there, or has made a chain by other rules of original nodes. `issued`: raw units before its coinbase. `found`: new rules,
 * in words.
 */
function findRules(eras: readonly Era[], full: FullBlock, tip: ChainTip, issued: bigint) {
  const era = eraAt(eras, tip.next);
  if (era.find.length === 0) return { eras, found: [] };
  const seen: Partial<Era>[] = [];
  if (era.find.includes('header')) seen.push({ header: full.block.header.layout ?? 'current' });
  if (era.find.includes('mempool_nodes')) seen.push(dividedBy(full, issued));
  if (era.find.includes('signatures')) seen.push(signedAs(full.transactions, era));
  if (era.find.includes('miners')) seen.push(seededBy(full, tip, era));
  const now: Era = Object.assign({ ...era }, ...seen);
  if (Object.entries(now).every(([name, rule]) => era[name as keyof Era] === rule)) return { eras, found: [] };
  const found = wordsOf(era, now).map((words) => `from block ${tip.next}: ${words}`);
  // An era begins only when a rule was found; else the old one goes on.
  const from = found.length === 0 ? era.from : tip.next;
  const others = eras.filter((one) => one.from !== from);
  return { eras: [...others, { ...now, from }].sort((a, b) => a.from - b.from), found };
}

function wordsOf(before: Era, { header, mempoolNodes, signatures, unicorn }: Era): string[] {
  return [
    ...(header === before.header ? [] : [`headers in the layout "${header}"`]),
    ...(mempoolNodes === before.mempoolNodes ? [] : [`rewards divided by ${mempoolNodes}`]),
    ...(signatures === before.signatures ? [] : [`signatures over the ${signatures}`]),
    ...(unicorn === before.unicorn ? [] : [unicorn === null ? UNKNOWN_SEEDS : OTHER_MINERS]),
  ];
}

function dividedBy({ miningTransaction }: FullBlock, issued: bigint): Partial<Era> {
  const [output] = miningTransaction.outputs;
  for (let mempoolNodes = 1; mempoolNodes <= MOST_NODES; mempoolNodes++) {
    if (blockReward(issued, { mempoolNodes }) === output?.value.amount) return { mempoolNodes };
  }
  return {};
}

/** The form of the signatures; from the first one over the outputs on, all have that form. */
function signedAs(transactions: readonly Transaction[], { find }: Era): Partial<Era> {
  for (const { inputs } of transactions) {
    for (const { previousOut, script } of inputs) {
      const parts = previousOut === null ? undefined : pay2pkhParts(script);
      if (previousOut === null || parts === undefined) continue;
      if (parts.data === outPointSignable(previousOut)) return { signatures: 'outpoint' };
      return { signatures: 'outputs', find: find.filter((name) => name !== 'signatures') };
    }
  }
  return {};
}

/** The unicorn's rules as far as the block keeps them: without seeds where miners have other addresses; none with other parameters. */
function seededBy({ block }: FullBlock, tip: ChainTip, era: Era): Partial<Era> {
  if (era.unicorn === null || unicornFault(block, tip, era) === null) return {};
  const unicorn = { ...era.unicorn, miners: [] };
  return { unicorn: unicornFault(block, tip, { ...era, unicorn }) === null ? unicorn : null };
}
