/** A small plot of numbers by block: bars or a line, with its values in words for those who cannot see it. */

import { useState } from 'preact/hooks';

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface PlotProps {
  readonly title: string;
  /** Oldest first. */
  readonly points: readonly Point[];
  readonly kind: 'bars' | 'line';
  readonly show: (y: number) => string;
  readonly color: 'gold' | 'clay' | 'lapis' | 'sea';
  /** Unit of `x`. */
  readonly unit?: string;
  /** The lowest value at the bottom; else zero. */
  readonly isRelative?: boolean;
}

const WIDTH = 300;
const HEIGHT = 84;

export function Plot({ title, points, kind, show, color, unit = 'block', isRelative = false }: PlotProps) {
  const [at, setAt] = useState<number>();
  const last = points.at(-1);
  if (last === undefined) return null;
  const ys = points.map(({ y }) => y);
  const high = Math.max(...ys);
  const low = Math.min(...ys);
  const bottom = isRelative ? low : 0;
  const scale = high > bottom ? (HEIGHT - 4) / (high - bottom) : 0;
  const step = WIDTH / Math.max(1, points.length);
  const chosen = at === undefined ? last : (points[at] ?? last);
  const words = `${title}, ${unit} ${points[0]?.x} to ${last.x}: from ${show(low)} to ${show(high)}, last ${show(last.y)}.`;
  const follow = (event: PointerEvent): void => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    setAt(
      Math.min(points.length - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * points.length))),
    );
  };
  return (
    <figure class="plot">
      <figcaption>
        <span class="plot-title">{title}</span>
        <span class="plot-value">
          {show(chosen.y)}
          <span class="plot-at">
            {' '}
            {unit} {chosen.x.toLocaleString()}
          </span>
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={words}
        class={`plot-${color}`}
        onPointerMove={follow}
        onPointerLeave={() => setAt(undefined)}
      >
        {kind === 'bars'
          ? points.map(({ x, y }, index) => {
              const height = Math.max(1, (y - bottom) * scale);
              const isChosen = index === at;
              return (
                <rect
                  key={x}
                  class={isChosen ? 'bar chosen' : 'bar'}
                  x={index * step}
                  y={HEIGHT - height}
                  width={Math.max(0.5, step * 0.82)}
                  height={height}
                />
              );
            })
          : line(points, step, (y) => HEIGHT - 2 - (y - bottom) * scale)}
      </svg>
    </figure>
  );
}

function line(points: readonly Point[], step: number, place: (y: number) => number) {
  const path = points.map(({ y }, index) => `${index === 0 ? 'M' : 'L'}${(index + 0.5) * step} ${place(y)}`).join('');
  const end = (points.length - 0.5) * step;
  return (
    <>
      <path class="area" d={`${path}L${end} ${HEIGHT}L${step / 2} ${HEIGHT}Z`} />
      <path class="line" d={path} />
    </>
  );
}
