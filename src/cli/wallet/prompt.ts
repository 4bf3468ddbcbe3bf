/** Questions at a terminal: one to answer with yes or no, and one for a secret, which is not shown. */

import { StringDecoder } from 'node:string_decoder';
import { printableLines } from '../../lib/printable.js';
import { type CliContext, ExitError, type ParsedArgs, UsageError } from '../command.js';

export const INTERRUPTED = 130;
export const DECLINED = 4;

export const ASKING_EXITS: Readonly<Record<number, string>> = {
  [DECLINED]: 'the answer to the question was no',
  [INTERRUPTED]: 'interrupted at a question',
};

const MAX_TYPED = 4_096;

const ENTER = ['\r', '\n'];
const ERASE = ['\u007f', '\b'];
const ERASE_ALL = '\u0015';
const CTRL_C = '\u0003';
const CTRL_D = '\u0004';
/** First character of the chunk that an arrow or another special key sends. */
const ESCAPE = '\u001b';

type Prompting = Pick<CliContext, 'stdin' | 'stderr'>;

export function isInteractive({ stdin }: Pick<CliContext, 'stdin'>): boolean {
  return stdin.isTTY === true;
}

/** True when a secret can be shown to a person: output reaches the terminal, and no file or pipe. */
export function isShown({ stdin, stderr }: Prompting): boolean {
  return isInteractive({ stdin }) && stderr.isTTY === true;
}

/** Throws `UsageError` when the command must ask first, as it has no --yes, and there is nobody to ask. */
export function checkMayAsk(args: ParsedArgs | undefined, context: Pick<CliContext, 'stdin'>, what: string): void {
  if (args?.has('yes') || isInteractive(context)) return;
  throw new UsageError(`this command asks before it ${what}, and there is no terminal to ask on: add --yes`);
}

/** Asks before something that cannot be undone. Throws `ExitError` (status 4) unless the answer is yes, `UsageError` without a terminal. */
export async function confirm(question: string, context: Prompting): Promise<void> {
  checkMayAsk(undefined, context, 'acts');
  const answer = await readLine(`${question} [y/N] `, context, false);
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new ExitError(DECLINED, 'aborted', 'the answer was not yes: nothing was done');
}

export function ask(question: string, context: Prompting): Promise<string> {
  return readLine(question, context, false);
}

/** Asks for a secret; what is typed is not shown. The terminal is restored when the promise settles. */
export async function askSecret(question: string, context: Prompting): Promise<string> {
  try {
    return await readLine(question, context, true);
  } finally {
    context.stderr.write('\n');
  }
}

/** Reads one line. For a `secret`, the terminal's echo is off and the line is edited here. */
function readLine(question: string, { stdin, stderr }: Prompting, secret: boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const decoder = new StringDecoder('utf8');
    let typed = '';

    const finish = (settle: () => void): void => {
      stdin.off('data', onData);
      stdin.off('end', onEnd);
      stdin.off('error', onError);
      stdin.pause();
      if (secret) stdin.setRawMode?.(false);
      settle();
    };
    const onEnd = (): void => finish(() => reject(inputEnded()));
    const onError = (error: Error): void => finish(() => reject(error));
    const onData = (chunk: Buffer | string): void => {
      const text = typeof chunk === 'string' ? chunk : decoder.write(chunk);
      if (text.startsWith(ESCAPE)) return;
      const keys = [...text];
      const last = keys.findIndex((key) => ENTER.includes(key) || key === CTRL_C || key === CTRL_D);
      typed = edited(typed, last === -1 ? keys : keys.slice(0, last));
      const end = keys[last];
      if (end === undefined) return;
      finish(() => {
        if (end === CTRL_C) reject(new ExitError(INTERRUPTED, 'aborted', 'interrupted: nothing was done'));
        else if (end === CTRL_D) reject(inputEnded());
        else resolve(typed);
      });
      // Text that was pasted after the line belongs to the next question; \r\n is one end of line.
      const rest = keys.slice(end === '\r' && keys[last + 1] === '\n' ? last + 2 : last + 1).join('');
      if (rest !== '') stdin.unshift(Buffer.from(rest, 'utf8'));
    };
    // The echo is off before the question is shown.
    if (secret) stdin.setRawMode?.(true);
    stderr.write(printableLines(question));
    stdin.on('data', onData);
    stdin.on('end', onEnd);
    stdin.on('error', onError);
    stdin.resume();
  });
}

function edited(line: string, keys: readonly string[]): string {
  let typed = [...line];
  for (const key of keys) {
    if (ERASE.includes(key)) typed = typed.slice(0, -1);
    else if (key === ERASE_ALL) typed = [];
    else if (key >= ' ' && typed.length < MAX_TYPED) typed.push(key);
  }
  return typed.join('');
}

function inputEnded(): UsageError {
  return new UsageError('the input ended before the question was answered');
}
