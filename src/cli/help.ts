/** Help texts in the form of manual pages, made from the descriptions of commands; `options-page.ts` makes the page of the options. */

import { stringifyExact } from '../lib/json.js';
import { NODE_ROLES } from '../lib/roles.js';
import { wrap } from '../lib/wrap.js';
import type { ArgumentSpec, CommandSpec, FlagSpec } from './command.js';
import { UNKNOWN } from './writes.js';

export const PROGRAM = 'tessera';

const WIDTH = 80;
const INDENT = 7;

const EXITS: Readonly<Record<number, string>> = { 0: 'done', 1: 'failed', 2: 'the command line is wrong' };

export function overview(commands: readonly { readonly name: string; readonly summary: string }[]): string {
  const width = Math.max(...commands.map((command) => command.name.length));
  return page([
    ['NAME', [`${PROGRAM} - a multi-role HTTP node for a UTXO blockchain`]],
    ['SYNOPSIS', [`${PROGRAM} [command] [flags]`, `${PROGRAM} --role ${NODE_ROLES.join('|')} [flags]`]],
    ['COMMANDS', commands.map(({ name, summary }) => `${name.padEnd(width)}  ${summary}`)],
    [
      'MORE',
      [
        `${PROGRAM} help COMMAND   the page of a command (also COMMAND --help)`,
        `${PROGRAM} help options   every option of the configuration`,
        `${PROGRAM} --version      version of the program and of Node.js`,
      ],
    ],
  ]);
}

export function commandPage(spec: CommandSpec): string {
  const title = spec.name === 'start' ? PROGRAM : `${PROGRAM} ${spec.name}`;
  const commands = spec.commands ?? [];
  const width = Math.max(0, ...commands.map(({ name }) => name.length));
  const exits = Object.entries(exitsOf(spec)).map(([code, when]) => `${code.padEnd(4)} ${when}`);
  return page([
    ['NAME', [`${PROGRAM} ${spec.name} - ${lowerFirst(spec.summary)}`]],
    [
      'SYNOPSIS',
      [
        commands.length > 0
          ? `${title} COMMAND`
          : `${title} ${[...spec.flags.map(flagUsage), ...(spec.arguments ?? []).map(argumentUsage)].join(' ')}`,
      ],
    ],
    ['COMMANDS', commands.map(({ name, summary }) => `${name.padEnd(width)}  ${summary}`)],
    ['DESCRIPTION', separate(spec.description)],
    ['ARGUMENTS', entries((spec.arguments ?? []).map(({ name, description }) => [name, description]))],
    ['FLAGS', entries(spec.flags.map((flag) => [flagTitle(flag), flag.description]))],
    ['EXAMPLES', entries(spec.examples.map(({ line, does }) => [line, does]))],
    ['EXIT STATUS', exits],
  ]);
}

export function commandJson(spec: CommandSpec): string {
  const commands = spec.commands?.map(({ name, summary }) => ({ name, summary }));
  return `${stringifyExact({ ...spec, ...(commands === undefined ? {} : { commands }), exits: exitsOf(spec) })}\n`;
}

export function overviewJson(commands: readonly { readonly name: string; readonly summary: string }[]): string {
  return `${stringifyExact(commands.map(({ name, summary }) => ({ name, summary })))}\n`;
}

/** Reasons for exit statuses, by status. */
function exitsOf({ exits, again }: CommandSpec): Readonly<Record<number, string>> {
  const unknown = `the result is not known: no answer came, or a signal came first; ${again}`;
  return { ...EXITS, ...(again === undefined ? {} : { [UNKNOWN]: unknown }), ...exits };
}

export function page(sections: readonly (readonly [title: string, lines: readonly string[]])[]): string {
  return sections
    .filter(([, lines]) => lines.length > 0)
    .map(([title, lines]) => `${title}\n${lines.flatMap(indented).join('\n')}\n`)
    .join('\n');
}

/** Indents a line, and wraps it with its own indentation if it is too long. Columns in a line that fits are kept. */
function indented(line: string): string[] {
  if (line === '') return [''];
  const lead = /^ */.exec(line)?.[0].length ?? 0;
  const pad = ' '.repeat(INDENT + lead);
  const text = line.slice(lead);
  if (pad.length + text.length <= WIDTH) return [pad + text];
  return wrap(text, WIDTH - pad.length).map((part) => pad + part);
}

export function entries(list: readonly (readonly [title: string, text: string])[]): string[] {
  return list.flatMap(([title, text], index) => [...(index === 0 ? [] : ['']), title, `    ${text}`]);
}

function separate(paragraphs: readonly string[]): string[] {
  return paragraphs.flatMap((paragraph, index) => (index === 0 ? [paragraph] : ['', paragraph]));
}

function flagTitle({ name, short, value }: FlagSpec): string {
  const long = `--${name}${value === undefined ? '' : ` ${value}`}`;
  return short === undefined ? long : `-${short}, ${long}`;
}

function flagUsage({ name, value, repeatable }: FlagSpec): string {
  return `[--${name}${value === undefined ? '' : ` ${value}`}]${repeatable === true ? '...' : ''}`;
}

function argumentUsage({ name, required, rest }: ArgumentSpec): string {
  const shown = rest === true ? `${name}...` : name;
  return required === true ? shown : `[${shown}]`;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
