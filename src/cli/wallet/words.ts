/** `tessera wallet words`: shows the words of the wallet in a folder. */

import type { Random } from '../../lib/random.js';
import { wordsText } from '../../wallet/keys/words.js';
import { type CliContext, type OwnCommand, printed, UsageError } from '../command.js';
import { ROLE_FLAGS } from './connection.js';
import { folderConfig, keystoreIn, wordsIn } from './own-folder.js';
import { ask, INTERRUPTED, isShown } from './prompt.js';
import { PASSPHRASE, passphraseOf, secretFlag } from './secrets.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Reads keystore.json in the data folder of the node, which may be running, and shows the words from which all ' +
        'new keys of the wallet are derived. Use it for a wallet that a node made at its first start, or that is ' +
        'older than the words. Whoever sees them can spend everything. Without a terminal it needs --json.',
      'The words cannot restore keys that were imported, or are older than the words: keep a backup of these too.',
    ],
    flags: [...ROLE_FLAGS, secretFlag(PASSPHRASE, 'the passphrase of the wallet')],
    examples: {
      'tessera wallet words --data /var/lib/tessera/user': 'Asks for the passphrase.',
    },
    exits: { [INTERRUPTED]: 'interrupted at a question' },
  },
  async run(args, context) {
    if (!args.has('json') && !isShown(context)) {
      throw new UsageError('words are shown on a terminal only, and the error stream is not a terminal: add --json');
    }
    const { config } = folderConfig(args, context);
    const passphrase = await passphraseOf(args, context);
    const words = await wordsIn(keystoreIn(config), passphrase);
    const list = wordsText(words).split(' ');
    const hasExtraWord = words.extraWord !== '';
    if (args.has('json')) return printed(args, context, { words: list, has_extra_word: hasExtraWord }, '');
    context.stderr.write(wordTable(list));
    if (hasExtraWord) context.stderr.write('They need the BIP39 passphrase that was chosen with them.\n');
    return 0;
  },
};

const ASKED = 3;
const ATTEMPTS = 3;
const PER_LINE = 4;
/** Escape sequence that erases the screen and what was scrolled off it. */
const CLEAR = '\u001b[2J\u001b[3J\u001b[H';

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

/** Shows the words until they are written down, and asks for three of them. Throws `UsageError` after three wrong attempts. */
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

function places(count: number, random: Pick<Random, 'bytes'>): readonly number[] {
  const chosen = new Set<number>();
  while (chosen.size < ASKED) chosen.add((random.bytes(1)[0] ?? 0) % count);
  return [...chosen].sort((a, b) => a - b);
}
