/** Reads assets and documents of trades from the command line, and hands over the documents that steps of a trade make. */

import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Result } from '../api/operation.js';
import type { getTrade } from '../api/routes/wallet/trade-operations.js';
import { writeFileDurable } from '../db/write-file-durable.js';
import { utf8 } from '../lib/bytes.js';
import { errorMessage } from '../lib/errors.js';
import { parseJsonFile, stringifyExact } from '../lib/json.js';
import { printable, printableJson } from '../lib/printable.js';
import { MAX_DOCUMENT_FILE, readBoundedText } from '../lib/read-bounded.js';
import { type CliContext, type FlagSpec, flag, type ParsedArgs, UsageError } from './command.js';
import { writeNewFile } from './named-file.js';
import { parseAmount, parseCount, showAmount } from './wallet/amounts.js';

export type Trade = Result<typeof getTrade>;

const FILE_MODE = 0o644;

export const OUT_FLAG: FlagSpec = flag('--out FILE', 'The file to write for the other party. It must not exist yet.');

export const RAW_FLAG: FlagSpec = flag('--raw', 'Tokens are in raw units.');

/** `1.5` are tokens, `3@GENESIS_HASH` items. Throws `UsageError`. */
export function parseAsset(text: string, isRaw: boolean) {
  const at = text.indexOf('@');
  if (at < 0) return { kind: 'token' as const, amount: parseAmount(text, isRaw) };
  return { kind: 'item' as const, amount: parseCount(text.slice(0, at)), genesis_hash: text.slice(at + 1) };
}

export async function readDocumentFile(file: string): Promise<Record<string, string | number | object | null>> {
  let value: unknown;
  try {
    value = parseJsonFile(readBoundedText(file, MAX_DOCUMENT_FILE));
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${errorMessage(error)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, string | number | object | null>;
  }
  throw new UsageError(`${file} holds no document of a trade`);
}

/**
 * Shows what a step has made of the trade, and gives its document for the other party, if there is one, to the file of --out, else to
 * standard output. Without --out it is shown only when `isForHand`: no link has taken it there. With --json the trade has it.
 */
type HandOver = (trade: Trade, document: object | null, isForHand: boolean) => Promise<number>;

/**
 * Makes the file of --out, does the work, and removes the file when nothing came into it. Throws `UsageError` when it exists, and
 * `invalid_request` when it cannot be made: then nothing was done.
 */
export async function withOut(
  args: ParsedArgs,
  { stdout, stderr }: CliContext,
  work: (handOver: HandOver) => Promise<number>,
): Promise<number> {
  const file = args.value(OUT_FLAG.name);
  const isJson = args.has('json');
  let isGiven = false;
  const show = (document: object): unknown => stdout.write(`${printableJson(JSON.stringify(document, null, 2))}\n`);
  const give = async (path: string, document: object): Promise<void> => {
    try {
      await writeFileDurable(path, utf8(`${JSON.stringify(document, null, 2)}\n`), FILE_MODE);
      isGiven = true;
    } catch (error) {
      // The step is done: the document must not be lost. With --json it is in the trade.
      if (!isJson) show(document);
      stderr.write(`warning: ${path} cannot be written (${errorMessage(error)}): the document is shown instead\n`);
    }
  };
  if (file !== undefined && existsSync(file)) throw new UsageError(`${file} exists; name another file`);
  if (file !== undefined) await writeNewFile(file, '', FILE_MODE);
  try {
    return await work(async (trade, document, isForHand) => {
      if (isJson) stdout.write(`${stringifyExact(trade)}\n`);
      if (document !== null && file !== undefined) await give(file, document);
      else if (document !== null && isForHand && !isJson) show(document);
      stderr.write(showTrade(trade));
      return 0;
    });
  } finally {
    if (file !== undefined && !isGiven) await rm(file, { force: true });
  }
}

export function showAsset(asset: Trade['give']): string {
  if (asset.kind === 'token') return showAmount(BigInt(asset.amount));
  return `${asset.amount} item${BigInt(asset.amount) === 1n ? '' : 's'} ${printable(asset.genesis_hash ?? '')}`;
}

/** Shows Unix seconds; values beyond any date are shown unchanged. */
function showTime(seconds: Trade['expires_at']): string {
  const date = new Date(Number(seconds) * 1_000);
  return Number.isNaN(date.getTime()) ? `second ${seconds}` : date.toISOString();
}

export function showTrade({ trade_id: id, state, give, get, metadata, reason, expires_at: end }: Trade): string {
  return [
    `trade ${printable(id)}`,
    `  state    ${printable(state)}${reason === null ? '' : `: ${printable(reason)}`}`,
    `  gives    ${showAsset(give)}`,
    `  gets     ${showAsset(get)}`,
    ...(metadata === null ? [] : [`  metadata ${printable(metadata)}`]),
    `  stands until ${showTime(end)}`,
  ]
    .map((line) => `${line}\n`)
    .join('');
}
