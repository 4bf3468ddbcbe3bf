/**
 * How benchmarks print: one line a figure, with its spread over rounds, and what it is a share of. Every line is also kept as a
 * `Figure`, so that a run can be written as JSON and compared with another one.
 */

import type { Measured } from './rounds.js';

export interface Row {
  /** With leading blanks it belongs to the row before it that has none. */
  readonly name: string;
  /** In `unit`. */
  readonly value: number;
  /** Of rates it ends in `/s`: more is better. Of everything else less is. */
  readonly unit: string;
  /** Quartiles over the rounds. */
  readonly spread?: Spread;
  /** Another figure of the same run, and its name: the ratio is printed. */
  readonly against?: readonly [name: string, value: number | Measured];
  readonly note?: string;
}

export type Spread = readonly [low: number, high: number];

/** A line of a run, as it is written to JSON. */
export interface Figure {
  readonly section: string;
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly spread?: Spread;
  /** The same beside another figure of the run, which other work on the machine changes less. */
  readonly ratio?: { readonly to: string; readonly value: number; readonly spread?: Spread };
}

const figures: Figure[] = [];
let section = '';
let parent = '';

/** What was printed so far. */
export function printedFigures(): readonly Figure[] {
  return figures;
}

export function printSection(title: string): void {
  section = title;
  console.log(`\n${title}`);
}

/** A figure with its spread, and how it compares to others of the same rounds (`rounds.ts`). */
export function printMeasured(name: string, measured: Measured, unit: string, rest: Partial<Row> = {}): void {
  printRow({ name, value: measured.median, unit, spread: [measured.low, measured.high], ...rest });
}

export function printRow(row: Row): void {
  const { name, value, unit, spread, against, note } = row;
  record(row);
  const figure = `${formatFigure(value)} ${unit}`.padStart(22);
  const range = spread === undefined ? '' : ` (${formatFigure(spread[0])} to ${formatFigure(spread[1])})`;
  const ratio = against === undefined ? '' : `  ${formatRatio(value, against[1]).padStart(4)} of ${against[0]}`;
  console.log(`  ${name.padEnd(58)}${figure}${range}${ratio}${note === undefined ? '' : `  (${note})`}`);
}

/** Keeps a figure that is printed otherwise. */
export function record({ name, value, unit, spread, against }: Row): void {
  if (!name.startsWith(' ')) parent = name;
  const own = name.trim();
  figures.push({
    section,
    name: name.startsWith(' ') ? `${parent}: ${own}` : own,
    unit,
    value,
    ...(spread && { spread }),
    ...(against && { ratio: ratioOf(against[0], value, against[1]) }),
  });
}

function ratioOf(to: string, value: number, other: number | Measured): NonNullable<Figure['ratio']> {
  if (typeof other === 'number') return { to, value: value / other };
  return { to, value: other.median, spread: [other.low, other.high] };
}

/** `other` is the value of the other figure, or the ratio itself, measured round by round. */
function formatRatio(value: number, other: number | Measured): string {
  const percent = (ratio: number): string => (100 * ratio).toFixed(0);
  if (typeof other === 'number') return `${percent(value / other)} %`;
  return `${percent(other.median)} % (${percent(other.low)} to ${percent(other.high)})`;
}

export function formatFigure(value: number): string {
  if (value >= 1_000) return Math.round(value).toLocaleString('en-US');
  return value >= 10 ? value.toFixed(1) : value.toFixed(3);
}

/** Runs a function again and again for about `ms` milliseconds, after a warm-up; calls a second. */
export function ratePerSecond(run: () => void, ms = 1_000, each = 1): number {
  const spin = (time: number): number => {
    const start = performance.now();
    let calls = 0;
    while (performance.now() - start < time) {
      for (let i = 0; i < 32; i++) run();
      calls += 32;
    }
    return (1_000 * calls * each) / (performance.now() - start);
  };
  spin(ms / 4);
  return spin(ms);
}
