/** From the command line to an exit status: finds the command, parses its flags, runs it, and prints errors. */

import { type CliContext, ExitError, parseCommandLine, UsageError } from './command.js';
import { COMMANDS, findCommand } from './commands.js';
import { commandPage, overview, PROGRAM } from './help.js';
import { failureText } from './lifecycle.js';
import { programVersion } from './version.js';

/** Exit status of a wrong command line. */
const USAGE_EXIT = 2;

/** The command that runs when the first argument is a flag or nothing. */
const DEFAULT_COMMAND = 'start';

/** Runs the command line (without node and script). Resolves with the exit status; throws nothing. */
export async function runCli(argv: readonly string[], context: CliContext): Promise<number> {
  const [first] = argv;
  if (first === '--help' || first === '-h' || (first === undefined && !isConfigured(context))) {
    context.stdout.write(overview(COMMANDS));
    return first === undefined ? USAGE_EXIT : 0;
  }
  if (first === '--version' || first === '-v') {
    const version = programVersion();
    const json = JSON.stringify({ version, node: process.version });
    context.stdout.write(argv.includes('--json') ? `${json}\n` : `${PROGRAM} ${version} (node ${process.version})\n`);
    return 0;
  }
  const named = first !== undefined && !first.startsWith('-');
  let name = named ? first : DEFAULT_COMMAND;
  try {
    const { command, rest } = await findCommand(named ? argv : [DEFAULT_COMMAND, ...argv]);
    name = command.spec.name;
    if (rest.includes('--help') || rest.includes('-h')) {
      context.stdout.write(commandPage(command.page?.(rest) ?? command.spec));
      return 0;
    }
    return await command.run(parseCommandLine(command.spec, rest), context);
  } catch (error) {
    const usage = error instanceof UsageError;
    const hint = usage ? `\nSee: ${PROGRAM} help${named ? ` ${name}` : ''}` : '';
    context.stderr.write(`${usage ? `${PROGRAM}: ${error.message}` : failureText(error)}${hint}\n`);
    if (error instanceof ExitError) return error.status;
    return usage ? USAGE_EXIT : 1;
  }
}

/** Without arguments, a container configured by its environment starts, and a person gets the overview. */
function isConfigured({ env }: CliContext): boolean {
  return env.TESSERA_CONFIG !== undefined || env.TESSERA_NODE__ROLE !== undefined;
}
