/** Asks for the passphrase of a wallet when a node starts on a terminal and nothing else gives it. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadedConfig } from '../../config/load.js';
import type { Config } from '../../config/schema.js';
import { KEYSTORE_FILE } from '../../wallet/keys/keystore.js';
import type { CliContext } from '../command.js';
import { askSecret, isInteractive } from './prompt.js';
import { askNewPassphrase, PASSPHRASE } from './secrets.js';

type Given = Pick<LoadedConfig, 'config' | 'sources'>;

/** True when no source gives the passphrase of a wallet that needs one: wallets of development networks do not. */
export function needsPassphrase({ config, sources }: Given): boolean {
  const { node, wallet } = config;
  const hasWallet = (node.role === 'user' || node.role === 'miner') && wallet.enabled;
  const source = sources.get('wallet.passphrase');
  return hasWallet && wallet.genesisSeedIndex === undefined && (source === undefined || source === 'default');
}

/** The configuration with the typed passphrase; unchanged when none is needed or there is nobody to ask. */
export async function withTypedPassphrase(loaded: Given, context: CliContext): Promise<Config> {
  const { config } = loaded;
  if (!needsPassphrase(loaded) || !isInteractive(context)) return config;
  const isKnown = existsSync(join(config.node.dataDir, KEYSTORE_FILE));
  const passphrase = isKnown
    ? await askSecret(PASSPHRASE.question, context)
    : await askNewPassphrase('The wallet is new. Passphrase for it: ', context);
  return { ...config, wallet: { ...config.wallet, passphrase } };
}
