/** A mempool on a real journal, with a scripted miner and a scripted storage node at the other end of links. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { decodeHeader, encodeTransaction } from '../../src/chain/codec.js';
import { blockHash } from '../../src/chain/hash.js';
import type { BlockHeader, FullBlock, Transaction } from '../../src/chain/types.js';
import { DataDir } from '../../src/db/data-dir.js';
import type { Room } from '../../src/db/disk-room.js';
import type { Kv } from '../../src/db/kv.js';
import type { Journal, Leadership } from '../../src/journal/journal.js';
import { toHex } from '../../src/lib/bytes.js';
import type { Clock } from '../../src/lib/clock.js';
import { type Logger, silentLogger } from '../../src/lib/logger.js';
import type { Signer } from '../../src/mempool/blocks/signer.js';
import type { OutputImageOptions } from '../../src/mempool/image/output-image.js';
import { Mempool } from '../../src/mempool/mempool.js';
import type { MempoolOptions } from '../../src/mempool/options.js';
import { noMetrics } from '../../src/observability/metrics.js';
import type { Link, PeerNetwork } from '../../src/peers/network.js';
import { decodeFullBlock } from '../support/full-block.js';
import { openJournal } from '../support/journal.js';
import {
  type Account,
  account,
  chainFor,
  genesisOut,
  keepStep,
  mine,
  pay,
  payment,
  rulesFor,
  unicornOf,
} from '../support/mempool.js';
import { type Bed, createBed, createSeededRandom, nextOf, SECRET } from '../support/peers.js';

export const alice = account('alice');
export const bob = account('bob');

export interface Setup {
  readonly bed: Bed;
  readonly mempool: Mempool;
  readonly network: PeerNetwork;
  /** Blocks that the scripted storage has taken. */
  readonly blocks: FullBlock[];
  /** Stops mempool and databases, keeps the folder. */
  close(): Promise<void>;
}

export interface SetupOptions {
  readonly folder: string;
  /** Its clock; that of its peers by default. */
  readonly clock?: Clock;
  /** Where its peers are; one of its own by default. */
  readonly bed?: Bed;
  readonly name?: string;
  readonly mempool?: Partial<MempoolOptions>;
  /** Names of the miners; one by default. */
  readonly miners?: readonly string[];
  /** False: no storage node answers. */
  readonly storage?: boolean;
  /** Signs the blocks; without one the network names no producers. */
  readonly signer?: Signer;
  /** In place of the journal's own database. */
  readonly journalKv?: Kv;
  /** Whether it makes the blocks; it does by default. */
  readonly leadership?: Leadership;
  /** Its name among those that share the journal. */
  readonly replica?: string;
  readonly wrapJournal?: (journal: Journal) => Journal;
  /** The disk; endless by default. */
  readonly room?: Room;
  /** Its image of the unspent outputs; none by default. */
  readonly image?: OutputImageOptions;
  /** Told the texts that it logs. */
  readonly logged?: (text: string, level: keyof Logger) => void;
  /** Stands between the mempool and its database. */
  readonly wrapKv?: (kv: Kv) => Kv;
}

/**
 * Undoes something at the end of the test, the last first. A hook for all tests would be one for the first file alone that imports this one:
 * files share a process.
 */
export const atEnd = (undo: () => Promise<unknown>): void => onTestFinished(async () => void (await undo()));

