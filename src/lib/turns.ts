/** Lets long tasks share the event loop with everything else: each gives way often, and one of them goes on in a turn. */

export class Turns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves in a later turn of the event loop; of all who wait, one in each turn, in order. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(this.#run);
    });
  }

  readonly #run = (): void => {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(this.#run);
  };
}
