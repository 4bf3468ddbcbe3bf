/**
 * Lists of any length. Only the rows in sight are in the document, so that a hundred thousand of them scroll like ten; the row
 * count and the row numbers tell a screen reader of all. On a narrow screen a row becomes a card of names and values.
 */

import { Component, type ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Column<T> {
  readonly head: string;
  readonly cell: (row: T) => ComponentChildren;
  /** Width in the grid: `8rem`, `minmax(0, 1fr)`. */
  readonly width: string;
  readonly isNumber?: boolean;
}

export interface TableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly count: number;
  /** Undefined while the row is loading. */
  readonly rowAt: (index: number) => T | undefined;
  readonly keyOf: (row: T) => string;
  /** Called with the rows that are about to be seen. */
  readonly onRange?: ((first: number, last: number) => void) | undefined;
  /** Number of entries in all, where that is more than `count`. */
  readonly total?: number | undefined;
}

const ROW_PX = 46;
const CARD_LINE_PX = 46;
const CARD_EXTRA_PX = 18;
const CARD_COLUMNS = 2;
/** Rows in the document beyond those in sight. */
const MARGIN = 8;
const NARROW = '(max-width: 46rem)';

export function Table<T>(props: TableProps<T>) {
  const { label, columns, count, rowAt, keyOf, onRange, total = count } = props;
  const root = useRef<HTMLDivElement>(null);
  const isNarrow = useNarrow();
  const rowPx = isNarrow ? Math.ceil(columns.length / CARD_COLUMNS) * CARD_LINE_PX + CARD_EXTRA_PX : ROW_PX;
  const [first, last] = useRange(root, count, rowPx);
  useEffect(() => {
    if (last > first) onRange?.(first, last - 1);
  }, [first, last, onRange]);

  const tracks = columns.map(({ width }) => width).join(' ');
  const indexes = Array.from({ length: Math.max(0, last - first) }, (_, at) => first + at);
  return (
    <div class="table" role="table" aria-label={label} aria-rowcount={total + 1}>
      <div role="rowgroup" class="table-head">
        <div role="row" class="row" aria-rowindex={1} style={{ gridTemplateColumns: tracks }}>
          {columns.map(({ head, isNumber }) => (
            <div role="columnheader" class={isNumber ? 'cell number' : 'cell'}>
              {head}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" class="table-body" ref={root} style={{ height: `${count * rowPx}px` }}>
        {indexes.map((index) => {
          const row = rowAt(index);
          const place = { index, px: rowPx, tracks: isNarrow ? '' : tracks };
          return <Row key={row === undefined ? `#${index}` : keyOf(row)} row={row} columns={columns} {...place} />;
        })}
      </div>
    </div>
  );
}

interface RowProps<T> {
  readonly row: T | undefined;
  readonly columns: readonly Column<T>[];
  readonly index: number;
  readonly px: number;
  readonly tracks: string;
}

/** A row is drawn again only when something of it has changed, and not with every turn of the wheel. */
class Row<T> extends Component<RowProps<T>> {
  override shouldComponentUpdate(next: RowProps<T>): boolean {
    const { row, columns, index, px, tracks } = this.props;
    return (
      next.row !== row || next.columns !== columns || next.index !== index || next.px !== px || next.tracks !== tracks
    );
  }

  override render() {
    const { row, columns, index, px, tracks } = this.props;
    const style = { top: `${index * px}px`, height: `${px}px`, gridTemplateColumns: tracks };
    return (
      <div role="row" class="row" aria-rowindex={index + 2} style={style}>
        {columns.map(({ head, cell, isNumber }) => (
          <div key={head} role="cell" class={isNumber ? 'cell number' : 'cell'} data-head={head}>
            {row === undefined ? <span class="none">…</span> : cell(row)}
          </div>
        ))}
      </div>
    );
  }
}

/** The rows in sight and some around them. */
function useRange(
  root: { readonly current: HTMLElement | null },
  count: number,
  rowPx: number,
): readonly [number, number] {
  const [range, setRange] = useState<readonly [number, number]>([0, Math.min(count, 3 * MARGIN)]);
  useEffect(() => {
    let frame = 0;
    const measure = (): void => {
      frame = 0;
      const top = root.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.min(count, Math.floor(-top / rowPx)) - MARGIN);
      const last = Math.max(0, Math.min(count, Math.ceil((innerHeight - top) / rowPx) + MARGIN));
      setRange((old) => (old[0] === first && old[1] === last ? old : [first, last]));
    };
    const later = (): void => {
      if (frame === 0) frame = requestAnimationFrame(measure);
    };
    measure();
    addEventListener('scroll', later, { passive: true });
    addEventListener('resize', later);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener('scroll', later);
      removeEventListener('resize', later);
    };
  }, [root, count, rowPx]);
  // The list may have become shorter since the last measurement.
  return [Math.min(range[0], count), Math.min(range[1], count)];
}

function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const media = matchMedia(NARROW);
    const changed = (): void => setNarrow(media.matches);
    changed();
    media.addEventListener('change', changed);
    return () => media.removeEventListener('change', changed);
  }, []);
  return isNarrow;
}
