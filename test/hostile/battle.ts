/** Runs attacks against one arena, one after the other, and judges each: it failed, and the chain goes on. */

import { type Arena, payOnce, type Seen, Watch } from './arena.js';
import type { Attack } from './attack.js';
import type { NodeFigures } from './node-watch.js';
import { TimeIsOver, within } from './time-limit.js';

export interface Outcome {
  readonly name: string;
  /** Why the attack succeeded; null when it failed, as it must. */
  readonly damage: string | null;
  readonly seconds: number;
  /** Processor time of the attackers, and of all who watch and pay meanwhile. */
  readonly cpuSeconds: number;
  /** Null when the nodes did not answer any more. */
  readonly seen: Seen | null;
  /** True when the attack, or what looks behind it, did not end in its time: nothing can follow it. */
  readonly isEndless: boolean;
}

export interface Limits {
  /** Milliseconds of each attack. */
  readonly attackMs: number;
  /** When all of them must have ended, by `performance.now()`. */
  readonly deadline: number;
}

/** Milliseconds for a last look at the nodes behind an attack, and for the payment that follows. */
const LAST_LOOK_MS = 180_000;
/** The same behind an attack that did not end. */
const HURRIED_LOOK_MS = 15_000;
/** MiB that the memory of a node may grow by in one attack. */
const MAX_MEMORY_GROWTH = 192;
const MICROSECONDS = 1e6;
/** An attack that takes longer sees a block made. */
const BLOCK_WITHIN_SECONDS = 20;

/** One attack after the other; those behind one that does not end are not run. */
export async function battle(
  arena: Arena,
  attacks: readonly Attack[],
  limits: Limits,
  tell: (outcome: Outcome) => void,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const attack of attacks) {
    const outcome = await fight(arena, attack, limits);
    outcomes.push(outcome);
    tell(outcome);
    if (outcome.isEndless) break;
  }
  return outcomes;
}

async function fight(arena: Arena, attack: Attack, { attackMs, deadline }: Limits): Promise<Outcome> {
  const begun = performance.now();
  const cpu = process.cpuUsage();
  const damages: string[] = [];
  let isEndless = false;
  const note = (error: unknown): void => {
    damages.push(textOf(error));
    isEndless ||= error instanceof TimeIsOver;
  };
  let seen: Seen | null = null;
  let used = cpu;
  try {
    const watch = await within(LAST_LOOK_MS, 'the first look at the nodes', Watch.begin(arena));
    const ms = Math.min(attackMs, deadline - performance.now());
    await within(ms, 'the attack', attack.run(arena, watch)).catch(note);
    seen = await within(isEndless ? HURRIED_LOOK_MS : LAST_LOOK_MS, 'the last look at the nodes', watch.stop());
    used = process.cpuUsage(cpu);
    if (!isEndless) await within(LAST_LOOK_MS, 'the payment behind it', payOnce(arena));
  } catch (error) {
    note(error);
  }
  const seconds = (performance.now() - begun) / 1_000;
  if (seen !== null) damages.push(...damagesSeen(seen, attack, seconds));
  return {
    name: attack.name,
    damage: damages.length === 0 ? null : damages.join('; '),
    seconds,
    cpuSeconds: (used.user + used.system) / MICROSECONDS,
    seen,
    isEndless,
  };
}

/** What the nodes suffered meanwhile. */
function damagesSeen(seen: Seen, attack: Attack, seconds: number): string[] {
  const damages = [...seen.nodes, ...seen.others]
    .filter(({ memoryGrowth }) => memoryGrowth > (attack.mayGrowBy ?? MAX_MEMORY_GROWTH))
    .map(({ role, memoryGrowth }) => `the ${role} node grew by ${memoryGrowth} MiB`);
  // A short attack may end between two blocks; the payment behind it is confirmed all the same.
  if (seen.blocks < 1 && seconds > BLOCK_WITHIN_SECONDS) damages.push('no block was made meanwhile');
  return damages;
}

/** With the cause: `fetch failed` alone tells nothing. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message} (${textOf(error.cause)})`;
}

type Column<T> = readonly [title: string, width: number, show: (of: T) => string];

const OF_ATTACK: readonly Column<Outcome>[] = [
  ['attack', 58, ({ name }) => name],
  ['result', 6, ({ damage }) => (damage === null ? 'passed' : 'FAILED')],
  ['s', 5, ({ seconds }) => seconds.toFixed(1)],
  ['cpu s', 5, ({ cpuSeconds }) => cpuSeconds.toFixed(1)],
  ['blocks', 6, ({ seen }) => String(seen?.blocks ?? '')],
];
/** One value for each node, in the order in which they are named above the table. */
const OF_NODES: readonly Column<NodeFigures>[] = [
  ['loop delay ms', 21, ({ loopDelayMs }) => String(loopDelayMs)],
  ['/livez ms', 21, ({ livezMs }) => String(livezMs)],
  ['peak MiB', 21, ({ peakMemory }) => String(peakMemory)],
  ['+MiB', 17, ({ memoryGrowth }) => String(memoryGrowth)],
  ['files', 19, ({ descriptors }) => String(descriptors)],
  ['not ready s', 17, ({ notReadySeconds }) => String(Math.round(10 * notReadySeconds) / 10)],
  ['cpu s', 21, ({ cpuSeconds }) => cpuSeconds.toFixed(1)],
];

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const COLUMNS = [...OF_ATTACK, ...OF_NODES];

/** The head of a table of Markdown. */
export const tableHead = (): string =>
  [
    'Figures of nodes: storage / mempool / miner / user.',
    '',
    row(COLUMNS.map(([title, width]) => title.padEnd(width))),
    row(COLUMNS.map(([, width]) => '-'.repeat(width))),
  ].join('\n');

/** The line of an attack; a second one for nodes of its own. */
export function tableLine(outcome: Outcome): string {
  const { nodes, others } = outcome.seen ?? { nodes: [], others: [] };
  const lines = [row([...OF_ATTACK.map(([, width, show]) => show(outcome).padEnd(width)), ...figures(nodes)])];
  if (others.length > 0) {
    const name = `… its own: ${others.map(({ role }) => role).join(', ')}`;
    lines.push(row([...OF_ATTACK.map(([, width], i) => (i === 0 ? name : '').padEnd(width)), ...figures(others)]));
  }
  return lines.join('\n');
}

const figures = (nodes: readonly NodeFigures[]): string[] =>
  OF_NODES.map(([, width, show]) => nodes.map(show).join(' / ').padEnd(width));
