/** The hunt, in the process that has no time of its own: plays the stories of seeds, and shows what fails and how to repeat it. */

import './world/files.js';
import { parseArgs } from 'node:util';
import { type Outcome, play } from './play.js';
import { shrink } from './shrink.js';
import { storyOf, textOf, withOnly } from './story.js';
import { THEMES } from './themes.js';

const HELP = `npm run simulate -- [options]
  --seeds N       stories that are played (100)
  --minutes M     ends it earlier
  --first S       the first seed, a number (1); the others follow it
  --also LIST     seeds that are played before these, separated by commas
  --theme NAME    plays only the seeds of a theme, and counts all: ${Object.keys(THEMES).join(', ')}
  --seed S        plays one seed, and shows its trace
  --keep LIST     only these faults of the seed, by their numbers, separated by commas
  --on            goes on after a seed has failed
  --break NAME    takes a guard out of the program first; "list" names them, several or "all" are tried in turn
  --twice         plays each seed twice, and compares the traces
  --json          ends with all figures in one line`;

const { values: options } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    seeds: { type: 'string', default: '100' },
    minutes: { type: 'string', default: '60' },
    first: { type: 'string', default: '1' },
    also: { type: 'string' },
    theme: { type: 'string' },
    seed: { type: 'string' },
    keep: { type: 'string' },
    on: { type: 'boolean', default: false },
    twice: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    // For the process that starts this one.
    break: { type: 'string' },
    quiet: { type: 'boolean', default: false },
  },
});

const MS_PER_MINUTE = 60_000;
const NS_PER_MS = 1_000_000n;
const LINE_MS = 1_000;

const now = (): number => Number(process.hrtime.bigint() / NS_PER_MS);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

interface Figures {
  seeds: number;
  failed: string[];
  rules: string[];
  faults: number;
  blocks: number;
  accepted: number;
  steps: number;
  /** Milliseconds of the worlds, and of the processor. */
  simulated: number;
  processor: number;
}

async function playTwice(seed: string): Promise<Outcome> {
  const first = await play(storyOf(seed));
  if (!options.twice) return first;
  const second = await play(storyOf(seed));
  if (first.trace === second.trace) return first;
  const at = first.lines.findIndex((line, i) => line !== second.lines[i]);
  const detail = `two runs differ, first where one has "${first.lines[at]}" and the other "${second.lines[at]}"`;
  return { ...first, violations: [...first.violations, { rule: 'isRepeatable', detail }] };
}

async function showOne(seed: string): Promise<boolean> {
  const whole = storyOf(seed);
  const story = options.keep === undefined ? whole : withOnly(whole, options.keep.split(',').map(Number));
  const outcome = await play(story);
  const { faults, ...rest } = story;
  say(JSON.stringify(rest));
  for (const line of outcome.lines) say(line);
  for (const { rule, detail } of outcome.violations) say(`VIOLATION ${rule}: ${detail}`);
  say(`${outcome.blocks} blocks, ${outcome.accepted} accepted, ${outcome.steps} steps, trace ${outcome.trace}`);
  return outcome.violations.length === 0;
}

async function showFailed(seed: string, { violations }: Outcome): Promise<void> {
  say(`seed ${seed} fails:`);
  for (const { rule, detail } of violations) say(`  ${rule}: ${detail}`);
  const story = storyOf(seed);
  const { kept, plays } = await shrink(story, violations);
  say(`  the shortest story that still fails (${plays} plays), ${kept.length} of ${story.faults.length} faults:`);
  for (const index of kept) {
    const fault = story.faults[index];
    if (fault !== undefined) say(`    ${textOf(fault)}`);
  }
  const broken = options.break === undefined ? '' : ` --break '${options.break}'`;
  const keep = kept.length === story.faults.length ? '' : ` --keep ${kept.length === 0 ? 'none' : kept.join(',')}`;
  say(`  npm run simulate -- --seed ${seed}${keep}${broken}`);
}

/** What `--also`, `--first` and `--seeds` name, one after the other. */
function* seedsOf({ also, first, seeds }: typeof options): Iterable<string> {
  if (also !== undefined) yield* also.split(',');
  for (let i = 0; i < Number(seeds); i++) yield String(Number(first) + i);
}

async function hunt(): Promise<boolean> {
  const began = now();
  const end = began + Number(options.minutes) * MS_PER_MINUTE;
  const figures: Figures = {
    seeds: 0,
    failed: [],
    rules: [],
    faults: 0,
    blocks: 0,
    accepted: 0,
    steps: 0,
    simulated: 0,
    processor: 0,
  };
  let shown = began;
  for (const seed of seedsOf(options)) {
    if (now() >= end) break;
    if (options.theme !== undefined && storyOf(seed).theme !== options.theme) continue;
    const before = process.cpuUsage();
    const outcome = await playTwice(seed);
    const { user, system } = process.cpuUsage(before);
    figures.seeds++;
    figures.faults += outcome.faults;
    figures.blocks += outcome.blocks;
    figures.accepted += outcome.accepted;
    figures.steps += outcome.steps;
    figures.simulated += outcome.ms;
    figures.processor += (user + system) / 1_000;
    if (outcome.violations.length > 0) {
      figures.failed.push(seed);
      figures.rules.push(...outcome.violations.map(({ rule }) => rule));
      if (!options.quiet) await showFailed(seed, outcome);
      if (!options.on) break;
    }
    if (options.quiet || now() - shown < LINE_MS) continue;
    shown = now();
    say(lineOf(figures, shown - began));
  }
  if (!options.quiet) say(lineOf(figures, now() - began));
  if (options.json) say(JSON.stringify(figures));
  return figures.failed.length === 0;
}

function lineOf({ seeds, failed, faults, blocks, accepted, simulated, processor }: Figures, ms: number): string {
  const hours = (simulated / 60 / MS_PER_MINUTE).toFixed(2);
  const each = (processor / 1_000 / Math.max(1, seeds)).toFixed(2);
  return `${(ms / 1_000).toFixed(0).padStart(5)} s: ${seeds} seeds, ${hours} h simulated, ${faults} faults, ${blocks} blocks, ${accepted} accepted, ${each} s of processor each, ${failed.length} failed`;
}

if (options.help) say(HELP);
else {
  const isSound = options.seed === undefined ? await hunt() : await showOne(options.seed);
  process.exitCode = isSound ? 0 : 1;
}
