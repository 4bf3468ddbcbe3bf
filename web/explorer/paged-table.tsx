/** A list that the node gives page by page, and that is read again when the node is back. */

import { useEffect } from 'preact/hooks';
import { LongList, type LongListProps } from '../shared/components/long-list.js';
import { type PageOf, usePages } from '../shared/use-pages.js';
import { useStream } from '../shared/use-stream.js';

export interface PagedTableProps<T> extends Omit<LongListProps<T>, 'list'> {
  /** Names the list: another one starts anew. */
  readonly source: string;
  readonly read: (cursor: string | undefined, signal: AbortSignal) => Promise<PageOf<T>>;
}

export function PagedTable<T>({ source, read, ...shown }: PagedTableProps<T>) {
  const list = usePages(source, read);
  const { version } = useStream();
  // The node that could not be reached may be back.
  useEffect(() => {
    if (list.error !== undefined) list.retry();
  }, [version]);
  return <LongList list={list} {...shown} />;
}
