/** A command: a description, from which its help is made and its flags are parsed, and a function that runs it. */

import { parseArgs } from 'node:util';
import { didYouMean } from '../config/suggest.js';
import { type ErrorCode, TesseraError } from '../lib/errors.js';
import { stringifyExact } from '../lib/json.js';

/** Completions that a shell offers for a value: files, folders, or these words. A word that ends in `=` goes on. */
export type Completion = 'files' | 'folders' | readonly string[];

/** A flag: `--name VALUE`, or `--name` alone when it has no value. */
export interface FlagSpec {
  readonly name: string;
  /** Short name of the flag, one letter: that of `-r`. */
  readonly short?: string;
  /** Name of the value in the help: `FILE`. Without it the flag is true or absent. */
  readonly value?: string;
  readonly repeatable?: boolean;
  /** Completion of the value: by default files for FILE and folders for DIR and FOLDER. */
  readonly completes?: Completion;
  readonly description: string;
}

/** A flag by its usage, as the help shows it: `-u, --url URL`. */
export function flag(
  usage: string,
  description: string,
  more: Pick<FlagSpec, 'repeatable' | 'completes'> = {},
): FlagSpec {
  const [, short, name = '', value] = /^(?:-(\w), )?--(\S+)(?: (.+))?$/.exec(usage) ?? [];
  return { name, ...(short && { short }), ...(value && { value }), ...more, description };
}

export interface ArgumentSpec {
  readonly name: string;
  readonly description: string;
  readonly required?: boolean;
  readonly rest?: boolean;
  /** Completion of the value: by default files for FILE and folders for DIR. */
  readonly completes?: Completion;
}

export interface CommandSpec {
  readonly name: string;
  readonly summary: string;
  readonly description: readonly string[];
  readonly arguments?: readonly ArgumentSpec[];
  /** The commands of a group: `wallet` has `wallet pay`. */
  readonly commands?: readonly { readonly name: string; readonly summary: string }[];
  readonly flags: readonly FlagSpec[];
  /** Command lines that work, with what they do. */
  readonly examples: readonly { readonly line: string; readonly does: string }[];
  /** Advice when the result is not known (status 3), for commands that have a node do something. */
  readonly again?: string;
  /** Reasons for exit statuses besides 0 (done), 1 (failed) and 2 (wrong command line). */
  readonly exits?: Readonly<Record<number, string>>;
}

export interface ParsedArgs {
  readonly positionals: readonly string[];
  value(flag: string): string | undefined;
  values(flag: string): readonly string[];
  has(flag: string): boolean;
}

export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export type Input = NodeJS.ReadableStream & {
  readonly isTTY?: boolean | undefined;
  /** Terminals only: keys arrive one by one, and are not shown. */
  setRawMode?(raw: boolean): unknown;
};

export interface CliProcess {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  onSignal(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP', listener: () => void): () => void;
  /** Calls the listener, in place of ending the process, when nobody reads standard output any more; returns a function that removes it. */
  onReaderGone?(listener: () => void): () => void;
  /** Calls the listener, in place of ending the process, when the process has nothing left to wait for. */
  onIdle?(listener: () => void): void;
  exit(code: number): void;
}

export interface WriteWatch {
  advice: string;
  /** Waits for the answer of a request that does something. Throws `UnknownOutcome` when SIGINT or SIGTERM comes before it. */
  answer<T>(request: Promise<T>): Promise<T>;
}

export interface CliContext extends CliProcess {
  /** True when a program calls the command, by --json: errors are JSON as well. */
  readonly json?: boolean;
  readonly writes: WriteWatch;
}

/** A command in a list; its file is imported when it is called or its help is asked for. */
export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<Command>;
}

export interface Command {
  readonly spec: CommandSpec;
  /** The help page for the words after the command, when they have one of their own; `spec` is the page of the command. */
  page?(words: readonly string[], spec: CommandSpec): CommandSpec | undefined;
  /** Commands of a group, named by the next word. */
  readonly commands?: readonly CommandEntry[];
  /** Resolves with the exit status when the command is done. Throws errors to be printed. */
  run(args: ParsedArgs, context: CliContext): Promise<number>;
}

/** Facts of a command, from its file. Name and summary are in the list, and every command has --json. */
export interface OwnSpec extends Omit<CommandSpec, 'name' | 'summary' | 'flags' | 'examples'> {
  /** Examples by command line, each with what the command does. */
  readonly examples: Readonly<Record<string, string>>;
  readonly flags?: readonly FlagSpec[];
  /** Description of the output of --json, where one is needed. */
  readonly json?: string;
}

export interface OwnCommand extends Omit<Command, 'spec'> {
  readonly spec: OwnSpec;
}

/** A line of a list of commands: the command, or what imports its file. */
type ListedCommand = readonly [
  name: string,
  summary: string,
  own: OwnCommand | (() => Promise<{ readonly command: OwnCommand }>),
];

