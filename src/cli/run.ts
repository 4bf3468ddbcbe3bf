/** Main function of the command line: finds the command, parses its flags, runs it, prints errors, and returns the exit status. */

import { errorMessage, TesseraError } from '../lib/errors.js';
import { printableJson, printableLines } from '../lib/printable.js';
import { programVersion } from '../lib/program-files.js';
import {
  type CliContext,
  type CliProcess,
  type Command,
  ExitError,
  type Output,
  parseCommandLine,
  UsageError,
} from './command.js';
import { COMMANDS, findCommand } from './commands.js';
import { commandJson, commandPage, overview, overviewJson, PROGRAM } from './help.js';
import { failureJson, failureText } from './lifecycle.js';
import { Writes } from './writes.js';

const USAGE_EXIT = 2;

const DEFAULT_COMMAND = 'start';

/** Runs the command line (without node and script). Resolves with the exit status; throws nothing. */
export async function runCli(argv: readonly string[], caller: CliProcess): Promise<number> {
  const [first] = argv;
  const json = argv.includes('--json');
  if (first === '--help' || first === '-h' || (first === undefined && !isConfigured(caller))) {
    caller.stdout.write(json ? overviewJson(COMMANDS) : overview(COMMANDS));
    return first === undefined ? USAGE_EXIT : 0;
  }
  if (first === '--version' || first === '-v') {
    caller.stdout.write(versionText(json));
    return 0;
  }
  const writes = new Writes(caller);
  // The streams of the caller are inherited, not copied, so that each is opened only when it is used.
  const context: CliContext = Object.create(caller, {
    json: { value: json },
    stdout: { value: textOnly(caller.stdout, json) },
    writes: { value: writes },
  });
  const named = first !== undefined && !first.startsWith('-');
  let name = named ? first : DEFAULT_COMMAND;
  try {
    const { command, rest } = await findCommand(named ? argv : [DEFAULT_COMMAND, ...argv]);
    name = command.spec.name;
    if (rest.includes('--help') || rest.includes('-h')) {
      const spec = command.page?.(rest, command.spec) ?? command.spec;
      context.stdout.write(json ? commandJson(spec) : commandPage(spec));
      return 0;
    }
    const args = parseCommandLine(command.spec, rest);
    await warnOfVariables(command, context);
    if (command.spec.again !== undefined) writes.advice = command.spec.again;
    return await Promise.race([command.run(args, context), neverDone(caller)]);
  } catch (thrown) {
    const error = writes.judged(thrown);
    const page = error instanceof UsageError ? `${PROGRAM} help${named ? ` ${name}` : ''}` : null;
    context.stderr.write(`${json ? failureJson(error, page) : errorText(error, page)}\n`);
    if (error instanceof ExitError) return error.status;
    return page === null ? 1 : USAGE_EXIT;
  }
}

/** Rejects when the command can never end, because nothing is left that it waits for. */
function neverDone({ onIdle }: CliProcess): Promise<never> {
  return new Promise((_resolve, reject) => {
    onIdle?.(() => reject(new TesseraError('internal_error', 'the command waits for something that never comes')));
  });
}

/** Says once which variables a command that reads the configuration ignores. */
async function warnOfVariables({ spec }: Command, { env, stderr }: CliContext): Promise<void> {
  if (!spec.flags.some(({ name }) => name === 'config')) return;
  const { ignoredVariables } = await import('../config/sources.js');
  const ignored = ignoredVariables(env);
  if (ignored !== undefined) stderr.write(`warning: ${ignored}\n`);
}

/** An output without control characters: results hold texts of nodes and of strangers, which a terminal must not obey. */
function textOnly(output: Output, json: boolean): Output {
  const write = (text: string): unknown => output.write(printableLines(json ? printableJson(text) : text));
  return Object.create(output, { write: { value: write } });
}

/** The text for an error. That for a wrong command line has no code, and a second line that names the page of the command. */
function errorText(error: unknown, page: string | null): string {
  return page === null ? failureText(error) : `${PROGRAM}: ${errorMessage(error)}\nSee: ${page}`;
}

function versionText(json: boolean): string {
  const [version, node] = [programVersion(), process.version];
  return json ? `${JSON.stringify({ version, node })}\n` : `${PROGRAM} ${version} (node ${node})\n`;
}

/** True when the environment configures a node, as in a container: then a call without arguments starts it; others get the overview. */
function isConfigured({ env }: CliProcess): boolean {
  return env.TESSERA_CONFIG !== undefined || env.TESSERA_NODE__ROLE !== undefined;
}
