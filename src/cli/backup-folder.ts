/** The folder of backups that `tessera backup` and `tessera restore` work on, and the passphrase that opens it. */

import type { LoadedConfig } from '../config/load.js';
import { BackupStore, type BackupStoreOptions } from '../db/backup/backup-store.js';
import { systemRandom } from '../lib/random.js';
import { hasWallet } from '../lib/roles.js';
import type { CliContext, FlagSpec, ParsedArgs } from './command.js';
import { askSecret } from './wallet/prompt.js';
import { askNewPassphrase, givenSecret, type SecretSource } from './wallet/secrets.js';
import { needsPassphrase } from './wallet/start-passphrase.js';

const BACKUP_PASSPHRASE: SecretSource = {
  flag: 'passphrase-file',
  env: 'TESSERA_BACKUP_PASSPHRASE',
  question: 'Passphrase of the backups: ',
};

export const BACKUP_PASSPHRASE_FLAG: FlagSpec = {
  name: BACKUP_PASSPHRASE.flag,
  value: 'FILE',
  description:
    `File with the passphrase of the backups. Default: the variable ${BACKUP_PASSPHRASE.env}; else, for a wallet, its ` +
    'configured passphrase.',
};

/** Opens the folder to write to it, or makes it. Backups of a wallet are always encrypted. */
export function openToWrite(
  path: string,
  loaded: LoadedConfig,
  args: ParsedArgs,
  context: CliContext,
): Promise<BackupStore> {
  const isSealed = hasWallet(loaded.config.node.role) || isGiven(args, context);
  const options = storeOptions(loaded, args, context);
  return BackupStore.openToWrite(path, { ...options, isSealed }, { random: systemRandom });
}

export function openToRead(
  path: string,
  loaded: LoadedConfig,
  args: ParsedArgs,
  context: CliContext,
): Promise<BackupStore> {
  return BackupStore.openToRead(path, storeOptions(loaded, args, context), { random: systemRandom });
}

function storeOptions(
  loaded: LoadedConfig,
  args: ParsedArgs,
  context: CliContext,
): Omit<BackupStoreOptions, 'isSealed'> {
  const { node, network, wallet } = loaded.config;
  const passphrase = async ({ isNew }: { readonly isNew: boolean }): Promise<string> => {
    const isConfigured = hasWallet(node.role) && !needsPassphrase(loaded);
    if (!isGiven(args, context) && isConfigured) return wallet.passphrase;
    const given = givenSecret(BACKUP_PASSPHRASE, args, context);
    if (given !== undefined) return given;
    return isNew
      ? askNewPassphrase('New passphrase for the backups: ', context)
      : askSecret(BACKUP_PASSPHRASE.question, context);
  };
  return { role: node.role, networkName: network.name, passphrase };
}

function isGiven(args: ParsedArgs, { env }: CliContext): boolean {
  return args.value(BACKUP_PASSPHRASE.flag) !== undefined || env[BACKUP_PASSPHRASE.env] !== undefined;
}
