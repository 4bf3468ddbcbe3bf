/** How benchmarks print: one line a figure, and what it is a share of. */

export interface Row {
  readonly name: string;
  /** In `unit`. */
  readonly value: number;
  readonly unit: string;
  /** Another figure of the same run, and its name: the ratio is printed. */
  readonly against?: readonly [name: string, value: number];
  readonly note?: string;
}

export function printSection(title: string): void {
  console.log(`\n${title}`);
}

export function printRow({ name, value, unit, against, note }: Row): void {
  const figure = `${formatFigure(value)} ${unit}`.padStart(22);
  const ratio =
    against === undefined ? '' : `  ${((100 * value) / against[1]).toFixed(0).padStart(4)} % of ${against[0]}`;
  console.log(`  ${name.padEnd(58)}${figure}${ratio}${note === undefined ? '' : `  (${note})`}`);
}

function formatFigure(value: number): string {
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
