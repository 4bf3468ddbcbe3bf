/** A typed event: listeners are called in the order they were added; one that throws does not stop the others. */

import type { Logger } from './logger.js';

/** The listeners' side of an event. */
export interface Signal<T> {
  /** Adds a listener; the returned function removes it. */
  on(listener: (value: T) => void): () => void;
}

/** The owner's side of an event. */
export class SignalSource<T> implements Signal<T> {
  readonly #listeners = new Set<(value: T) => void>();
  readonly #logger: Logger | undefined;

  /** What a listener throws is logged; without a logger it is thrown again after the running code, as an uncaught error. */
  constructor(logger?: Logger) {
    this.#logger = logger;
  }

  on(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  emit(value: T): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(value);
      } catch (error) {
        this.#fail(error);
      }
    }
  }

  #fail(error: unknown): void {
    if (this.#logger !== undefined) this.#logger.error({ err: error }, 'a listener failed');
    else
      queueMicrotask(() => {
        throw error;
      });
  }
}
