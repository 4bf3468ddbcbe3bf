/** Runs asynchronous tasks one after the other, in the order in which they were given. */

export class Mutex {
  #tail: Promise<unknown> = Promise.resolve();

  /** Runs `task` once every earlier task has settled, and returns its result or rejects with its error. */
  run<T>(task: () => Promise<T> | T): Promise<T> {
    const result = this.#tail.then(task);
    this.#tail = result.catch(() => undefined);
    return result;
  }
}
