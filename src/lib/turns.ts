/** Lets long tasks share the event loop: each yields often, and in each iteration of the loop one of them continues. */

export class Turns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves in a later iteration of the event loop. Waiting callers continue in order, one in each iteration. */
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
