/** Runs asynchronous tasks one after the other, in the order in which they were given. */

export class Mutex {
  #tail: Promise<unknown> = Promise.resolve();
  #pending = 0;

  /** True while a task runs or waits. */
  get isBusy(): boolean {
    return this.#pending > 0;
  }

  /** Runs `task` once every earlier task has settled, and returns its result or rejects with its error. */
  run<T>(task: () => Promise<T> | T): Promise<T> {
    this.#pending++;
    const result = this.#tail.then(task);
    this.#tail = result.catch(() => undefined);
    const end = (): void => void this.#pending--;
    result.then(end, end);
    return result;
  }
}
