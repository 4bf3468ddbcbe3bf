/** A list that the node gives page by page: read as far as the reader scrolls. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

export interface PageOf<T> {
  readonly entries: readonly T[];
  readonly next: string | null;
}

export interface Pages<T> {
  readonly entries: readonly T[];
  readonly isLoading: boolean;
  /** True when the last page was read. */
  readonly isAll: boolean;
  readonly error: Error | undefined;
  /** Tells which rows are in sight, so that the next page is read in time. */
  readonly onRange: (first: number, last: number) => void;
  readonly retry: () => void;
}

interface State<T> {
  /** The list that they are of. */
  readonly key: string | undefined;
  readonly entries: readonly T[];
  readonly next: string | null | undefined;
  readonly isLoading: boolean;
  readonly error?: Error | undefined;
}

const nothingOf = <T>(key: string | undefined): State<T> => ({ key, entries: [], next: undefined, isLoading: true });

/** The next page is read when so many rows are left. */
const AHEAD = 30;

/** Starts anew when `key` changes; an undefined key reads nothing. */
export function usePages<T>(
  key: string | undefined,
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<PageOf<T>>,
): Pages<T> {
  const [state, setState] = useState<State<T>>({ ...nothingOf<T>(key), isLoading: key !== undefined });
  const current = useRef(state);
  const reader = useRef(read);
  reader.current = read;
  const ending = useRef<AbortController | undefined>(undefined);

  const show = useCallback((next: State<T>) => {
    current.current = next;
    setState(next);
  }, []);

  const more = useCallback(async () => {
    const signal = ending.current?.signal;
    const { key, entries, next } = current.current;
    if (signal === undefined || signal.aborted || next === null) return;
    show({ key, entries, next, isLoading: true });
    try {
      const page = await reader.current(next, signal);
      if (!signal.aborted) show({ key, entries: [...entries, ...page.entries], next: page.next, isLoading: false });
    } catch (error) {
      if (signal.aborted) return;
      show({ key, entries, next, isLoading: false, error: error instanceof Error ? error : new Error(String(error)) });
    }
  }, [show]);

  useEffect(() => {
    if (key === undefined) return;
    const own = new AbortController();
    ending.current = own;
    show(nothingOf(key));
    void more();
    return () => own.abort();
  }, [key, more, show]);

  const onRange = useCallback(
    (_first: number, last: number) => {
      const { entries, next, isLoading, error } = current.current;
      if (!isLoading && error === undefined && next && last >= entries.length - AHEAD) void more();
    },
    [more],
  );
  const retry = useCallback(() => void more(), [more]);
  // Entries of the list before are not shown as those of this one, whose columns they may not have.
  const { entries, isLoading, next, error } = state.key === key ? state : nothingOf<T>(key);
  return { entries, isLoading, isAll: next === null, error, onRange, retry };
}
