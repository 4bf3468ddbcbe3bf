/** Output of commands for people: tables, warnings, and, on the error stream, how far a long work is. */

import type { Keypair } from '../api/routes/wallet/schemas.js';
import { temporaryAddressWarning } from '../chain/address.js';
import { ADDRESS_VERSION_TEMP } from '../chain/constants.js';
import { type Clock, systemClock, type Timer } from '../lib/clock.js';
import { printable } from '../lib/printable.js';
import { Progress } from '../observability/progress.js';
import { type CliContext, type CliProcess, onStopSignal } from './command.js';

/** Shows the progress of a task: a bar on a terminal, a line every few seconds elsewhere. */
export function startProgress(task: string, unit: string, { stderr }: CliContext, clock: Clock): Progress {
  const progress = new Progress(
    { task, unit },
    stderr.isTTY === true ? { clock, terminal: stderr } : { clock, line: (text) => void stderr.write(`${text}\n`) },
  );
  // The task begins now.
  progress.update(0);
  return progress;
}

export async function interruptible<T>(context: CliContext, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  const remove = onStopSignal(context, () => abort.abort());
  return work(abort.signal).finally(remove);
}

interface LongWork {
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number) => void;
}

export function withProgress<T>(
  [task, unit]: readonly [task: string, unit: string],
  context: CliContext,
  work: (long: LongWork) => Promise<T>,
): Promise<T> {
  return interruptible(context, async (signal) => {
    const progress = startProgress(task, unit, context, systemClock);
    return work({ signal, onProgress: (done, total) => progress.update(done, total) }).finally(() => progress.end());
  });
}

interface Column {
  readonly title: string;
  readonly align?: 'right';
}

export function right(title: string): Column {
  return { title, align: 'right' };
}

export function table(titles: readonly (string | Column)[], rows: readonly (readonly string[])[]): string {
  const columns = titles.map((title) => (typeof title === 'string' ? { title } : title));
  // Cells are made printable, since an address of the chain may be any text.
  const lines = [columns.map(({ title }) => title), ...rows.map((row) => row.map((text) => printable(text)))];
  const widths = columns.map((_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)));
  const cell = (text: string, i: number): string =>
    columns[i]?.align === 'right' ? text.padStart(widths[i] ?? 0) : text.padEnd(widths[i] ?? 0);
  return lines.map((line) => `${line.map(cell).join('  ').trimEnd()}\n`).join('');
}

/** Milliseconds until the first message, and between messages on a terminal and elsewhere. */
const FIRST = 1_000;
const ON_TERMINAL = 1_000;
const ELSEWHERE = 5_000;

export async function whileWaiting<T>(
  task: string,
  work: Promise<T>,
  { stderr }: Pick<CliProcess, 'stderr'>,
  { clock, limitMs }: { readonly clock: Clock; readonly limitMs?: number } = { clock: systemClock },
): Promise<T> {
  const limit = limitMs === undefined ? '' : ` of ${Math.round(limitMs / 1_000)} s`;
  const started = clock.monotonic();
  const onTerminal = stderr.isTTY === true;
  let shown = false;
  let timer: Timer;
  const show = (): void => {
    shown = true;
    const text = `${task}: ${Math.round((clock.monotonic() - started) / 1_000)} s${limit}`;
    stderr.write(onTerminal ? `\r\u001b[K${text}` : `${text}\n`);
    timer = clock.after(onTerminal ? ON_TERMINAL : ELSEWHERE, show);
  };
  timer = clock.after(FIRST, show);
  try {
    return await work;
  } finally {
    timer.cancel();
    if (shown && onTerminal) stderr.write('\r\u001b[K');
  }
}

export function warnOfTemporary(addresses: readonly string[] | undefined, { stderr }: CliContext): void {
  const warning = temporaryAddressWarning(addresses);
  if (warning !== undefined) stderr.write(`warning: ${printable(warning)}\n`);
}

export function warnOfTemporaryPairs(pairs: readonly (readonly [string, Keypair])[], context: CliContext): void {
  const temporary = pairs.filter(([, pair]) => pair.address_version === ADDRESS_VERSION_TEMP);
  warnOfTemporary(
    temporary.map(([address]) => address),
    context,
  );
}
