/** Tables for people: columns as wide as their widest cell, numbers aligned right. */

import { printable } from '../../lib/printable.js';

interface Column {
  readonly title: string;
  readonly align?: 'right';
}

/** A column of numbers. */
export function right(title: string): Column {
  return { title, align: 'right' };
}

/** The lines of the table with its titles, each ending in a line end. */
export function table(titles: readonly (string | Column)[], rows: readonly (readonly string[])[]): string {
  const columns = titles.map((title) => (typeof title === 'string' ? { title } : title));
  // An address of the chain is any text.
  const lines = [columns.map(({ title }) => title), ...rows.map((row) => row.map((text) => printable(text)))];
  const widths = columns.map((_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)));
  const cell = (text: string, i: number): string =>
    columns[i]?.align === 'right' ? text.padStart(widths[i] ?? 0) : text.padEnd(widths[i] ?? 0);
  return lines.map((line) => `${line.map(cell).join('  ').trimEnd()}\n`).join('');
}
