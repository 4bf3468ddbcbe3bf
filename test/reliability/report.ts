/** What a campaign tells: a line for each round, a table of its parts, a JSON file. */

import { writeFile } from 'node:fs/promises';
import type { Outcome } from './round.js';

const PART_WIDTH = 14;
const NAME_WIDTH = 44;

export function outcomeLine({ part, name, result, detail, seconds }: Outcome): string {
  const mark = result === 'passed' ? 'passed' : 'FAILED';
  return `${part.padEnd(PART_WIDTH)}${name.padEnd(NAME_WIDTH)}${mark}  ${seconds.toFixed(1).padStart(6)} s  ${detail}`;
}

/** One line for each part: how many rounds, how many of them failed, how long they took. */
export function summary(outcomes: readonly Outcome[]): string {
  const parts = [...new Set(outcomes.map(({ part }) => part))];
  const lines = parts.map((part) => {
    const own = outcomes.filter((outcome) => outcome.part === part);
    const failed = own.filter(({ result }) => result === 'failed').length;
    const seconds = own.reduce((sum, outcome) => sum + outcome.seconds, 0);
    return [part.padEnd(PART_WIDTH), String(own.length - failed), String(failed), seconds.toFixed(0)]
      .map(column)
      .join('');
  });
  return [['part', 'passed', 'failed', 'seconds'].map(column).join(''), ...lines].join('\n');
}

const column = (text: string, i: number): string => (i === 0 ? text.padEnd(PART_WIDTH) : text.padStart(9));

export async function writeReport(file: string, facts: object, outcomes: readonly Outcome[]): Promise<void> {
  await writeFile(file, `${JSON.stringify({ ...facts, outcomes }, null, 1)}\n`);
}
