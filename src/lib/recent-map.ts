/** A map of the entries that were used last, in two ages only, which halves the cost of an exact order of use. */

export class RecentMap<V> {
  readonly #least: number;
  #young = new Map<string, V>();
  #old = new Map<string, V>();

  /** Keeps the last `least` entries for certain, and never more than twice as many. */
  constructor(least: number) {
    this.#least = least;
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: V): void {
    if (this.#young.size >= this.#least) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }
}
