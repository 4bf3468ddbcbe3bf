/** How trades are read from the command line, and shown. */

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Result } from '../../api/operation.js';
import type { getTrade } from '../../api/routes/wallet/trade-operations.js';
import { errorMessage } from '../../lib/errors.js';
import { printable } from '../../lib/printable.js';
import { type CliContext, type FlagSpec, type ParsedArgs, UsageError } from '../command.js';
import { writeNewFile } from '../new-file.js';
import { parseAmount, parseCount, showAmount } from '../wallet/amounts.js';

export type Trade = Result<typeof getTrade>;
type Asset = Trade['give'];

const FILE_MODE = 0o644;

export const OUT_FLAG: FlagSpec = {
  name: 'out',
  value: 'FILE',
  description: 'The file to write for the other party. It must not exist yet.',
};

export const RAW_FLAG: FlagSpec = { name: 'raw', description: 'Tokens are in raw units.' };

/** `1.5` are tokens, `3@GENESIS_HASH` items. Throws `UsageError`. */
export function parseAsset(text: string, isRaw: boolean) {
  const at = text.indexOf('@');
  if (at < 0) return { kind: 'token' as const, amount: parseAmount(text, isRaw) };
  return { kind: 'item' as const, amount: parseCount(text.slice(0, at)), genesis_hash: text.slice(at + 1) };
}

/** The document in a file. Throws `UsageError`. */
export async function readDocumentFile(file: string): Promise<Record<string, string | number | object | null>> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${errorMessage(error)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, string | number | object | null>;
  }
  throw new UsageError(`${file} holds no document of a trade`);
}

/** Throws `UsageError` when the file of --out exists: before anything is done. */
export function checkOut(args: ParsedArgs): void {
  const file = args.value(OUT_FLAG.name);
  if (file !== undefined && existsSync(file)) throw new UsageError(`${file} exists; name another file`);
}

/** Writes a document to the file of --out, or shows it; null when there is none for the other party. */
export async function handOver(document: object | null, args: ParsedArgs, { stdout }: CliContext): Promise<void> {
  const file = args.value(OUT_FLAG.name);
  if (document === null) return;
  const text = `${JSON.stringify(document, null, 2)}\n`;
  if (file === undefined) stdout.write(text);
  else await writeNewFile(file, text, FILE_MODE);
}

export function showAsset(asset: Asset): string {
  if (asset.kind === 'token') return showAmount(BigInt(asset.amount));
  return `${asset.amount} item${BigInt(asset.amount) === 1n ? '' : 's'} ${printable(asset.genesis_hash ?? '')}`;
}

/** Of Unix seconds; those that no date has are shown as they are. */
function showTime(seconds: Trade['expires_at']): string {
  const date = new Date(Number(seconds) * 1_000);
  return Number.isNaN(date.getTime()) ? `second ${seconds}` : date.toISOString();
}

/** Some lines about a trade. */
export function showTrade({ trade_id: id, state, give, get, metadata, reason, expires_at: end }: Trade): string {
  return [
    `trade ${id}`,
    `  state    ${state}${reason === null ? '' : `: ${printable(reason)}`}`,
    `  gives    ${showAsset(give)}`,
    `  gets     ${showAsset(get)}`,
    ...(metadata === null ? [] : [`  metadata ${printable(metadata)}`]),
    `  stands until ${showTime(end)}`,
  ]
    .map((line) => `${line}\n`)
    .join('');
}
