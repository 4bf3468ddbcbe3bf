/** How large the tables, wallets and archives are that a benchmark measures, and where they are while it does. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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

/** Measures one size after the other, each in a new folder, which is removed afterwards. */
export async function inFolders(
  name: string,
  sizes: readonly number[],
  measure: (folder: string, size: number) => Promise<void>,
): Promise<void> {
  for (const size of sizes) {
    const folder = await mkdtemp(join(tmpdir(), `tessera-bench-${name}-`));
    try {
      await measure(folder, size);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}
