/** Runs asynchronous tasks one after the other, in the order in which they were given. */

export class Mutex {
  #tail: Promise<unknown> = Promise.resolve();

  /** Runs `task` when every task given before it has settled; its outcome is the outcome of the call. */
  run<T>(task: () => Promise<T> | T): Promise<T> {
    const result = this.#tail.then(task);
    this.#tail = result.catch(() => undefined);
    return result;
  }
}
