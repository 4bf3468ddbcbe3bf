/** A list whose entries are made as they are written, so that a long answer never exists as objects. */

export class LazyList<V> implements Iterable<V> {
  readonly #entries: () => Iterator<V>;

  private constructor(entries: () => Iterator<V>) {
    this.#entries = entries;
  }

  /** The views of some entries, in their order. */
  static of<T, V>(source: Iterable<T>, view: (entry: T, index: number) => V): LazyList<V> {
    return new LazyList(function* () {
      let index = 0;
      for (const entry of source) yield view(entry, index++);
    });
  }

  [Symbol.iterator](): Iterator<V> {
    return this.#entries();
  }
}
