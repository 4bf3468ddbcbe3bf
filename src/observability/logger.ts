/**
 * The logger of a node: pino behind the `Logger` seam, one JSON object a line on standard output (or readable text on a
 * terminal), with the node's name and the component that speaks. Every field passes `cleanFields`.
 */

import { type Logger as Pino, pino } from 'pino';
import type { Logger } from '../lib/logger.js';
import { cleanFields } from './clean-fields.js';
import { createPrettyTarget, type LineTarget } from './pretty.js';

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
}

/** A logger as the options say. Lines are written at once: none is lost when the process ends. */
export function createLogger(options: LoggerOptions, modules: LoggerModules = {}): NodeLogger {
  const out = modules.out ?? process.stdout;
  const pretty = options.format === 'pretty' || (options.format === 'auto' && out.isTTY === true);
  const target = pretty ? createPrettyTarget(out, out.isTTY === true) : out;
  const base = options.node === undefined ? {} : { node: options.node };
  const levels: LevelSwitch = { children: [] };
  const root = pino({ level: options.level, base }, { write: (line) => target.write(line) });
  return wrap(root, root, undefined, levels);
}

/** pino keeps a level for each child; this list lets one call change them all. */
interface LevelSwitch {
  readonly children: Pino[];
}

function wrap(root: Pino, inner: Pino, component: string | undefined, levels: LevelSwitch): NodeLogger {
  levels.children.push(inner);
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: object, message: string) => {
    // Cleaning costs more than asking: lines below the level cost nothing.
    if (inner.isLevelEnabled(level)) inner[level](cleanFields(fields), message);
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child(name) {
      const path = component === undefined ? name : `${component}/${name}`;
      return wrap(root, root.child({ component: path }, { level: inner.level }), path, levels);
    },
    setLevel(level) {
      for (const child of levels.children) child.level = level;
    },
  };
}
