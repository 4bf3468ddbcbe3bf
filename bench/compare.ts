/**
 * What got slower between two runs of the benchmarks. A figure that was measured beside another one of its run is compared by
 * that ratio, on any machine; the others only on the same machine. It has changed when it moved by more than a tenth and the
 * quartiles of both runs, where there are some, lie apart.
 */

import { isSameMachine, type Machine } from './machine.js';
import { type Figure, formatFigure, type Spread } from './report.js';

export interface Run {
  readonly date: string;
  readonly machine: Machine;
  readonly figures: readonly Figure[];
}

interface Change {
  readonly figure: string;
  /** How many times what it was. */
  readonly factor: number;
  readonly text: string;
}

interface Comparison {
  readonly slower: readonly Change[];
  readonly faster: readonly Change[];
  /** Figures that did not change. */
  readonly same: number;
  /** Figures of another machine without a ratio. */
  readonly notComparable: number;
  /** Names of figures that this run does not have. */
  readonly missing: readonly string[];
}

const TOLERANCE = 1.1;

/** Sections that the new run does not have at all are left out: not every benchmark runs each time. */
export function compareRuns(before: Run, now: Run): Comparison {
  const sections = new Set(now.figures.map(({ section }) => section));
  const current = new Map(now.figures.map((figure) => [keyOf(figure), figure]));
  const onSame = isSameMachine(before.machine, now.machine);
  const slower: Change[] = [];
  const faster: Change[] = [];
  const missing: string[] = [];
  let [same, notComparable] = [0, 0];
  for (const old of before.figures.filter(({ section }) => sections.has(section))) {
    const figure = current.get(keyOf(old));
    if (figure === undefined) missing.push(keyOf(old));
    else {
      const [a, b] = [sidesOf(old), sidesOf(figure)];
      if (!onSame && (a.isRatio === false || b.isRatio === false)) notComparable++;
      else {
        const change = changeOf(figure, a.isRatio && b.isRatio ? [a, b] : [absolute(old), absolute(figure)]);
        if (change === null) same++;
        else (change.factor > 1 === isRate(figure) ? faster : slower).push(change);
      }
    }
  }
  return { slower: byFactor(slower), faster: byFactor(faster), same, notComparable, missing };
}

export function printComparison({ slower, faster, same, notComparable, missing }: Comparison, before: Run): void {
  console.log(
    `\nBeside the run of ${before.date}: ${slower.length} slower, ${faster.length} faster, ${same} as before`,
  );
  for (const { text } of slower) console.log(`  slower  ${text}`);
  for (const { text } of faster) console.log(`  faster  ${text}`);
  for (const name of missing) console.log(`  missing ${name}`);
  if (notComparable > 0)
    console.log(`  ${notComparable} not compared: another machine, and nothing they are a share of`);
}

interface Side {
  readonly value: number;
  readonly spread: Spread | undefined;
  readonly isRatio: boolean;
}

function sidesOf(figure: Figure): Side {
  const { ratio } = figure;
  return ratio === undefined ? absolute(figure) : { value: ratio.value, spread: ratio.spread, isRatio: true };
}

function absolute({ value, spread }: Figure): Side {
  return { value, spread, isRatio: false };
}

function changeOf(figure: Figure, [before, now]: readonly [Side, Side]): Change | null {
  const factor = now.value / before.value;
  if (!Number.isFinite(factor) || (factor < TOLERANCE && factor > 1 / TOLERANCE)) return null;
  if (before.spread !== undefined && now.spread !== undefined && overlap(before.spread, now.spread)) return null;
  const name = keyOf(figure);
  const unit = now.isRatio ? `of ${figure.ratio?.to}` : figure.unit;
  const text = ({ value, isRatio }: Side): string => (isRatio ? `${(100 * value).toFixed(0)} %` : formatFigure(value));
  return { figure: name, factor, text: `${name}: ${text(before)} -> ${text(now)} ${unit} (x ${factor.toFixed(2)})` };
}

function overlap([lowA, highA]: Spread, [lowB, highB]: Spread): boolean {
  return lowA <= highB && lowB <= highA;
}

function isRate({ unit }: Figure): boolean {
  return unit.endsWith('/s');
}

function keyOf({ section, name }: Figure): string {
  return `${section} / ${name}`;
}

function byFactor(changes: readonly Change[]): readonly Change[] {
  const size = ({ factor }: Change): number => Math.abs(Math.log(factor));
  return changes.toSorted((a, b) => size(b) - size(a));
}
