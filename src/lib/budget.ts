/**
 * Budget of places, bytes or several measures: a total, and a share for each holder, which is fixed or as large as the
 * room it leaves (as switches share a buffer), so that later holders find room.
 */

/** One number for each measure of a budget. */
export type Amount = readonly number[];

export interface BudgetLimits {
  /** Limit of all holders together. */
  readonly total: Amount;
  /** Limit of one holder. `free`: a holder may have as much as it leaves free. Without a share it may take all that is left. */
  readonly share?: Amount | 'free';
  /** True if a holder that has nothing keeps to its share as well; else its first amount may be all that is left. */
  readonly alsoFirst?: boolean;
  /** The error for a refused amount. `own`: the holder's amount so far; `isShare`: its share was the limit, not the total. */
  readonly refuse: (own: Amount, isShare: boolean) => Error;
}

export class Budget {
  readonly #limits: BudgetLimits;
  readonly #nothing: Amount;
  #taken: Amount;
  readonly #held = new Map<string, Amount>();

  /** Makes a budget, by default of one measure and without limits, which only counts. */
  constructor(
    limits: BudgetLimits = { total: [Number.POSITIVE_INFINITY], refuse: () => new Error('it has no limits') },
  ) {
    this.#limits = limits;
    this.#nothing = limits.total.map(() => 0);
    this.#taken = this.#nothing;
  }

  get taken(): Amount {
    return this.#taken;
  }

  of(holder: string | undefined): Amount {
    return (holder !== undefined && this.#held.get(holder)) || this.#nothing;
  }

  /** Counts an amount until the returned function is called; a second call has no effect. Throws the error of `refuse`. */
  take(holder: string | undefined, amount: Amount): () => void {
    this.check(holder, amount);
    return this.add(holder, amount);
  }

  /** Throws the error of `take` if it would. `taken` is for callers who know better than the budget what is taken. */
  check(holder: string | undefined, amount: Amount, taken = this.#taken): void {
    const isBeyondShare = !this.isWithinShare(holder, amount, taken);
    if (isBeyondShare || !this.hasRoom(amount, taken)) throw this.#limits.refuse(this.of(holder), isBeyondShare);
  }

  /** True if the total has room for the amount. */
  hasRoom(amount: Amount, taken = this.#taken): boolean {
    return this.#limits.total.every((max, i) => at(taken, i) + at(amount, i) <= max);
  }

  /** True if the share of the holder has room for the amount. Without a holder there is no share. */
  isWithinShare(holder: string | undefined, amount: Amount, taken = this.#taken): boolean {
    const { share, total, alsoFirst } = this.#limits;
    if (share === undefined || holder === undefined) return true;
    const own = this.#held.get(holder);
    if (own === undefined && !alsoFirst) return true;
    return total.every((max, i) => {
      const limit = share === 'free' ? max - at(taken, i) - at(amount, i) : at(share, i);
      return at(own ?? this.#nothing, i) + at(amount, i) <= limit;
    });
  }

  /** Counts an amount as `take` does, even without room. */
  add(holder: string | undefined, amount: Amount): () => void {
    this.#change(holder, amount, 1);
    let isReleased = false;
    return () => {
      if (!isReleased) this.#change(holder, amount, -1);
      isReleased = true;
    };
  }

  #change(holder: string | undefined, amount: Amount, sign: 1 | -1): void {
    this.#taken = sum(this.#taken, amount, sign);
    if (holder === undefined) return;
    const own = sum(this.of(holder), amount, sign);
    if (own.some((one) => one > 0)) this.#held.set(holder, own);
    else this.#held.delete(holder);
  }
}

export function sum(a: Amount, b: Amount, sign: 1 | -1 = 1): Amount {
  return a.map((one, i) => one + sign * at(b, i));
}

function at(amount: Amount, i: number): number {
  return amount[i] ?? 0;
}

/** Number of places, and of those that one holder may have. */
export interface Places {
  readonly total: number;
  readonly share: number;
}

/** Candidates of which one must go for another place of `holder`, in the order of `taken`; none while there is room. */
export function inTheWay<T>(
  taken: Iterable<T>,
  holderOf: (one: T) => string,
  holder: string,
  { total, share }: Places,
): readonly T[] {
  const all = [...taken];
  const counts = new Map<string, number>();
  for (const one of all) counts.set(holderOf(one), (counts.get(holderOf(one)) ?? 0) + 1);
  if ((counts.get(holder) ?? 0) >= share) return all.filter((one) => holderOf(one) === holder);
  const most = Math.max(...counts.values());
  return all.length < total ? [] : all.filter((one) => counts.get(holderOf(one)) === most);
}
