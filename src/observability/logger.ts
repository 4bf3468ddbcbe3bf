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
  /** Where lines go; standard output when absent. */
  readonly out?: LineTarget & { readonly isTTY?: boolean };
}

/** The logger of a node; services get its children. */
export interface NodeLogger extends Logger {
  /** The same logger with `component` in every line; the child of a child has both names, `mempool/peers`. */
  child(component: string): NodeLogger;
  /** Changes the level of this logger and of every child. */
  setLevel(level: LogLevel): void;
  /** Lines written so far by this logger and what was made of it. */
  readonly lines: Readonly<Record<LineLevel, number>>;
  /** For who makes many lines and puts them together; undefined where lines are made readable for people. */
  readonly infoLines: InfoLines | undefined;
}

export const LINE_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LineLevel = (typeof LINE_LEVELS)[number];

/** Takes ready JSON lines of level info. */
export interface InfoLines {
  /** False while the level leaves them out. */
  readonly enabled: boolean;
  /** Members that every line must have, as JSON text with a comma behind each: `"node":"a","component":"api",`. */
  readonly members: string;
  /** Whole lines, and how many they are. */
  write(text: string, count: number): void;
}

/** A logger as the options say. Lines are written at once: none is lost when the process ends. */
export function createLogger(options: LoggerOptions, modules: LoggerModules = {}): NodeLogger {
  const out = modules.out ?? process.stdout;
  const pretty = options.format === 'pretty' || (options.format === 'auto' && out.isTTY === true);
  const target = pretty ? createPrettyTarget(out, out.isTTY === true) : out;
  const base = options.node === undefined ? {} : { node: options.node };
  const levels: LevelSwitch = { children: [] };
  const root = pino({ level: options.level, base }, { write: (line) => target.write(line) });
  const shared: Shared = { root, levels, base, raw: pretty ? undefined : target };
  return wrap(shared, root, undefined, []);
}

/** What a logger and all that is made of it have in common. */
interface Shared {
  readonly root: Pino;
  readonly levels: LevelSwitch;
  readonly base: { readonly node?: string };
  /** Takes JSON lines as they are. */
  readonly raw: LineTarget | undefined;
}

type LineCounts = Record<LineLevel, number>;

/** pino keeps a level for each child; this list lets one call change them all. */
interface LevelSwitch {
  readonly children: Pino[];
}

/** `above` are the counts of the loggers that it was made of. */
function wrap(shared: Shared, inner: Pino, component: string | undefined, above: readonly LineCounts[]): NodeLogger {
  const { root, levels, base, raw } = shared;
  levels.children.push(inner);
  const lines: LineCounts = { debug: 0, info: 0, warn: 0, error: 0 };
  const counts = [...above, lines];
  const count = (level: LineLevel, by: number): void => {
    for (const each of counts) each[level] += by;
  };
  const at = (level: LineLevel) => (fields: object, message: string) => {
    // Redacting costs more than asking: lines below the level cost nothing.
    if (!inner.isLevelEnabled(level)) return;
    count(level, 1);
    inner[level](redactFields(fields), message);
  };
  const members = Object.entries({ ...base, ...(component === undefined ? {} : { component }) })
    .map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`)
    .join('');
  return {
    lines,
    infoLines: raw && {
      members,
      get enabled() {
        return inner.isLevelEnabled('info');
      },
      write(text, added) {
        count('info', added);
        raw.write(text);
      },
    },
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child(name) {
      const path = component === undefined ? name : `${component}/${name}`;
      return wrap(shared, root.child({ component: path }, { level: inner.level }), path, counts);
    },
    setLevel(level) {
      for (const child of levels.children) child.level = level;
    },
  };
}
