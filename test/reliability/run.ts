/**
 * `npm run test:reliability -- --scale N`: four nodes as four processes on disk, written to without a pause, and one fault
 * after the other. After each: what was acknowledged is there exactly once, coins and items add up, no block has changed,
 * and all nodes are ready again (rules P1, P2, P4, P7). docs/reliability.md has the promises.
 */

import { parseArgs } from 'node:util';
import { Campaign } from './campaign.js';
import { runLife } from './life.js';
import { outcomeLine, summary, writeReport } from './report.js';
import type { Outcome } from './round.js';

const HELP = `npm run test:reliability -- [options]
  --scale N      rounds of each random kind of fault (4); every failpoint is visited once, whatever N is
  --seed N       chooses all that is left to chance (from the clock); the same seed makes the same choices
  --parts LIST   separated by commas: kills, suspend, calls, blackouts, disk, starts, clock, restore, backups, failpoints, corruption (all of them)
  --only TEXT    rounds whose name has it, or one of several texts separated by |
  --cases N      damaged files (1,250 for each step of the scale)
  --life BLOCKS  instead of all that: a long life compressed, so many blocks as fast as they can be made (100000 is a day)
  --minutes N    ends the life after so many minutes at the latest (600)
  --snapshots FOLDER  of the life: where heap snapshots go, at the end of the warm-up and at the end
  --out FILE     writes all outcomes as JSON
  --keep FOLDER  where the folders of a network are put when a round has failed`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    scale: { type: 'string', default: '4' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    parts: { type: 'string', default: '' },
    only: { type: 'string' },
    cases: { type: 'string' },
    life: { type: 'string' },
    minutes: { type: 'string', default: '600' },
    snapshots: { type: 'string' },
    out: { type: 'string' },
    keep: { type: 'string' },
  },
});
const say = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(): Promise<void> {
  if (values.help) return say(HELP);
  const facts = { date: new Date().toISOString(), seed: Number(values.seed), scale: Number(values.scale) };
  say(`seed ${facts.seed}, scale ${facts.scale}`);
  const outcomes = values.life === undefined ? await campaign(facts) : await life(Number(values.life));
  if (values.out !== undefined) await writeReport(values.out, facts, outcomes);
  say(`\n${summary(outcomes)}\n`);
  const failed = outcomes.filter(({ result }) => result === 'failed').length;
  say(`${outcomes.length - failed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && outcomes.length > 0 ? 0 : 1;
}

function campaign(facts: { readonly seed: number; readonly scale: number }): Promise<Outcome[]> {
  const parts = values.parts === '' ? undefined : values.parts.split(',');
  const { only, keep, cases } = values;
  const options = { ...facts, parts, only, keep, say, ...(cases === undefined ? {} : { cases: Number(cases) }) };
  const made = new Campaign(options);
  process.once('SIGINT', () => made.stop());
  return made.run((outcome) => say(outcomeLine(outcome)));
}

async function life(blocks: number): Promise<Outcome[]> {
  const outcomes = await runLife({ blocks, minutes: Number(values.minutes), snapshots: values.snapshots, tell: say });
  for (const outcome of outcomes) say(outcomeLine(outcome));
  return outcomes;
}

await main();
