/** Figures that follow from blocks: how fast, how hard, how much. */

import { TOTAL_TOKENS } from '../../src/chain/constants.js';
import { paidOf } from '../../src/chain/transaction.js';
import type { Block, Transaction } from './chain/shapes.js';

const HASHES = 1n << 256n;
/** Hashes of one block at the fixed difficulty: one of 256 begins with a zero byte. */
const FIXED = 256;
const MANTISSA_BYTES = 3;

/** Number of hashes that a block takes on average (docs/chain.md#proof-of-work). `difficulty` is the compact target in hex. */
export function expectedHashes(difficulty: string): number {
  if (difficulty === '') return FIXED;
  const compact = Number.parseInt(difficulty, 16);
  const shift = BigInt(8 * Math.abs((compact >>> 24) - MANTISSA_BYTES));
  const mantissa = BigInt(compact & 0x7f_ffff);
  const target = compact >>> 24 <= MANTISSA_BYTES ? mantissa >> shift : mantissa << shift;
  return target <= 0n ? Number.POSITIVE_INFINITY : Math.max(1, Math.round(Number(HASHES) / (Number(target) + 1)));
}

/** Seconds between each block and the one before it, oldest first; without times, none. */
export function intervals(newestFirst: readonly Block[]): { readonly x: number; readonly y: number }[] {
  const found = [];
  for (let at = newestFirst.length - 2; at >= 0; at--) {
    const [block, before] = [newestFirst[at], newestFirst[at + 1]];
    if (block === undefined || before === undefined || Number(before.time) <= 0) continue;
    found.push({ x: Number(block.block_num), y: Math.max(0, Number(block.time) - Number(before.time)) });
  }
  return found;
}

/** Transactions in a second, over the blocks; undefined when they have taken no time. */
export function throughput(newestFirst: readonly Block[]): number | undefined {
  const timed = newestFirst.filter(({ time }) => Number(time) > 0);
  const seconds = Number(timed[0]?.time ?? 0) - Number(timed.at(-1)?.time ?? 0);
  if (seconds <= 0) return undefined;
  // What is in the first of them was there before that time.
  const transactions = timed.slice(0, -1).reduce((sum, block) => sum + payments(block), 0);
  return transactions / seconds;
}

/** Number of transactions without the coinbase. */
export const payments = ({ transactions }: Block): number => Math.max(0, Number(transactions) - 1);

export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

/** Parts of the whole supply, in percent with three decimals. */
export function percentIssued(issued: number | bigint): string {
  const thousandths = (BigInt(issued) * 100_000n) / TOTAL_TOKENS;
  return `${thousandths / 1_000n}.${(thousandths % 1_000n).toString().padStart(3, '0')} %`;
}

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
];

/** Seconds in the largest unit that fits: `3.2 s`, `4 min`. Blocks have whole seconds. */
export function duration(seconds: number): string {
  if (seconds < 1) return 'under 1 s';
  const [unit, size] = UNITS.find(([, length]) => seconds >= 2 * length) ?? ['s', 1];
  return `${Number((seconds / size).toPrecision(3))} ${unit}`;
}

/** `1.2 k`, `3.4 M`; for numbers of which only the size matters. */
export function short(value: number): string {
  return new Intl.NumberFormat(undefined, { notation: 'compact', maximumSignificantDigits: 3 }).format(value);
}

/** Size in bytes, for people. */
export function byteSize(size: bigint): string {
  const bytes = Number(size);
  if (bytes < 1_024) return `${bytes} bytes`;
  return bytes < 1_048_576 ? `${(bytes / 1_024).toPrecision(3)} KiB` : `${(bytes / 1_048_576).toPrecision(3)} MiB`;
}

/** Start of the next part of a transaction, behind the list that ends first; undefined at the end of both. */
export function nextPart({ first_input, inputs, input_count, first_output, outputs, output_count }: Transaction) {
  const ends = [
    [Number(first_input) + inputs.length, Number(input_count)],
    [Number(first_output) + outputs.length, Number(output_count)],
  ] as const;
  const open = ends.flatMap(([end, count]) => (end < count ? [end] : []));
  return open.length === 0 ? undefined : Math.min(...open);
}

/** What a transaction has paid, without change; undefined when not all of its inputs and outputs are at hand. */
export function paidIn({ inputs, input_count, outputs, output_count }: Transaction): bigint | undefined {
  if (inputs.length < Number(input_count) || outputs.length < Number(output_count)) return undefined;
  const amounts = outputs.flatMap(({ asset, amount, fee }) => (asset === 'token' && !fee ? [BigInt(amount)] : []));
  return paidOf(
    inputs.some(({ source }) => source !== null),
    amounts,
  );
}
