/** A list that the node gives page by page, as a table that reads on as it is scrolled. */

import { useEffect } from 'preact/hooks';
import { Failed } from '../shared/components/notice.js';
import { type Column, Table } from '../shared/components/table.js';
import { type PageOf, usePages } from '../shared/use-pages.js';
import { useStream } from '../shared/use-stream.js';

export interface PagedTableProps<T> {
  readonly label: string;
  /** Names the list: another one starts anew. */
  readonly source: string;
  readonly read: (cursor: string | undefined, signal: AbortSignal) => Promise<PageOf<T>>;
  readonly columns: readonly Column<T>[];
  readonly keyOf: (row: T) => string;
  /** How many there are in all. */
  readonly total?: number | undefined;
  /** What to say when there is none. */
  readonly nothing: string;
}

export function PagedTable<T>({ label, source, read, columns, keyOf, total, nothing }: PagedTableProps<T>) {
  const { entries, isLoading, isAll, error, onRange, retry } = usePages(source, read);
  const { version } = useStream();
  // The node that could not be reached may be back.
  useEffect(() => {
    if (error !== undefined) retry();
  }, [version]);
  const isEmpty = isAll && entries.length === 0;
  return (
    <>
      {isEmpty ? (
        <p class="none">{nothing}</p>
      ) : (
        <Table
          label={label}
          columns={columns}
          count={entries.length}
          total={Math.max(total ?? 0, entries.length)}
          rowAt={(index) => entries[index]}
          keyOf={keyOf}
          onRange={onRange}
        />
      )}
      {error !== undefined && <Failed error={error} retry={retry} />}
      {isLoading && (
        <p class="loading" role="status">
          Loading…
        </p>
      )}
    </>
  );
}
