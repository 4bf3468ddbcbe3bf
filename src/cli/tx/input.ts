/** Reading the files of `tessera tx`, and standard input where none is named. */

import { type CliContext, UsageError } from '../command.js';
import { readNamedOrInput, STANDARD } from '../named-file.js';
import { isInteractive } from '../wallet/prompt.js';

export const STDIN = STANDARD;

/** The text of the file, or of standard input for `-`. A terminal is no file. */
export async function readInput(file: string, context: CliContext): Promise<string> {
  if (file === STDIN && isInteractive(context)) {
    throw new UsageError('name a FILE, or give the transaction on standard input');
  }
  return readNamedOrInput(file, context.stdin);
}

/** Name of the file in messages. */
export function nameOf(file: string): string {
  return file === STDIN ? 'the standard input' : file;
}
