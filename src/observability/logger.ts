/** The logger of a node: pino behind the `Logger` seam, JSON lines or readable text on a terminal. Every field passes `redactFields`. */

import { type Logger as Pino, pino } from 'pino';
import { isTesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import { printable } from '../lib/printable.js';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LoggerOptions {
  readonly level: LogLevel;
  /** Format of lines: `auto` is `pretty` on a terminal and `json` elsewhere. */
  readonly format: 'auto' | 'json' | 'pretty';
  /** Name of the node, in every line. */
  readonly node?: string;
}

export interface LoggerModules {
  /** Target of lines; standard output when absent. */
  readonly out?: LineTarget & { readonly isTTY?: boolean };
}

export const LINE_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LineLevel = (typeof LINE_LEVELS)[number];

export interface InfoLines {
  /** False while the level leaves out info lines. */
  readonly enabled: boolean;
  /** Members that every line must have, as JSON text with a comma after each: `"node":"a","component":"api",`. */
  readonly members: string;
  /** Writes whole lines, `count` of them. */
  write(text: string, count: number): void;
}

interface Shared {
  readonly root: Pino;
  /** All pino loggers: pino keeps a level for each child, and this list lets one call change every level. */
  readonly all: Pino[];
  readonly base: { readonly node?: string };
  /** Takes JSON lines as they are; undefined where lines are made readable for people. */
  readonly raw: LineTarget | undefined;
}

type LineCounts = Record<LineLevel, number>;

/** The logger of a node; services get child loggers. Lines are written at once: none is lost when the process ends. */
export class NodeLogger implements Logger {
  readonly #shared: Shared;
  readonly #pino: Pino;
  readonly #component: string | undefined;
  readonly #lines: LineCounts = { debug: 0, info: 0, warn: 0, error: 0 };
  readonly #counts: readonly LineCounts[];
  /** Info lines for callers that make many and write them together; undefined where lines are made readable for people. */
  readonly infoLines: InfoLines | undefined;

  static create(options: LoggerOptions, modules: LoggerModules = {}): NodeLogger {
    const out = modules.out ?? process.stdout;
    const pretty = options.format === 'pretty' || (options.format === 'auto' && out.isTTY === true);
    const target = pretty ? createPrettyTarget(out, out.isTTY === true) : out;
    const base = options.node === undefined ? {} : { node: options.node };
    const root = pino({ level: options.level, base }, { write: (line) => target.write(line) });
    return new NodeLogger({ root, all: [], base, raw: pretty ? undefined : target }, root, undefined, []);
  }

  private constructor(shared: Shared, inner: Pino, component: string | undefined, above: readonly LineCounts[]) {
    this.#shared = shared;
    this.#pino = inner;
    this.#component = component;
    this.#counts = [...above, this.#lines];
    this.infoLines = shared.raw && this.#infoLines(shared.raw);
    shared.all.push(inner);
  }

  /** Numbers of lines written so far by this logger and its children. */
  get lines(): Readonly<LineCounts> {
    return this.#lines;
  }

  debug(fields: object, message: string): void {
    this.#write('debug', fields, message);
  }

  info(fields: object, message: string): void {
    this.#write('info', fields, message);
  }

  warn(fields: object, message: string): void {
    this.#write('warn', fields, message);
  }

  error(fields: object, message: string): void {
    this.#write('error', fields, message);
  }

  /** A logger with `component` in every line; the child of a child has both names, as in `mempool/peers`. */
  child(name: string): NodeLogger {
    const component = this.#component === undefined ? name : `${this.#component}/${name}`;
    const inner = this.#shared.root.child({ component }, { level: this.#pino.level });
    return new NodeLogger(this.#shared, inner, component, this.#counts);
  }

  setLevel(level: LogLevel): void {
    for (const each of this.#shared.all) each.level = level;
  }

  #write(level: LineLevel, fields: object, message: string): void {
    // Redacting costs more than this question: lines below the level cost nothing.
    if (!this.#pino.isLevelEnabled(level)) return;
    this.#count(level, 1);
    this.#pino[level](redactFields(fields), message);
  }

  #count(level: LineLevel, by: number): void {
    for (const each of this.#counts) each[level] += by;
  }

  #infoLines(raw: LineTarget): InfoLines {
    const inner = this.#pino;
    const always = { ...this.#shared.base, ...(this.#component === undefined ? {} : { component: this.#component }) };
    const members = Object.entries(always).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`);
    return {
      members: members.join(''),
      get enabled() {
        return inner.isLevelEnabled('info');
      },
      write: (text, added) => {
        this.#count('info', added);
        raw.write(text);
      },
    };
  }
}

/** Target of lines; process.stdout is one. */
interface LineTarget {
  write(line: string): unknown;
}

const NAMES: Readonly<Record<number, string>> = { 20: 'DEBUG', 30: 'INFO ', 40: 'WARN ', 50: 'ERROR' };
const COLOURS: Readonly<Record<number, number>> = { 20: 90, 30: 32, 40: 33, 50: 31 };
/** Most characters of a text in a line. */
const MAX_TEXT = 10_000;
/** Members that have a place of their own in the line. */
const PLACED = new Set(['level', 'time', 'msg', 'node', 'component', 'role']);

function createPrettyTarget(out: LineTarget, colour: boolean): LineTarget {
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

const REDACTED = '<redacted>';
/** Levels of nested objects that are shown. */
const MAX_DEPTH = 4;
/** Most entries of a list that are shown. */
const MAX_ENTRIES = 50;

/** Names of secret fields, compared in lower case without `_` and `-`. A public key is no secret. */
const SECRET_NAMES = new Set([
  'passphrase',
  'oldpassphrase',
  'newpassphrase',
  'password',
  'secret',
  'secretkey',
  'privatekey',
  'masterkey',
  'seed',
  'mnemonic',
  'keypair',
  'apikey',
  'xapikey',
  'authorization',
  'token',
  'cookie',
]);

function redactFields(fields: object): Record<string, unknown> {
  return cleanObject(fields, MAX_DEPTH);
}

function cleanObject(value: object, depth: number): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    result[name] = isSecretName(name) && member !== undefined ? REDACTED : clean(member, depth - 1);
  }
  return result;
}

function isSecretName(name: string): boolean {
  return SECRET_NAMES.has(name.toLowerCase().replace(/[_-]/g, ''));
}

function clean(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return typeof value === 'function' ? '<function>' : value;
  if (value instanceof Uint8Array) return `<${value.length} bytes>`;
  if (value instanceof Error) return cleanError(value, depth);
  if (value instanceof Date || value instanceof URL) return value;
  if (depth <= 0) return '<…>';
  if (Array.isArray(value)) return cleanList(value, depth);
  if (value instanceof Set) return cleanList([...value], depth);
  if (value instanceof Map) return cleanObject(Object.fromEntries(value), depth);
  return cleanObject(value, depth);
}

function cleanList(values: readonly unknown[], depth: number): unknown[] {
  const shown = values.slice(0, MAX_ENTRIES).map((item) => clean(item, depth - 1));
  return values.length > MAX_ENTRIES ? [...shown, `<${values.length - MAX_ENTRIES} more>`] : shown;
}

function cleanError(error: Error, depth: number): Record<string, unknown> {
  const result: Record<string, unknown> = { type: error.name, message: error.message, stack: error.stack };
  if (isTesseraError(error)) {
    result.code = error.code;
    if (Object.keys(error.details).length > 0 && depth > 0) result.details = cleanObject(error.details, depth);
  } else if ('code' in error) result.code = error.code;
  if (error.cause !== undefined && depth > 0) result.cause = clean(error.cause, depth - 1);
  return result;
}
