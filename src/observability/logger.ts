/**
 * The logger of a node: pino behind the `Logger` seam, one JSON object a line on standard output (or readable text on a
 * terminal), with the node's name and the component that speaks. Every field passes `redactFields`.
 */

import { type Logger as Pino, pino } from 'pino';
import type { Logger } from '../lib/logger.js';
import { createPrettyTarget, type LineTarget } from './pretty.js';
import { redactFields } from './redaction.js';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LoggerOptions {
  readonly level: LogLevel;
  /** `auto` is `pretty` on a terminal and `json` elsewhere. */
  readonly format: 'auto' | 'json' | 'pretty';
  /** Stands in every line: the node's name. */
  readonly node?: string;
}

export interface LoggerModules {
  /** Target of lines; standard output when absent. */
  readonly out?: LineTarget & { readonly isTTY?: boolean };
}

export const LINE_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LineLevel = (typeof LINE_LEVELS)[number];

/** Takes ready JSON lines of level info. */
export interface InfoLines {
  /** False while the level leaves them out. */
  readonly enabled: boolean;
  /** Members that every line must have, as JSON text with a comma after each: `"node":"a","component":"api",`. */
  readonly members: string;
  /** Whole lines, and how many they are. */
  write(text: string, count: number): void;
}

/** Parts that a logger shares with all loggers made of it. */
interface Shared {
  readonly root: Pino;
  /** All loggers: pino keeps a level for each child, and this list lets one call change them all. */
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
  /** Counts of this logger and of those that it was made of. */
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

  /** Lines written so far by this logger and what was made of it. */
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

  /** The same logger with `component` in every line; the child of a child has both names, `mempool/peers`. */
  child(name: string): NodeLogger {
    const component = this.#component === undefined ? name : `${this.#component}/${name}`;
    const inner = this.#shared.root.child({ component }, { level: this.#pino.level });
    return new NodeLogger(this.#shared, inner, component, this.#counts);
  }

  /** Changes the level of this logger and of every child. */
  setLevel(level: LogLevel): void {
    for (const each of this.#shared.all) each.level = level;
  }

  #write(level: LineLevel, fields: object, message: string): void {
    // Redacting costs more than asking: lines below the level cost nothing.
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
