/**
 * Rounds in which contestants take turns, and what is made of them: medians with quartiles, and ratios round by round. Other
 * work on the machine then falls on all of them, and what one round suffers from does not move the median.
 */

export interface Measured {
  readonly median: number;
  /** Quartiles. */
  readonly low: number;
  readonly high: number;
}

/** Rounds before those that count. */
const WARM_UP = 1;

/**
 * Runs every contestant once in each round, in an order that changes, and gives the values of each, round by round. The first
 * round warms up.
 */
export async function interleave<T, V>(
  contestants: readonly T[],
  rounds: number,
  run: (contestant: T, round: number) => V | Promise<V>,
): Promise<readonly (readonly V[])[]> {
  const values = contestants.map((): V[] => []);
  for (let round = 0; round < WARM_UP + rounds; round++) {
    for (let i = 0; i < contestants.length; i++) {
      const at = (round + i) % contestants.length;
      const value = await run(contestants[at] as T, round);
      if (round >= WARM_UP) values[at]?.push(value);
    }
  }
  return values;
}

/** How many times `interleave` runs each contestant. */
export function runsOf(rounds: number): number {
  return WARM_UP + rounds;
}

export function measured(values: readonly number[]): Measured {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => {
    const place = share * (sorted.length - 1);
    const below = sorted[Math.floor(place)] ?? 0;
    return below + ((sorted[Math.ceil(place)] ?? 0) - below) * (place % 1);
  };
  return { median: at(0.5), low: at(0.25), high: at(0.75) };
}

/** One contestant beside another: the ratio of each round. */
export function ratios(values: readonly number[], others: readonly number[]): Measured {
  return measured(values.map((value, round) => value / (others[round] ?? Number.NaN)));
}
