/** Resource that a page reads from the node: loaded, kept while it is read again, and read again when the node is back. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { isTesseraError } from '../../src/sdk/client.js';
import { useStream } from './use-stream.js';

export interface Resource<T> {
  /** The last answer, also while a newer one is on its way; undefined before the first. */
  readonly value: T | undefined;
  /** Why the last reading failed; undefined when it did not. */
  readonly error: Error | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

interface State<T> {
  readonly key: string | undefined;
  readonly value?: T;
  readonly error?: Error;
  readonly isLoading: boolean;
}

const MS_PER_SECOND = 1_000;

/**
 * Reads when `key` changes, and forgets the former answer; reads again, and keeps it, when `version` changes. Changes that come
 * while it reads lead to one more reading after it, so that a page is never starved by a fast chain. A node that names a time
 * to ask again is asked then, and one that was away when it is back. An undefined key reads nothing.
 */
export function useResource<T>(
  key: string | undefined,
  read: (signal: AbortSignal) => Promise<T>,
  version: number | string = 0,
): Resource<T> {
  const [state, setState] = useState<State<T>>({ key, isLoading: key !== undefined });
  const [again, setAgain] = useState(0);
  const reader = useRef(read);
  reader.current = read;
  const reading = useRef<Reading<T> | undefined>(undefined);
  const stream = useStream();
  const stamp = `${version}/${again}/${stream.version}`;
  const seen = useRef(stamp);

  useEffect(() => {
    if (key === undefined) return;
    const one = new Reading<T>(
      (signal) => reader.current(signal),
      (change) => {
        setState((old) => ({ ...(old.key === key ? old : {}), ...change, key }) as State<T>);
      },
    );
    reading.current = one;
    seen.current = stamp;
    void one.run();
    return () => one.end();
    // A new stamp is the next effect's.
  }, [key]);

  useEffect(() => {
    if (seen.current === stamp) return;
    seen.current = stamp;
    if (key !== undefined) void reading.current?.run();
  }, [key, stamp]);

  const reload = useCallback(() => setAgain((count) => count + 1), []);
  // A render between the new key and its effect must not show the old answer under the new name.
  const own: State<T> = state.key === key ? state : { key, isLoading: key !== undefined };
  return { value: own.value, error: own.error, isLoading: own.isLoading, reload };
}

type Change<T> = { readonly isLoading: boolean; readonly value?: T; readonly error?: Error | undefined };

/** The readings of one key, one after the other. */
class Reading<T> {
  readonly #read: (signal: AbortSignal) => Promise<T>;
  readonly #show: (change: Change<T>) => void;
  readonly #ending = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isRunning = false;
  #isStale = false;

  constructor(read: (signal: AbortSignal) => Promise<T>, show: (change: Change<T>) => void) {
    this.#read = read;
    this.#show = show;
  }

  async run(): Promise<void> {
    this.#isStale = true;
    if (this.#isRunning) return;
    this.#isRunning = true;
    clearTimeout(this.#timer);
    while (this.#isStale && !this.#ending.signal.aborted) {
      this.#isStale = false;
      this.#show({ isLoading: true });
      await this.#once();
    }
    this.#isRunning = false;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#ending.abort();
  }

  async #once(): Promise<void> {
    const { signal } = this.#ending;
    try {
      const value = await this.#read(signal);
      if (!signal.aborted) this.#show({ value, error: undefined, isLoading: false });
    } catch (error) {
      if (signal.aborted) return;
      this.#show({ error: error instanceof Error ? error : new Error(String(error)), isLoading: false });
      const seconds = isTesseraError(error) ? error.details.retryAfter : undefined;
      if (typeof seconds !== 'number') return;
      this.#timer = setTimeout(() => void this.run(), Math.max(1, seconds) * MS_PER_SECOND);
    }
  }
}
