/**
 * A chart of numbers by block, with axes: the pointer or the arrow keys choose a point, whose values are said. uPlot draws it, and is loaded
 * when the first chart is shown.
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { grouped } from '../amounts.js';

export interface Point {
  /** Number of a block. */
  readonly x: number;
  /** Null where it is not known. */
  readonly y: number | null;
}

export interface ChartProps {
  readonly title: string;
  /** Oldest first. */
  readonly points: readonly Point[];
  readonly kind: 'bars' | 'line' | 'steps';
  readonly show: (y: number) => string;
  /** Short labels for the axis, where there is little room. */
  readonly showShort?: (y: number) => string;
  readonly color: 'gold' | 'clay' | 'lapis' | 'sea';
  /** The lowest value at the bottom; else zero. */
  readonly isRelative?: boolean;
}

const HEIGHT = 190;
const PAGE = 10;
/** Room beside the numbers of an axis, and for each of their characters. */
const AXIS_PX = 24;
const DIGIT_PX = 7;
const FONT = '12px system-ui, sans-serif';

const styleOf = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name);

/** Short labels, or whole numbers where short ones would be the same. */
function labelsOf(values: readonly number[], show: (y: number) => string): string[] {
  const labels = values.map(show);
  return new Set(labels).size < labels.length ? values.map((one) => grouped(Math.round(one))) : labels;
}

function optionsOf({ kind, color, showShort, show, isRelative }: ChartProps, plot: typeof uPlot): uPlot.Options {
  const stroke = (): string => styleOf(`--tile-${color}`);
  const axis = { stroke: () => styleOf('--muted'), font: FONT, grid: { stroke: () => styleOf('--line'), width: 1 } };
  const { bars, stepped } = plot.paths;
  const paths = kind === 'bars' ? bars?.({ size: [0.8, 60] }) : kind === 'steps' ? stepped?.({ align: 1 }) : undefined;
  const range = (_plot: uPlot, low: number, high: number): [number, number] => {
    const bottom = isRelative ? low : 0;
    return [bottom, high > bottom ? high + (high - bottom) * 0.06 : bottom + 1];
  };
  return {
    width: 100,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { time: false, range: (_plot, low, high) => (kind === 'bars' ? [low - 0.6, high + 0.6] : [low, high]) },
      y: { range },
    },
    axes: [
      {
        ...axis,
        values: (_plot, blocks) => blocks.map((one) => (Number.isInteger(one) ? grouped(one) : '')),
        space: 70,
        size: 30,
      },
      {
        ...axis,
        values: (_plot, values) => labelsOf(values, showShort ?? show),
        size: (_plot, values) =>
          Math.max(62, AXIS_PX + DIGIT_PX * Math.max(0, ...(values ?? []).map(({ length }) => length))),
      },
    ],
    series: [
      {},
      {
        stroke,
        width: 2,
        fill: () => (kind === 'bars' ? stroke() : `${stroke()}2e`),
        points: { show: false },
        spanGaps: true,
        ...(paths && { paths }),
      },
    ],
  };
}

/** Draws the chart for as long as it is shown. */
function usePlot(props: ChartProps, setAt: (at: number | undefined) => void) {
  const { points } = props;
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef<uPlot>(undefined);
  const known = useRef(props);
  known.current = props;

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    let isGone = false;
    const redraw = (): void => drawn.current?.redraw();
    const sizes = new ResizeObserver(() => drawn.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    const theme = new MutationObserver(redraw);
    const media = matchMedia('(prefers-color-scheme: dark)');
    void import('uplot').then(({ default: plot }) => {
      if (isGone) return;
      const options = optionsOf(known.current, plot);
      const setCursor = ({ cursor }: uPlot): void => setAt(cursor.idx ?? undefined);
      drawn.current = new plot(
        { ...options, width: element.clientWidth, hooks: { setCursor: [setCursor] } },
        dataOf(known.current.points),
        element,
      );
      sizes.observe(element);
      theme.observe(document.documentElement, { attributes: true });
      media.addEventListener('change', redraw);
    });
    return () => {
      isGone = true;
      sizes.disconnect();
      theme.disconnect();
      media.removeEventListener('change', redraw);
      drawn.current?.destroy();
      drawn.current = undefined;
    };
  }, []);
  useEffect(() => drawn.current?.setData(dataOf(points)), [points]);
  return { place, drawn };
}

export function Chart(props: ChartProps) {
  const { title, points, show } = props;
  const [at, setAt] = useState<number>();
  const { place, drawn } = usePlot(props, setAt);
  const last = points.length - 1;
  const shown = points[Math.min(at ?? last, last)];
  if (shown === undefined) return null;
  const text = shown.y === null ? 'not known' : show(shown.y);
  const choose = (index: number): void => {
    const plot = drawn.current;
    const chosen = Math.max(0, Math.min(last, index));
    setAt(chosen);
    plot?.setCursor({ left: plot.valToPos(points[chosen]?.x ?? 0, 'x'), top: 0 }, false);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const now = at ?? last;
    const to = {
      ArrowLeft: now - 1,
      ArrowRight: now + 1,
      PageUp: now - PAGE,
      PageDown: now + PAGE,
      Home: 0,
      End: last,
    };
    const chosen = to[event.key as keyof typeof to];
    if (chosen === undefined) return;
    event.preventDefault();
    choose(chosen);
  };
  return (
    <figure class="plot">
      <figcaption>
        <span class="plot-title">{title}</span>
        <span class="plot-value">
          {text} <span class="plot-at">block {grouped(shown.x)}</span>
        </span>
      </figcaption>
      <div
        ref={place}
        class="chart"
        role="slider"
        tabIndex={0}
        aria-label={title}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={Math.min(at ?? last, last)}
        aria-valuetext={`block ${grouped(shown.x)}: ${text}`}
        onKeyDown={onKeyDown}
        onBlur={() => setAt(undefined)}
      />
    </figure>
  );
}

function dataOf(points: readonly Point[]): uPlot.AlignedData {
  return [points.map(({ x }) => x), points.map(({ y }) => y)];
}
