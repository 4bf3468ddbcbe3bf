/** A queue that several parties share: items of a party are served in the order in which they came, and parties in turn. */

export class FairQueue<T> {
  /** Lines by party; the party whose turn it is stands first. */
  readonly #lines = new Map<string, Line<T>>();
  #length = 0;
  #size = 0;

  get length(): number {
    return this.#length;
  }

  /** Size of all items together, by the sizes given to `push`. */
  get size(): number {
    return this.#size;
  }

  push(party: string, item: T, size = 1): void {
    const line = this.#lines.get(party) ?? { items: [], head: 0, size: 0 };
    line.items.push({ item, size });
    this.#count(line, size, 1);
    this.#lines.set(party, line);
  }

  /** Takes the next item of the first party in turn whose next item may go; undefined when there is none. */
  shift(mayGo?: (item: T) => boolean): T | undefined {
    const found = this.#find(mayGo);
    if (found === undefined) return undefined;
    const { party, line, next } = found;
    line.head++;
    this.#count(line, next.size, -1);
    const isEmpty = line.head === line.items.length;
    if (!isEmpty) compact(line);
    // The only party keeps its place.
    if (isEmpty || this.#lines.size > 1) this.#lines.delete(party);
    if (!isEmpty) this.#lines.set(party, line);
    return next.item;
  }

  /** The item that `shift` would take. */
  peek(mayGo?: (item: T) => boolean): T | undefined {
    return this.#find(mayGo)?.next.item;
  }

  /** Takes out an item that is not needed any more; false when it is not in the queue. */
  delete(party: string, item: T): boolean {
    const line = this.#lines.get(party);
    const index = line?.items.findIndex((one, i) => i >= line.head && one.item === item) ?? -1;
    if (line === undefined || index === -1) return false;
    this.#remove(party, line, index);
    return true;
  }

  /** Takes the last item of the party with the largest line; of equally large ones, the party whose turn is farthest. */
  drop(): T | undefined {
    const [most] = [...this.#lines].reverse().sort(([, a], [, b]) => b.size - a.size);
    return most && this.#remove(...most, most[1].items.length - 1);
  }

  /** Takes the next items, up to `count`. */
  take(count: number): T[] {
    const taken: T[] = [];
    while (taken.length < count && this.#length > 0) taken.push(this.shift() as T);
    return taken;
  }

  #find(mayGo: ((item: T) => boolean) | undefined) {
    for (const [party, line] of this.#lines) {
      const next = line.items[line.head];
      if (next !== undefined && (mayGo === undefined || mayGo(next.item))) return { party, line, next };
    }
    return undefined;
  }

  #remove(party: string, line: Line<T>, index: number): T | undefined {
    const [removed] = line.items.splice(index, 1);
    this.#count(line, removed?.size ?? 0, -1);
    if (line.items.length === line.head) this.#lines.delete(party);
    return removed?.item;
  }

  #count(line: Line<T>, size: number, sign: 1 | -1): void {
    line.size += sign * size;
    this.#size += sign * size;
    this.#length += sign;
  }
}

interface Line<T> {
  items: { readonly item: T; readonly size: number }[];
  /** Index of the first item that was not taken. */
  head: number;
  /** Size of the items that were not taken. */
  size: number;
}

/** Drops taken items now and then: an array gives up its first element in a time that grows with its length. */
function compact<T>(line: Line<T>): void {
  if (line.head < 1_024 || line.head * 2 < line.items.length) return;
  line.items = line.items.slice(line.head);
  line.head = 0;
}
