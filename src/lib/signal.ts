/** A typed event: listeners are called in the order they were added; one that throws does not stop the others. */

/** The listeners' side of an event. */
export interface Signal<T> {
  /** Adds a listener; the returned function removes it. */
  on(listener: (value: T) => void): () => void;
}

/** The owner's side of an event. */
export class SignalSource<T> implements Signal<T> {
  readonly #listeners = new Set<(value: T) => void>();
  readonly #onError: (error: unknown) => void;

  /** `onError` gets what a listener throws; by default the error is thrown again after the running code, as an uncaught error. */
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
