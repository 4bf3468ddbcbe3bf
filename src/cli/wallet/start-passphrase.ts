/** The passphrase of a wallet when a node starts on a terminal: asked for when nothing gives it, or what is given does not open it. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadedConfig } from '../../config/load.js';
import type { Config } from '../../config/schema.js';
import { systemClock } from '../../lib/clock.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import { systemRandom } from '../../lib/random.js';
import { hasWallet } from '../../lib/roles.js';
import { KEYSTORE_FILE, Keystore } from '../../wallet/keys/keystore.js';
import type { CliContext } from '../command.js';
import { passphraseSource } from './configured-passphrase.js';
import { askSecret, isInteractive } from './prompt.js';
import { askNewPassphrase } from './secrets.js';

type Given = Pick<LoadedConfig, 'config' | 'sources'>;

const ATTEMPTS = 3;

/** True when no source gives the passphrase of a wallet that needs one: new wallets of development networks do not. */
export function needsPassphrase(given: Given): boolean {
  const { wallet } = given.config;
  return opensWallet(given.config) && wallet.genesisSeedIndex === undefined && passphraseSource(given) === undefined;
}

/**
 * The configuration with the typed passphrase; unchanged when none is needed or there is nobody to ask. `areSeveral`: there are
 * other wallets, so the questions say which one is meant.
 */
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

/** False when it certainly does not. What else is wrong with the file, the start of the node tells. */
async function opens(file: string, passphrase: string): Promise<boolean> {
  try {
    const modules = { random: systemRandom, clock: systemClock };
    (await Keystore.read({ file, passphrase }, modules)).close();
    return true;
  } catch (error) {
    return !isTesseraError(error, 'wrong_passphrase');
  }
}
