/** A typed event: listeners are called in the order they were added; one that throws does not stop the others. */

export interface Signal<T> {
  /** Adds a listener; the returned function removes it. */
  on(listener: (value: T) => void): () => void;
}

export interface SignalSource<T> extends Signal<T> {
  emit(value: T): void;
}

/** `onError` gets what a listener throws; without it the error is rethrown on its own turn of the loop. */
export function createSignal<T>(onError?: (error: unknown) => void): SignalSource<T> {
  const listeners = new Set<(value: T) => void>();
  return {
    on(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    emit(value) {
      for (const listener of [...listeners]) {
        try {
          listener(value);
        } catch (error) {
          if (onError) onError(error);
          else
            queueMicrotask(() => {
              throw error;
            });
        }
      }
    },
  };
}
