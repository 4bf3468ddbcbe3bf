/** Runs attacks against one arena, one after the other, and judges each: it failed, and the chain goes on. */

import { type Arena, payOnce, Watch, type Worst } from './arena.js';
import type { Attack } from './attack.js';

export interface Outcome {
  readonly name: string;
  /** Why the attack succeeded; null when it failed, as it must. */
  readonly damage: string | null;
  readonly seconds: number;
  readonly worst: Worst;
}

/** MiB that the memory of a node may grow by in one attack. */
const MAX_MEMORY_GROWTH = 192;

export async function battle(
  arena: Arena,
  attacks: readonly Attack[],
  tell: (outcome: Outcome) => void,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const attack of attacks) {
    const outcome = await fight(arena, attack);
    outcomes.push(outcome);
    tell(outcome);
  }
  return outcomes;
}

async function fight(arena: Arena, attack: Attack): Promise<Outcome> {
  const begun = performance.now();
  const watch = await Watch.begin(arena);
  const damages: string[] = [];
  const note = (error: unknown): void => void damages.push(error instanceof Error ? error.message : String(error));
  await attack.run(arena).catch(note);
  const worst = await watch.stop();
  await payOnce(arena).catch(note);
  if (worst.memoryGrowth > MAX_MEMORY_GROWTH) damages.push(`a node grew by ${worst.memoryGrowth} MiB`);
  if (worst.blocks < 1) damages.push('no block was made meanwhile');
  const seconds = (performance.now() - begun) / 1_000;
  return { name: attack.name, damage: damages.length === 0 ? null : damages.join('; '), seconds, worst };
}

const COLUMNS: readonly (readonly [title: string, width: number, show: (outcome: Outcome) => string])[] = [
  ['attack', 54, ({ name }) => name],
  ['result', 8, ({ damage }) => (damage === null ? 'passed' : 'FAILED')],
  ['seconds', 9, ({ seconds }) => seconds.toFixed(1)],
  ['blocks', 8, ({ worst }) => String(worst.blocks)],
  ['/livez ms', 11, ({ worst }) => String(worst.livezMs)],
  ['+MiB', 7, ({ worst }) => String(worst.memoryGrowth)],
  ['files', 7, ({ worst }) => String(worst.descriptors)],
  ['not ready', 11, ({ worst }) => String(worst.notReady)],
];

export const tableHead = (): string => COLUMNS.map(([title, width]) => title.padEnd(width)).join('');

export const tableLine = (outcome: Outcome): string => {
  const line = COLUMNS.map(([, width, show]) => show(outcome).padEnd(width)).join('');
  return outcome.damage === null ? line : `${line}\n  ${outcome.damage}`;
};
