/** What a page reads from the node: loaded, kept while it is read again, and read again when the node is back. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

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

/**
 * Reads when `key` changes, and forgets the former answer; reads again, and keeps it, when `version` changes. An undefined
 * key reads nothing.
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

  useEffect(() => {
    if (key === undefined) return;
    const ending = new AbortController();
    setState((old) => (old.key === key ? { ...old, isLoading: true } : { key, isLoading: true }));
    reader
      .current(ending.signal)
      .then((value) => {
        if (!ending.signal.aborted) setState({ key, value, isLoading: false });
      })
      .catch((error: unknown) => {
        if (ending.signal.aborted) return;
        const failure = error instanceof Error ? error : new Error(String(error));
        setState((old) => ({ ...old, error: failure, isLoading: false }));
      });
    return () => ending.abort();
  }, [key, version, again]);

  const reload = useCallback(() => setAgain((count) => count + 1), []);
  // A render between the new key and its effect must not show the old answer under the new name.
  const own: State<T> = state.key === key ? state : { key, isLoading: key !== undefined };
  return { value: own.value, error: own.error, isLoading: own.isLoading, reload };
}
