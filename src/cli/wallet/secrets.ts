/** Gets passphrases for commands: from a file, the environment, or a person at a terminal, never from an argument. */

import { errorMessage } from '../../lib/errors.js';
import { MAX_SECRET_FILE, readBoundedText } from '../../lib/read-bounded.js';
import { type CliContext, type FlagSpec, type ParsedArgs, UsageError } from '../command.js';
import { configuredPassphrase } from './configured-passphrase.js';
import { askSecret, isInteractive } from './prompt.js';

/** Maximum length in characters, as in the API. */
const MAX_PASSPHRASE = 1_024;
/** Attempts at typing a new passphrase twice. */
const ATTEMPTS = 3;

/** The flag, variable and question for a passphrase. */
export interface SecretSource {
  readonly flag: string;
  readonly env: string;
  readonly question: string;
  /** Passphrase in the configuration of the node. */
  readonly configured?: (args: ParsedArgs, context: CliContext) => string | undefined;
}

export const PASSPHRASE: SecretSource = {
  flag: 'passphrase-file',
  env: 'TESSERA_WALLET__PASSPHRASE',
  question: 'Passphrase of the wallet: ',
  configured: configuredPassphrase,
};

export const NEW_PASSPHRASE: SecretSource = {
  flag: 'new-passphrase-file',
  env: 'TESSERA_WALLET_NEW_PASSPHRASE',
  question: 'New passphrase: ',
};

/** The flag of a source, for the help. */
export function secretFlag({ flag, env, configured }: SecretSource, what: string): FlagSpec {
  const from =
    configured === undefined ? `the variable ${env}` : `the variable ${env}, else the configuration of the node`;
  return {
    name: flag,
    value: 'FILE',
    description: `File with ${what}; line ends after it are ignored. Default: ${from}, else a question on the terminal.`,
  };
}

/** The secret from file, environment or configuration; undefined when a person must be asked. Throws `UsageError` if there is none. */
export function givenSecret(source: SecretSource, args: ParsedArgs, context: CliContext): string | undefined {
  const file = args.value(source.flag);
  const given =
    file === undefined ? (context.env[source.env] ?? source.configured?.(args, context)) : readSecretFile(file, source);
  if (given !== undefined && given.length > MAX_PASSPHRASE) {
    throw new UsageError(`a passphrase has at most ${MAX_PASSPHRASE} characters`);
  }
  if (given === undefined && !isInteractive(context)) {
    throw new UsageError(
      `the passphrase is missing: give --${source.flag} FILE or the variable ${source.env}, or use a terminal`,
    );
  }
  return given;
}

function readSecretFile(file: string, { flag }: SecretSource): string {
  try {
    return readBoundedText(file, MAX_SECRET_FILE).replace(/[\r\n]+$/, '');
  } catch (error) {
    throw new UsageError(`--${flag} ${file} cannot be read: ${errorMessage(error)}`);
  }
}

/** The passphrase of the wallet: given, or else typed. */
export async function passphraseOf(args: ParsedArgs, context: CliContext): Promise<string> {
  return givenSecret(PASSPHRASE, args, context) ?? askSecret(PASSPHRASE.question, context);
}

/** Asks twice for a passphrase that is to be set. Throws `UsageError` after three attempts. */
export async function askNewPassphrase(question: string, context: CliContext): Promise<string> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const first = await askSecret(question, context);
    if (first.trim() === '') context.stderr.write('A blank passphrase protects nothing.\n');
    else if (first === (await askSecret('The same again: ', context))) return first;
    else context.stderr.write('The two passphrases differ.\n');
  }
  throw new UsageError('no passphrase was chosen');
}

/** Asks twice for another secret, which may be empty. Throws `UsageError` after three attempts. */
export async function askNewSecret(question: string, context: CliContext): Promise<string> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const first = await askSecret(question, context);
    if (first === (await askSecret('The same again: ', context))) return first;
    context.stderr.write('The two differ.\n');
  }
  throw new UsageError('the two were never the same');
}
