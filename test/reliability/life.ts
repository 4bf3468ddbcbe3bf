/**
 * A long life in a short time: blocks as fast as four nodes make them, with memory, open files and disk noted on the way,
 * and every new block read and judged at each look. After the warm-up nothing may grow with the height of the chain but the
 * disk, and that evenly.
 */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';
import { growthPerMinute } from '../soak/growth.js';
import { type Inspector, inspectorOf } from '../soak/inspector.js';
import { MEASURES, type Sample, Sampler, sampleHeader, sampleLine } from '../soak/sampler.js';
import { until } from '../support/processes.js';
import { FourNodes } from './four-nodes.js';
import { type Outcome, sleep } from './round.js';

export interface LifeOptions {
  /** The life ends at this height, or after so many minutes, whichever comes first. */
  readonly blocks: number;
  readonly minutes: number;
  /** Folder for snapshots of the heaps at the end of the warm-up and at the end. */
  readonly snapshots?: string | undefined;
  readonly tell: (line: string) => void;
}

/** Milliseconds between two looks at how fast blocks come. */
const LOOK_EVERY_MS = 1_000;
/** Transactions a second: somewhat more than blocks, so that one waits for each block, and few more to verify. */
const RATE = { first: 30, forEachBlock: 1.3, more: 2 };
const SAMPLES = 48;
const MIB = 1024 * 1024;
/** Samples of the warm-up: a third. */
const WARM_UP = SAMPLES / 3;
/** After the warm-up, for each 1,000 blocks. */
const MAX_LIVE_MIB = 1;
const MAX_FILES = 2;
/** How much more disk a block may take towards the end than before. */
const MAX_DISK_FACTOR = 1.5;
/** MiB: what LevelDB holds twice while it compacts. */
const DISK_SLACK_MIB = 4;

export async function runLife(options: LifeOptions): Promise<Outcome[]> {
  const begun = performance.now();
  const four = await FourNodes.start({ nodeArguments: ['--inspect=127.0.0.1:0'] });
  const inspectors = new Map<NodeRole, Inspector>();
  try {
    for (const role of NODE_ROLES) inspectors.set(role, await inspectorOf(four.nodes[role]));
    const { samples, faults } = await live(four, inspectors, options);
    faults.push(...(await four.judge()), ...(await four.readAll()));
    const seconds = (performance.now() - begun) / 1_000;
    const { effects, record } = four;
    const detail = `${record.next} blocks, ${effects.count} transactions acknowledged, ${effects.refused} attempts not`;
    return [
      outcomeOf('everything acknowledged is there', seconds, faults, detail),
      ...NODE_ROLES.map((role) => flatness(role, samples)),
    ];
  } finally {
    for (const inspector of inspectors.values()) inspector.close();
    await four.end();
  }
}

/** Lives, and looks `SAMPLES` times, evenly over the time or the blocks. */
async function live(
  four: FourNodes,
  inspectors: ReadonlyMap<NodeRole, Inspector>,
  { blocks, minutes, snapshots, tell }: LifeOptions,
): Promise<{ readonly samples: readonly Sample[]; readonly faults: string[] }> {
  const begun = performance.now();
  let known = { height: await four.height(), at: begun };
  /** Keeps up with the nodes, and says how much of the life is over. */
  const share = async (): Promise<number> => {
    // A snapshot of a heap, or a busy machine, holds up a node for seconds.
    const now = { height: await until('the height of the chain', () => four.height()), at: performance.now() };
    const rate = (now.height - known.height) / ((now.at - known.at) / 1_000);
    known = now;
    four.pay(rate * RATE.forEachBlock + RATE.more);
    return Math.max((now.at - begun) / (minutes * 60_000), now.height / blocks);
  };
  const sampler = new Sampler([...inspectors].map(([role, inspector]) => ({ process: four.nodes[role], inspector })));
  const faults: string[] = [];
  tell(sampleHeader());
  four.pay(RATE.first);
  for (let taken = 0; taken <= SAMPLES; taken++) {
    do await sleep(LOOK_EVERY_MS);
    while ((await share()) < taken / SAMPLES);
    for (const sample of await sampler.sample(await four.height(), true)) tell(sampleLine(sample));
    if (snapshots !== undefined && (taken === WARM_UP || taken === SAMPLES)) {
      await writeSnapshots(inspectors, join(snapshots, String(await four.height())));
    }
    faults.push(...(await four.readNew()));
    // A life that has gone wrong is not worth its time.
    if (faults.length > 0) break;
  }
  return { samples: sampler.samples, faults };
}

async function writeSnapshots(inspectors: ReadonlyMap<NodeRole, Inspector>, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [role, inspector] of inspectors) await inspector.heapSnapshot(join(folder, `${role}.heapsnapshot`));
}

function flatness(role: NodeRole, samples: readonly Sample[]): Outcome {
  const own = samples.filter(({ node }) => node === role).slice(WARM_UP);
  const growth = (measure: keyof typeof MEASURES, of = own): number =>
    growthPerMinute(
      of.map((sample) => ({ minute: sample.height / 1_000, value: (MEASURES[measure](sample) ?? 0) / MIB })),
    );
  const [alive, files] = [growth('live'), growth('files')];
  const half = own.length >> 1;
  const [before, after] = [growth('disk', own.slice(0, half + 1)), growth('disk', own.slice(half))];
  const span = ((own.at(-1)?.height ?? 0) - (own[half]?.height ?? 0)) / 1_000;
  const faults = [
    ...(alive > MAX_LIVE_MIB ? ['live memory grows'] : []),
    ...(files > MAX_FILES ? ['open files grow'] : []),
    ...((after - before * MAX_DISK_FACTOR) * span > DISK_SLACK_MIB ? ['a block takes more and more disk'] : []),
  ];
  const figures = `for 1,000 blocks: live ${alive.toFixed(2)} MiB, files ${files.toFixed(2)}, disk ${before.toFixed(2)} then ${after.toFixed(2)} MiB`;
  const outcome = outcomeOf(`${role}: nothing grows but the chain`, 0, faults, figures);
  return faults.length === 0 ? outcome : { ...outcome, detail: `${outcome.detail} (${figures})` };
}

function outcomeOf(name: string, seconds: number, faults: readonly string[], detail: string): Outcome {
  const result = faults.length === 0 ? 'passed' : 'failed';
  return { part: 'life', name, result, detail: faults.length === 0 ? detail : faults.join('; '), seconds };
}
