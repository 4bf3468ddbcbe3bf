/** Runs asynchronous tasks one after the other, in the order they were given. */

export interface Mutex {
  /** Runs `task` when every task given before it has settled; its outcome is the outcome of the call. */
  run<T>(task: () => Promise<T> | T): Promise<T>;
}

export function createMutex(): Mutex {
  let tail: Promise<unknown> = Promise.resolve();
  return {
    run<T>(task: () => Promise<T> | T): Promise<T> {
      const result = tail.then(task);
      tail = result.catch(() => undefined);
      return result;
    },
  };
}
