/** How large the tables, wallets and archives are that a benchmark measures. */

export interface SizeOptions {
  /** Sizes that take seconds. */
  readonly short: boolean;
  /** From the smallest on, in place of those of the benchmark. */
  readonly sizes?: readonly number[] | undefined;
}

/** `10_000,1000000` as numbers. Throws a `RangeError`. */
export function readSizes(text: string): readonly number[] {
  const sizes = text.split(',').map((size) => Number(size.replaceAll('_', '')));
  if (sizes.every((size) => Number.isInteger(size) && size > 0)) return sizes.sort((a, b) => a - b);
  throw new RangeError(`--sizes takes numbers with commas between them, not ${text}`);
}
