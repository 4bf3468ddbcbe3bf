/** Chooses coins: an exact sum by branch and bound, then the smallest single coin with sound change, then largest first. */

export interface Selectable {
  readonly amount: bigint;
}

/** Coins in ascending order of amount: an array, or another structure that keeps them in order. */
export interface CoinList<T> {
  readonly length: number;
  at(index: number): T | undefined;
  slice(from?: number, to?: number): T[];
  /** The sum of all coins, where it is known. */
  readonly total?: bigint | undefined;
}

export interface SelectionLimits {
  /** The most inputs of one transaction. */
  readonly maxInputs: number;
  /** Change below this is avoided where another choice exists. */
  readonly dust: bigint;
}

export type Selection<T> =
  | { readonly kind: 'found'; readonly coins: readonly T[]; readonly change: bigint }
  | { readonly kind: 'short'; readonly total: bigint }
  /** The funds suffice, but only with more inputs than one transaction may have; `reachable` is what it could pay. */
  | { readonly kind: 'scattered'; readonly reachable: bigint };

/** The most coins that branch and bound looks at: the largest that do not exceed the target. */
const WINDOW = 100;
/** The most inputs that a sum without change may have. */
const MAX_EXACT_INPUTS = 8;
/** The most steps of the search; about a millisecond. */
const MAX_TRIES = 4_000;

/** Selects from `coins`, which are in ascending order of amount, at least `target` (more than 0). */
export function selectCoins<T extends Selectable>(
  coins: CoinList<T>,
  target: bigint,
  limits: SelectionLimits,
): Selection<T> {
  const exact = exactSum(coins, target, Math.min(limits.maxInputs, MAX_EXACT_INPUTS));
  if (exact) return found(exact, target);
  const single = coins.at(lowerBound(coins, target + limits.dust));
  if (single && limits.maxInputs >= 1) return found([single], target);
  return largestFirst(coins, target, limits);
}

export function lowerBound(coins: CoinList<Selectable>, amount: bigint): number {
  let low = 0;
  let high = coins.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const coin = coins.at(middle);
    if (coin && coin.amount < amount) low = middle + 1;
    else high = middle;
  }
  return low;
}

function found<T extends Selectable>(coins: readonly T[], target: bigint): Selection<T> {
  return { kind: 'found', coins, change: sum(coins) - target };
}

function sum(coins: readonly Selectable[]): bigint {
  return coins.reduce((total, { amount }) => total + amount, 0n);
}

/** Coins that add up to the target, or undefined when the search found none. */
function exactSum<T extends Selectable>(coins: CoinList<T>, target: bigint, maxInputs: number): T[] | undefined {
  const end = lowerBound(coins, target + 1n);
  const window = coins.slice(Math.max(0, end - WINDOW), end).reverse();
  // rest[i]: sum of the coins from i on; a branch that can no longer reach the target is cut.
  const rest = new Array<bigint>(window.length + 1).fill(0n);
  for (let i = window.length - 1; i >= 0; i--) rest[i] = (rest[i + 1] ?? 0n) + (window[i]?.amount ?? 0n);
  const chosen: T[] = [];
  let tries = MAX_TRIES;

  function search(from: number, missing: bigint): boolean {
    if (missing === 0n) return chosen.length > 0;
    if (chosen.length === maxInputs) return false;
    for (let i = from; i < window.length; i++) {
      const coin = window[i];
      if (coin === undefined || (rest[i] ?? 0n) < missing || tries-- <= 0) return false;
      // A coin like the one just left out leads to the same sums.
      const same = i > from && window[i - 1]?.amount === coin.amount;
      if (same || coin.amount > missing || coin.amount === 0n) continue;
      chosen.push(coin);
      if (search(i + 1, missing - coin.amount)) return true;
      chosen.pop();
    }
    return false;
  }

  return search(0, target) ? chosen : undefined;
}

/** Selects the fewest inputs, with change of at least `dust` if coins and limit allow it. */
function largestFirst<T extends Selectable>(
  coins: CoinList<T>,
  target: bigint,
  { maxInputs, dust }: SelectionLimits,
): Selection<T> {
  const sound = takeLargest(coins, target + dust, maxInputs);
  if (sound.total >= target + dust) return found(shrinkLast(coins, sound.chosen, sound.total, target + dust), target);
  const { chosen, total } = takeLargest(coins, target, maxInputs);
  if (total >= target) return found(chosen, target);
  const all = coins.total ?? sum(coins.slice());
  return all < target ? { kind: 'short', total: all } : { kind: 'scattered', reachable: total };
}

function takeLargest<T extends Selectable>(
  coins: CoinList<T>,
  enough: bigint,
  maxInputs: number,
): { readonly chosen: T[]; readonly total: bigint } {
  const chosen: T[] = [];
  let total = 0n;
  for (let i = coins.length - 1; i >= 0 && chosen.length < maxInputs && total < enough; i--) {
    const coin = coins.at(i);
    if (coin === undefined) break;
    chosen.push(coin);
    total += coin.amount;
  }
  return { chosen, total };
}

/** The smallest coin of at least `amount` that is not chosen; the chosen ones are the largest. */
function freeCoin<T extends Selectable>(coins: CoinList<T>, chosen: readonly T[], amount: bigint): T | undefined {
  const at = lowerBound(coins, amount);
  return at < coins.length - chosen.length ? coins.at(at) : undefined;
}

/** Replaces the last coin by the smallest that still suffices: large coins stay free for other payments. */
function shrinkLast<T extends Selectable>(
  coins: CoinList<T>,
  chosen: readonly T[],
  total: bigint,
  enough: bigint,
): readonly T[] {
  const last = chosen.at(-1);
  if (last === undefined) return chosen;
  const before = chosen.slice(0, -1);
  const smaller = freeCoin(coins, before, enough - (total - last.amount));
  return smaller && smaller.amount < last.amount ? [...before, smaller] : chosen;
}
