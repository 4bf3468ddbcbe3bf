/** Log lines for people: turns the JSON lines of the logger into short coloured text on a terminal. */

import { printable } from '../lib/printable.js';

/** Target of lines; process.stdout is one. */
export interface LineTarget {
  write(line: string): unknown;
}

const NAMES: Readonly<Record<number, string>> = { 20: 'DEBUG', 30: 'INFO ', 40: 'WARN ', 50: 'ERROR' };
const COLOURS: Readonly<Record<number, number>> = { 20: 90, 30: 32, 40: 33, 50: 31 };
/** Characters of a text in a line. */
const MAX_TEXT = 10_000;
/** Members that have a place of their own in the line. */
const PLACED = new Set(['level', 'time', 'msg', 'node', 'component', 'role']);

/** A target for JSON lines that writes readable ones to `out`. */
export function createPrettyTarget(out: LineTarget, colour: boolean): LineTarget {
  return {
    write(line) {
      out.write(`${prettyLine(line, colour)}\n`);
    },
  };
}

function prettyLine(line: string, colour: boolean): string {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line);
  } catch {
    return line.trimEnd();
  }
  const paint = (code: number, text: string) => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);
  const level = Number(entry.level);
  const time = new Date(Number(entry.time)).toISOString().slice(11, 23);
  const origin = [entry.node, entry.component].filter((part) => part !== undefined).join('/');
  const rest = Object.entries(entry)
    .filter(([name]) => !PLACED.has(name))
    .map(([name, value]) => ` ${paint(90, `${name}=`)}${fieldText(value)}`);
  const head = `${paint(90, time)} ${paint(COLOURS[level] ?? 0, NAMES[level] ?? String(level))}`;
  return `${head} ${paint(36, origin)} ${printable(String(entry.msg), MAX_TEXT)}${rest.join('')}`;
}

function fieldText(value: unknown): string {
  if (typeof value === 'string') return printable(/[\s="]/.test(value) ? JSON.stringify(value) : value, MAX_TEXT);
  if (typeof value === 'object' && value !== null && 'stack' in value) {
    return `\n${String(value.stack)
      .split('\n')
      .map((line) => printable(line, MAX_TEXT))
      .join('\n')}`;
  }
  return printable(JSON.stringify(value), MAX_TEXT);
}
