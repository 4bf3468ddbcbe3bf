/** The passphrase that the configuration gives for its wallet: by `wallet.passphrase_file`, or in the file itself. */

import type { LoadedConfig } from '../../config/load.js';
import { isLoopback } from '../../lib/ip-address.js';
import type { CliContext, ParsedArgs } from '../command.js';
import { checkUrl, isNodeOf } from '../node-access.js';
import { walletConfig } from './connection.js';

/** Source of the wallet's passphrase; undefined when no source gives it. */
export function passphraseSource({ sources }: Pick<LoadedConfig, 'sources'>): string | undefined {
  const source = sources.get('wallet.passphrase');
  return source === 'default' ? undefined : source;
}

/** Undefined when it gives none, and for a node that is not that of the configuration: it gets no passphrase of another. */
export function configuredPassphrase(args: ParsedArgs, context: CliContext): string | undefined {
  const named = args.value('url');
  const url = named === undefined ? undefined : checkUrl(named);
  if (url !== undefined && !isLoopback(new URL(url).hostname)) return undefined;
  const loaded = walletConfig(args, context);
  if (url !== undefined && !isNodeOf(url, loaded.config)) return undefined;
  return passphraseSource(loaded) === undefined ? undefined : loaded.config.wallet.passphrase;
}
