/**
 * The program on the chain of `long-chain.bench.ts`: starts after a stop and after kill -9, its memory, and a second node that takes all
 * blocks from the first, with what it writes to disk; then its database is made again from its segments.
 */

import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createNetwork, type NodeProcess, until } from '../test/support/processes.js';
import { cpuSeconds, memoryOf } from './network/figures.js';
import { printRow } from './report.js';

const MIB = 2 ** 20;
/** ms for a node that has everything to do: a million payments on a busy machine. */
const PATIENCE = 3_600_000;
/** ms between two looks at a node that stands still. */
const REST = 5_000;
/** Memory of a node that is at rest changes by less than this share between two looks. */
const STILL = 0.01;

export interface LongChainNodes {
  /** Data directory with the chain. */
  readonly folder: string;
  /** Folder for what these nodes need besides. */
  readonly root: string;
  readonly genesisText: string;
  readonly payments: number;
  /** Height of the last block. */
  readonly last: number;
}

export async function measureNodes({ folder, root, genesisText, payments, last }: LongChainNodes): Promise<void> {
  const genesis = join(root, 'genesis.json');
  await writeFile(genesis, genesisText);
  const options = {
    'network.name': 'bench',
    'network.genesis_file': genesis,
    'network.producer_keys': '',
    'storage.index': true,
    'storage.verify_threads': 1,
  };
  const network = await createNetwork();
  try {
    const giver = network.make('giver', 'storage', { ...options, 'node.data_dir': folder });
    await start('the program: start after a stop', giver, last);
    await rest('the program: at rest', giver);
    const taker = network.make('taker', 'storage', { ...options, 'peers.storage': giver.peerAddress });
    await start('the program: takes the chain from another node', taker, last, payments);
    await rest('the program: at rest after it', taker);
    await taker.kill();
    await start('the program: start after kill -9', taker, last);
    await taker.stop();
    await start('the program: the next start', taker, last);
    await taker.stop();
    await rm(join(taker.folder, 'db/archive'), { recursive: true });
    await start('the program: start without its database of places', taker, last, payments);
  } finally {
    await network.stopAll();
  }
}

/** Starts a node, and prints what it has used when it is ready with the last block; for each payment where there are some to do. */
async function start(name: string, node: NodeProcess, last: number, payments?: number): Promise<void> {
  const begun = performance.now();
  await node.start();
  const isThere = async (path: string) => (await fetch(`${node.apiUrl}${path}`)).ok;
  const look = async () => ((await isThere('/readyz')) && (await isThere(`/v1/blocks/${last}`)) ? true : undefined);
  await until(name, look, PATIENCE);
  const clock = (performance.now() - begun) / 1_000;
  const { cpu } = await cpuSeconds(node.pid);
  const { peakRss } = await memoryOf(node.pid);
  const written = await writtenBy(node.pid);
  const note = `by the clock ${clock.toFixed(1)} s, at most ${(peakRss / MIB).toFixed(0)} MiB`;
  if (payments === undefined) return printRow({ name, value: cpu, unit: 's of all threads', note });
  const each = `${note}, ${(written / payments).toFixed(0)} bytes written for each`;
  printRow({ name, value: (cpu * 1e6) / payments, unit: 'us/payment, all threads', note: each });
}

/** Prints the memory of a node that has nothing to do, when it no longer changes. */
async function rest(name: string, { pid }: NodeProcess): Promise<void> {
  for (let before = 0; ; ) {
    const { rss } = await memoryOf(pid);
    if (Math.abs(rss - before) < STILL * rss) return printRow({ name, value: rss / MIB, unit: 'MiB' });
    before = rss;
    await new Promise((resolve) => setTimeout(resolve, REST));
  }
}

/** Bytes that a process has written to disk. */
export async function writtenBy(pid: number | 'self'): Promise<number> {
  const text = await readFile(`/proc/${pid}/io`, 'latin1').catch(() => '');
  return Number(/^write_bytes: (\d+)/m.exec(text)?.[1] ?? Number.NaN);
}
