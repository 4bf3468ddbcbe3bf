/** A list of any length as a table that reads on as it is scrolled, with what to say when there is nothing, nothing yet, or no answer. */

import type { Pages } from '../use-pages.js';
import { Failed } from './notice.js';
import { type Column, Table } from './table.js';

export interface LongListProps<T> {
  readonly label: string;
  readonly list: Pages<T>;
  readonly columns: readonly Column<T>[];
  readonly keyOf: (row: T) => string;
  /** Number of entries in all. */
  readonly total?: number | undefined;
  /** Text when there is none. */
  readonly nothing: string;
}

export function LongList<T>({ label, list, columns, keyOf, total = 0, nothing }: LongListProps<T>) {
  const { entries, isLoading, isAll, error, onRange, retry } = list;
  return (
    <>
      {isAll && entries.length === 0 ? (
        <p class="none">{nothing}</p>
      ) : (
        <Table
          label={label}
          columns={columns}
          count={entries.length}
          total={Math.max(total, entries.length)}
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
