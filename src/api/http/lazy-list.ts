/** Lists and maps whose entries are made as they are written, so that a long answer never exists as objects. */

export class LazyList<V> implements Iterable<V> {
  readonly #entries: () => Iterator<V>;

  private constructor(entries: () => Iterator<V>) {
    this.#entries = entries;
  }

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

/** The members of an object with free keys, in their order. */
export class LazyMap<V> implements Iterable<readonly [string, V]> {
  readonly #members: LazyList<readonly [string, V]>;

  private constructor(members: LazyList<readonly [string, V]>) {
    this.#members = members;
  }

  static of<T, V>(source: Iterable<readonly [string, T]>, view: (value: T) => V): LazyMap<V> {
    return new LazyMap(LazyList.of(source, ([key, value]) => [key, view(value)] as const));
  }

  [Symbol.iterator](): Iterator<readonly [string, V]> {
    return this.#members[Symbol.iterator]();
  }
}
