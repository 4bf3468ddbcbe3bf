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
  readonly entries: readonly T[];
  readonly next: string | null | undefined;
  readonly isLoading: boolean;
  readonly error?: Error | undefined;
}

/** The next page is read when so many rows are left. */
const AHEAD = 30;

/** Starts anew when `key` changes; an undefined key reads nothing. */
export function usePages<T>(
  key: string | undefined,
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<PageOf<T>>,
): Pages<T> {
  const [state, setState] = useState<State<T>>({ entries: [], next: undefined, isLoading: key !== undefined });
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
    const { entries, next } = current.current;
    if (signal === undefined || signal.aborted || next === null) return;
    show({ entries, next, isLoading: true });
    try {
      const page = await reader.current(next, signal);
      if (!signal.aborted) show({ entries: [...entries, ...page.entries], next: page.next, isLoading: false });
    } catch (error) {
      if (signal.aborted) return;
      show({ entries, next, isLoading: false, error: error instanceof Error ? error : new Error(String(error)) });
    }
  }, [show]);

  useEffect(() => {
    if (key === undefined) return;
    const own = new AbortController();
    ending.current = own;
    show({ entries: [], next: undefined, isLoading: true });
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
  const { entries, isLoading, next, error } = state;
  return { entries, isLoading, isAll: next === null, error, onRange, retry };
}