export function commandList(list: readonly ListedCommand[], groupName = ''): readonly CommandEntry[] {
  return list.map(([name, summary, own]) => ({
    name,
    summary,
    load: async () => {
      const command = typeof own === 'function' ? (await own()).command : own;
      const { json = 'Prints JSON for programs instead.', flags = [], ...spec } = command.spec;
      const all = command.commands === undefined ? [...flags, { name: 'json', description: json }] : flags;
      const lines = Object.entries(spec.examples).map(([line, does]) => ({ line, does }));
      return { ...command, spec: { name: `${groupName}${name}`, summary, ...spec, examples: lines, flags: all } };
    },
  }));
}

export function group(
  name: string,
  list: readonly ListedCommand[],
  spec: Pick<OwnSpec, 'description' | 'examples'>,
): OwnCommand {
  const commands = commandList(list, `${name} `);
  return {
    spec: { ...spec, commands },
    commands,
    async run() {
      throw new UsageError(`name a command: tessera ${name} ${commands.map((one) => one.name).join('|')}`);
    },
  };
}

/** Prints the result: with --json the report on one line, else the text, if there is any. Returns the exit status, 0. */
export function printed(args: ParsedArgs, { stdout }: CliContext, report: unknown, text: string): number {
  const line = args.has('json') ? stringifyExact(report) : text;
  if (line !== '') stdout.write(line.endsWith('\n') ? line : `${line}\n`);
  return 0;
}

export function onStopSignal(
  { onSignal }: Pick<CliProcess, 'onSignal'>,
  listener: (signal: 'SIGINT' | 'SIGTERM') => void,
): () => void {
  const removers = (['SIGINT', 'SIGTERM'] as const).map((signal) => onSignal(signal, () => listener(signal)));
  return () => {
    for (const remove of removers) remove();
  };
}

/** A wrong command line: exit status 2 and a pointer to the help. */
export class UsageError extends TesseraError {
  constructor(message: string) {
    super('invalid_request', message);
    this.name = 'UsageError';
  }
}

/** A failure with an exit status of its own, which the help of the command explains. */
export class ExitError extends TesseraError {
  readonly status: number;

  constructor(status: number, code: ErrorCode, message: string) {
    super(code, message);
    this.name = 'ExitError';
    this.status = status;
  }
}

/** Parses the arguments after the command's name. Throws `UsageError` that says what is allowed. */
export function parseCommandLine(spec: CommandSpec, args: readonly string[]): ParsedArgs {
  const options = Object.fromEntries(
    spec.flags.map(({ name, short, value }) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        multiple: true,
        ...(short === undefined ? {} : { short }),
      },
    ]),
  );
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const given = new Map<string, string[]>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    else if (token.kind === 'option') {
      // In `--role --data X`, the parser would take the next flag as the value.
      const swallowed = token.inlineValue === false && token.value.startsWith('--');
      addFlag(spec, given, token.name, token.rawName, swallowed ? undefined : token.value);
    }
  }
  checkPositionals(spec, positionals);
  return {
    positionals,
    value: (flag) => given.get(flag)?.at(-1),
    values: (flag) => given.get(flag) ?? [],
    has: (flag) => given.has(flag),
  };
}

function addFlag(
  spec: CommandSpec,
  given: Map<string, string[]>,
  name: string,
  rawName: string,
  value: string | undefined,
): void {
  const flag = spec.flags.find((candidate) => candidate.name === name);
  if (flag === undefined) {
    const known = spec.flags.map((candidate) => `--${candidate.name}`);
    throw new UsageError(`${rawName} is not a flag of tessera ${spec.name}${didYouMean(rawName, known)}`);
  }
  if (flag.value !== undefined && (value === undefined || value === '')) {
    throw new UsageError(`${rawName} needs a value: --${name} ${flag.value}`);
  }
  if (flag.value === undefined && value !== undefined) throw new UsageError(`${rawName} takes no value`);
  const values = given.get(name) ?? [];
  if (values.length > 0 && flag.repeatable !== true) throw new UsageError(`${rawName} is given twice`);
  given.set(name, [...values, value ?? '']);
}

function checkPositionals(spec: CommandSpec, positionals: readonly string[]): void {
  const allowed = spec.arguments ?? [];
  const missing = allowed.find((argument, index) => argument.required === true && positionals.length <= index);
  if (missing !== undefined) throw new UsageError(`${missing.name} is missing: ${missing.description}`);
  const extra = positionals[allowed.length];
  if (extra !== undefined && allowed.at(-1)?.rest !== true) {
    throw new UsageError(`tessera ${spec.name} does not know what to do with "${extra}"`);
  }
}

export function integerFlag(args: ParsedArgs, flag: string, minimum: number, maximum: number): number | undefined {
  const text = args.value(flag);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^-?[0-9]+$/.test(text) || value < minimum || value > maximum) {
    throw new UsageError(`--${flag} must be a whole number from ${minimum} to ${maximum}, not "${text}"`);
  }
  return value;
}
