/** What `npm run bench -- --compare FILE` calls slower, and what it leaves alone. */

import { describe, expect, test } from 'vitest';
import { compareRuns, type Run } from '../../bench/compare.js';
import type { Figure } from '../../bench/report.js';

const MACHINE = { cpu: 'a processor', cores: 2, memoryGib: 4, os: 'linux', node: 'v20.20.2', load: 0 };
const OTHER = { ...MACHINE, cpu: 'another processor' };

const figure = (name: string, value: number, rest: Partial<Figure> = {}): Figure => ({
  section: 'section',
  name,
  unit: 'us',
  value,
  ...rest,
});
const run = (...figures: readonly Figure[]): Run => ({ date: '2026-11-22', machine: MACHINE, figures });
const slower = (before: Run, now: Run): readonly string[] =>
  compareRuns(before, now).slower.map(({ figure }) => figure);
const faster = (before: Run, now: Run): readonly string[] =>
  compareRuns(before, now).faster.map(({ figure }) => figure);

describe('comparing two runs', () => {
  test('more time is slower, a lower rate is slower', () => {
    const before = run(figure('time', 10), figure('rate', 10, { unit: 'tx/s' }));
    const now = run(figure('time', 20), figure('rate', 20, { unit: 'tx/s' }));
    expect(slower(before, now)).toEqual(['section / time']);
    expect(faster(before, now)).toEqual(['section / rate']);
    expect(slower(now, before)).toEqual(['section / rate']);
  });

  test('up to a tenth is no change', () => {
    expect(compareRuns(run(figure('time', 100)), run(figure('time', 109)))).toMatchObject({
      slower: [],
      faster: [],
      same: 1,
    });
  });

  test('what moves within its spread is no change', () => {
    const before = run(figure('time', 100, { spread: [90, 130] }));
    expect(slower(before, run(figure('time', 140, { spread: [125, 150] })))).toEqual([]);
    expect(slower(before, run(figure('time', 140, { spread: [135, 150] })))).toEqual(['section / time']);
  });

  test('a ratio is what counts where there is one, and on another machine too', () => {
    const ratio = (value: number) => ({ ratio: { to: 'bare', value } });
    const before = run(figure('request', 10, ratio(1.2)), figure('alone', 10));
    const now = { ...run(figure('request', 40, ratio(1.2)), figure('alone', 40)), machine: OTHER };
    expect(compareRuns(before, now)).toMatchObject({ slower: [], same: 1, notComparable: 1 });
    const worse = { ...run(figure('request', 10, ratio(1.5))), machine: OTHER };
    expect(slower(before, worse)).toEqual(['section / request']);
  });

  test('the worst comes first', () => {
    const before = run(figure('a', 10), figure('b', 10));
    expect(slower(before, run(figure('a', 20), figure('b', 90)))).toEqual(['section / b', 'section / a']);
  });

  test('a figure that is gone is named, a benchmark that did not run is not', () => {
    const before = run(figure('a', 10), figure('b', 10), { ...figure('c', 10), section: 'not run' });
    expect(compareRuns(before, run(figure('a', 10))).missing).toEqual(['section / b']);
  });
});
