/** Showing the words of a wallet to a person, and making sure that they were written down. */

import type { Random } from '../../lib/random.js';
import { type CliContext, UsageError } from '../command.js';
import { ask } from './prompt.js';

/** Words that are asked for again. */
const ASKED = 3;
const ATTEMPTS = 3;
const PER_LINE = 4;
/** Erases the screen and what was scrolled off it. */
const CLEAR = '\u001b[2J\u001b[3J\u001b[H';

/** The words with their numbers, four on a line. */
export function wordTable(words: readonly string[]): string {
  const width = Math.max(...words.map((word) => word.length));
  const cells = words.map((word, i) => `${String(i + 1).padStart(2)} ${word.padEnd(width)}`);
  let table = '';
  for (let at = 0; at < cells.length; at += PER_LINE) {
    table += `  ${cells
      .slice(at, at + PER_LINE)
      .join('  ')
      .trimEnd()}\n`;
  }
  return table;
}

/**
 * Shows the words, erases them from the screen when they are written down, and asks for three of them. Throws `UsageError`
 * when they are not known after three attempts.
 */
export async function showAndConfirm(
  words: readonly string[],
  context: CliContext,
  random: Pick<Random, 'bytes'>,
): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    context.stderr.write(`Write these words down, in this order, and keep them in a safe place.\n`);
    context.stderr.write(`Whoever knows them has the funds. They restore the wallet when everything else is lost.\n\n`);
    context.stderr.write(`${wordTable(words)}\n`);
    await ask('Press Enter when you have written them down; then they disappear from the screen. ', context);
    context.stderr.write(CLEAR);
    if (await knows(words, context, random)) return;
    context.stderr.write('That is not the word at this position.\n');
  }
  throw new UsageError('the words were not repeated: no wallet was made');
}

async function knows(words: readonly string[], context: CliContext, random: Pick<Random, 'bytes'>): Promise<boolean> {
  for (const place of places(words.length, random)) {
    const typed = await ask(`Word ${place + 1}: `, context);
    if (typed.trim().toLowerCase() !== words[place]) return false;
  }
  return true;
}

/** Some places, each once, in ascending order. */
function places(count: number, random: Pick<Random, 'bytes'>): readonly number[] {
  const chosen = new Set<number>();
  while (chosen.size < ASKED) chosen.add((random.bytes(1)[0] ?? 0) % count);
  return [...chosen].sort((a, b) => a - b);
}
