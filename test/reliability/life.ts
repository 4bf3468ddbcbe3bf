/**
 * A long life in a short time: blocks as fast as four nodes make them, with memory, open files and disk noted on the way.
 * After the warm-up nothing may grow with the height of the chain but the disk, and that evenly.
 */

import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';
import { growthPerMinute } from '../soak/growth.js';
import { type Inspector, inspectorOf } from '../soak/inspector.js';
import { MEASURES, type Sample, Sampler, sampleHeader, sampleLine } from '../soak/sampler.js';
import { FourNodes } from './four-nodes.js';
import { type Outcome, sleep } from './round.js';

export interface LifeOptions {
  /** The life ends at this height, or after so many minutes, whichever comes first. */
  readonly blocks: number;
  readonly minutes: number;
  readonly tell: (line: string) => void;
}

/** Transactions a second; each makes a block, as long as the nodes are fast enough. */
const RATE = 60;
const SAMPLES = 24;
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

export async function runLife({ blocks, minutes, tell }: LifeOptions): Promise<Outcome[]> {
  const begun = performance.now();
  const four = await FourNodes.start({ nodeArguments: ['--inspect=127.0.0.1:0'] });
  const inspectors: Inspector[] = [];
  try {
    for (const role of NODE_ROLES) inspectors.push(await inspectorOf(four.nodes[role]));
    const nodes = NODE_ROLES.map((role, i) => ({ process: four.nodes[role], inspector: inspectors[i] as Inspector }));
    const samples = await live(four, new Sampler(nodes), { blocks, minutes, tell });
    const faults = [...(await four.judge()), ...(await four.readAll())];
    const seconds = (performance.now() - begun) / 1_000;
    const { effects, record } = four;
    const detail = `${record.next} blocks, ${effects.count} transactions acknowledged, ${effects.refused} attempts not`;
    return [
      outcomeOf('everything acknowledged is there', seconds, faults, detail),
      ...NODE_ROLES.map((role) => flatness(role, samples)),
    ];
  } finally {
    for (const inspector of inspectors) inspector.close();
    await four.end();
  }
}

/** Lives, and looks `SAMPLES` times, evenly over the time or the blocks. */
async function live(
  four: FourNodes,
  sampler: Sampler,
  { blocks, minutes, tell }: LifeOptions,
): Promise<readonly Sample[]> {
  const begun = performance.now();
  const share = async (): Promise<number> => {
    const byTime = (performance.now() - begun) / (minutes * 60_000);
    return Math.max(byTime, (await four.height()) / blocks);
  };
  tell(sampleHeader());
  four.pay(RATE);
  for (let taken = 0; taken <= SAMPLES; taken++) {
    while ((await share()) < taken / SAMPLES) await sleep(250);
    for (const sample of await sampler.sample(await four.height(), true)) tell(sampleLine(sample));
  }
  return sampler.samples;
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
