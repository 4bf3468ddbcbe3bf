/** A typed event: listeners are called in the order they were added; one that throws does not stop the others. */

/** What listeners see of it. */
export interface Signal<T> {
  /** Adds a listener; the returned function removes it. */
  on(listener: (value: T) => void): () => void;
}

/** What its owner holds. */
export class SignalSource<T> implements Signal<T> {
  readonly #listeners = new Set<(value: T) => void>();
  readonly #onError: (error: unknown) => void;

  /** `onError` gets what a listener throws; without it the error is rethrown on its own turn of the loop. */
  constructor(onError: (error: unknown) => void = rethrowLater) {
    this.#onError = onError;
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
        this.#onError(error);
      }
    }
  }
}

function rethrowLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