export async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-mempool-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export async function setUp({ folder, miners = ['m1'], storage = true, ...options }: SetupOptions): Promise<Setup> {
  const { bed = createBed('memory'), name = 'mempool' } = options;
  const { wrapJournal = (journal) => journal, wrapKv = (kv) => kv } = options;
  const dataDir: DataDir = await DataDir.open(folder, { role: 'mempool', networkName: 'test' });
  const network = bed.node(name, { role: 'mempool', secret: SECRET });
  const mempool = new Mempool(
    {
      rules: rulesFor([alice, bob]),
      chain: chainFor(rulesFor([alice, bob])),
      pool: { maxTransactions: 100, maxBytes: 1_000_000 },
      blocks: { instant: true, blockInterval: 0, proofWindow: 500, minMiners: 1, partitionSize: 10 },
      statuses: { lifetime: 86_400 },
      verifyThreads: 0,
      ...options.mempool,
    },
    {
      kv: wrapKv(await dataDir.open('mempool')),
      journal: wrapJournal(await openJournal(options.journalKv ?? (await dataDir.open('journal')))),
      network,
      clock: options.clock ?? bed.clock,
      random: createSeededRandom('mempool'),
      logger: options.logged === undefined ? silentLogger : tellingLogger(options.logged),
      metrics: noMetrics,
      unicorn: unicornOf,
      signer: options.signer,
      image: options.image,
      ...(options.room && { room: options.room }),
      ...(options.leadership && { leadership: options.leadership }),
      replica: options.replica,
    },
  );
  const blocks: FullBlock[] = [];
  let closed = false;
  const close = async (): Promise<void> => {
    if (closed) return;
    closed = true;
    await bed.stop();
    await mempool.stop();
    await dataDir.close();
  };
  atEnd(close);
  await mempool.start();
  await network.start();
  if (storage) await addStorage(bed, network, blocks);
  for (const miner of miners) await addMiner(bed, network, miner);
  return { bed, mempool, network, blocks, close };
}

function tellingLogger(tell: (text: string, level: keyof Logger) => void): Logger {
  const line =
    (level: keyof Logger) =>
    (_facts: object, text: string): void =>
      tell(text, level);
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
}

export async function addStorage(bed: Bed, mempool: PeerNetwork, blocks: FullBlock[]): Promise<PeerNetwork> {
  const storage = bed.node('storage', { role: 'storage', secret: SECRET });
  keepStep(storage, bed.clock);
  storage.handle('block.deliver', (_link, { body, attachment }) => {
    const block = decodeFullBlock(attachment);
    if (blockHash(block.block.header) !== body.hash) throw new Error('the hash is not that of the block');
    blocks.push(block);
    return { type: 'block.stored', body };
  });
  await storage.start();
  await storage.dial(mempool.address, { timeoutMs: 5_000 });
  return storage;
}

/** A miner that proves every template at once, or only looks at it. */
export async function addMiner(
  bed: Bed,
  mempool: PeerNetwork,
  name: string,
  look?: (header: BlockHeader, reward: bigint) => void,
): Promise<Link> {
  const miner = bed.node(name, { role: 'miner' });
  miner.handle('mining.template', (link, { body, attachment }) => {
    if (look !== undefined) {
      look(decodeHeader(attachment), BigInt(body.reward));
      return undefined;
    }
    const { nonce, coinbase } = mine(attachment, BigInt(body.reward), account(name));
    const proof = { block_num: body.block_num, nonce: toHex(nonce) };
    void link.request('mining.proof', proof, { attachment: encodeTransaction(coinbase) }).catch(() => undefined);
    return undefined;
  });
  miner.handle('mining.stop', () => undefined);
  miner.handle('block.mined', () => undefined);
  await miner.start();
  const link = await miner.dial(mempool.address, { timeoutMs: 5_000 });
  await link.request('mining.join', {});
  return link;
}

export const stored = (mempool: Mempool, height: number): Promise<unknown> =>
  mempool.figures().height >= height
    ? Promise.resolve()
    : nextOf(mempool.blockConfirmed, (block) => block.height === height);

/** A payment of an output of block 0; another `rest`, another transaction. */
export const send = (from: Account, n: number, to: Account, rest = 1): Transaction =>
  payment({
    from,
    inputs: [genesisOut(n)],
    outputs: [pay(to, 1_000_000n - BigInt(rest)), pay(from, BigInt(rest))],
  });
