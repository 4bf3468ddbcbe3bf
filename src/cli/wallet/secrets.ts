/** Gets passphrases for commands: from a file, the environment, or a person at a terminal, never from an argument. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadedConfig } from '../../config/load.js';
import type { Config } from '../../config/schema.js';
import { systemClock } from '../../lib/clock.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import { isLoopback } from '../../lib/ip-address.js';
import { systemRandom } from '../../lib/random.js';
import { MAX_SECRET_FILE, readBoundedText } from '../../lib/read-bounded.js';
import { hasWallet } from '../../lib/roles.js';
import { KEYSTORE_FILE, Keystore } from '../../wallet/keys/keystore.js';
import { type CliContext, type FlagSpec, type ParsedArgs, UsageError } from '../command.js';
import { checkUrl, isNodeOf } from '../node-access.js';
import { walletConfig } from './connection.js';
import { askSecret, isInteractive } from './prompt.js';

const MAX_PASSPHRASE = 1_024;
const ATTEMPTS = 3;

export interface SecretSource {
  readonly flag: string;
  readonly env: string;
  readonly question: string;
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

export function passphraseSource({ sources }: Pick<LoadedConfig, 'sources'>): string | undefined {
  const source = sources.get('wallet.passphrase');
  return source === 'default' ? undefined : source;
}

/** The passphrase of the configuration; undefined without one, and for a node that is not the configured one: it must not get it. */
function configuredPassphrase(args: ParsedArgs, context: CliContext): string | undefined {
  const named = args.value('url');
  const url = named === undefined ? undefined : checkUrl(named);
  if (url !== undefined && !isLoopback(new URL(url).hostname)) return undefined;
  const loaded = walletConfig(args, context);
  if (url !== undefined && !isNodeOf(url, loaded.config)) return undefined;
  return passphraseSource(loaded) === undefined ? undefined : loaded.config.wallet.passphrase;
}

type Given = Pick<LoadedConfig, 'config' | 'sources'>;

/** True when no source gives the passphrase of a wallet that needs one: new wallets of development networks do not. */
export function needsPassphrase(given: Given): boolean {
  const { wallet } = given.config;
  return opensWallet(given.config) && wallet.genesisSeedIndex === undefined && passphraseSource(given) === undefined;
}

/** The configuration with the typed passphrase, if one is needed and there is a terminal. `areSeveral`: questions name the wallet. */
export async function withTypedPassphrase(loaded: Given, context: CliContext, areSeveral = false): Promise<Config> {
  const { config } = loaded;
  if (!opensWallet(config) || !isInteractive(context)) return config;
  const file = join(config.node.dataDir, KEYSTORE_FILE);
  const wallet = areSeveral ? `wallet of the ${config.node.role} node` : 'wallet';
  if (!existsSync(file)) {
    if (!needsPassphrase(loaded)) return config;
    return sealedWith(await askNewPassphrase(`The ${wallet} is new. Passphrase for it: `, context), config);
  }
  const source = passphraseSource(loaded);
  if (!needsPassphrase(loaded) && (await opens(file, config.wallet.passphrase))) return config;
  if (source !== undefined) context.stderr.write(`The passphrase from ${source} does not open the ${wallet}.\n`);
  return sealedWith(await askUntilItOpens(file, `Passphrase of the ${wallet}: `, context), config);
}

function opensWallet({ node, wallet }: Config): boolean {
  return hasWallet(node.role) && wallet.enabled;
}

function sealedWith(passphrase: string, config: Config): Config {
  return { ...config, wallet: { ...config.wallet, passphrase } };
}

async function askUntilItOpens(file: string, question: string, context: CliContext): Promise<string> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const passphrase = await askSecret(question, context);
    if (await opens(file, passphrase)) return passphrase;
    context.stderr.write('That passphrase does not open the wallet.\n');
  }
  throw new TesseraError('wrong_passphrase', `no passphrase that was typed opens ${file}`);
}

/** False when the passphrase is certainly wrong. Other faults of the file are reported at the start of the node. */
async function opens(file: string, passphrase: string): Promise<boolean> {
  try {
    const modules = { random: systemRandom, clock: systemClock };
    (await Keystore.read({ file, passphrase }, modules)).close();
    return true;
  } catch (error) {
    return !isTesseraError(error, 'wrong_passphrase');
  }
}
