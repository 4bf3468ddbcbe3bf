/** A queue that several parties share: each is served in the order in which it came, and all of them in turn. */

export class FairQueue<T> {
  /** By party; the one whose turn it is stands first. */
  readonly #queues = new Map<string, Line<T>>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(party: string, item: T): void {
    const line = this.#queues.get(party);
    if (line === undefined) this.#queues.set(party, { items: [item], head: 0 });
    else line.items.push(item);
    this.#length += 1;
  }

  /** The next of the party whose turn it is; undefined when nothing is left. */
  shift(): T | undefined {
    for (const [party, line] of this.#queues) {
      const item = line.items[line.head++];
      this.#length -= 1;
      const isEmpty = line.head === line.items.length;
      if (!isEmpty) compact(line);
      // Who is alone keeps its place.
      if (isEmpty || this.#queues.size > 1) this.#queues.delete(party);
      if (!isEmpty) this.#queues.set(party, line);
      return item;
    }
    return undefined;
  }

  /** The last of the party that has most; of those with as many, the one whose turn is farthest. */
  drop(): T | undefined {
    const [most] = [...this.#queues]
      .reverse()
      .sort(([, a], [, b]) => b.items.length - b.head - (a.items.length - a.head));
    if (most === undefined) return undefined;
    const [party, line] = most;
    this.#length -= 1;
    if (line.items.length - line.head === 1) this.#queues.delete(party);
    return line.items.pop();
  }

  /** As many of the next as there are, up to `count`. */
  take(count: number): T[] {
    const taken: T[] = [];
    while (taken.length < count && this.#length > 0) taken.push(this.shift() as T);
    return taken;
  }
}

interface Line<T> {
  items: T[];
  /** Index of the first that was not taken. */
  head: number;
}

/** Lets go of what was taken, now and then: an array gives up its first element in a time that grows with its length. */
function compact<T>(line: Line<T>): void {
  if (line.head < 1_024 || line.head * 2 < line.items.length) return;
  line.items = line.items.slice(line.head);
  line.head = 0;
}
