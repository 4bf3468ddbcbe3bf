/** `tessera backup`: a consistent copy of a node's data, whether the node runs or not. */

import { type LoadedConfig, loadConfig } from '../config/load.js';
import { BackupStore, type BackupStoreOptions } from '../db/backup/backup-store.js';
import { takeBackup } from '../db/backup/take-backup.js';
import { systemClock } from '../lib/clock.js';
import { programVersion } from '../lib/program-files.js';
import { systemRandom } from '../lib/random.js';
import { factsOf, hasWallet } from '../lib/roles.js';
import {
  type CliContext,
  type FlagSpec,
  flag,
  integerFlag,
  type OwnCommand,
  type ParsedArgs,
  printed,
  UsageError,
} from './command.js';
import { CONFIG_FLAGS, configInput } from './config-flags.js';
import { withProgress } from './output.js';
import { askSecret } from './wallet/prompt.js';
import { askNewPassphrase, givenSecret, needsPassphrase, type SecretSource } from './wallet/secrets.js';

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

const MAX_KEEP = 10_000;

export const command: OwnCommand = {
  spec: {
    description: [
      'Copies the data folder of the node into DIR, a folder of backups that is created if needed: databases, wallet, and the ' +
        'keys of the node and its API. The node may be running. Everything that it acknowledged before the command started is ' +
        'in the backup.',
      'Each backup is complete, but copies only what is new, because the tables of a database never change. At the end, all ' +
        'copies are read again, and each database is checked as at the start of a node. Nothing is overwritten. If the command ' +
        'is interrupted, earlier backups are not affected.',
      'Backups of a wallet are always encrypted, others only with --passphrase-file. The cipher is AES-256-GCM; the ' +
        'passphrase unlocks its key. By default, backups of a wallet use the passphrase that the wallet had when DIR ' +
        'was created, even if it is changed later. A lost passphrase cannot be recovered.',
    ],
    arguments: [
      {
        name: 'DIR',
        required: true,
        description: 'The folder for the backups, on another disk or, better, on another machine.',
      },
    ],
    flags: [
      ...CONFIG_FLAGS,
      BACKUP_PASSPHRASE_FLAG,
      flag('--keep N', 'When the new backup is complete, removes all but the newest N backups in DIR.'),
    ],
    examples: {
      'tessera backup /backup/user --role user --config /etc/tessera/user.toml':
        'Backs up the wallet, encrypted under its passphrase.',
      'tessera backup /backup/storage --role storage --data /var/lib/tessera/storage --keep 7':
        'Backs up the archive, and keeps the newest seven backups.',
    },
    exits: { 1: 'no backup was made: the data is damaged, DIR cannot be used, or the command was interrupted' },
  },
  async run(args, context) {
    const [folder = ''] = args.positionals;
    const keep = integerFlag(args, 'keep', 1, MAX_KEEP);
    const loaded = loadConfig(configInput(args, context));
    const { node, network } = loaded.config;
    if (folder === '') throw new UsageError('DIR is missing');
    const store = await openToWrite(folder, loaded, args, context);
    try {
      const started = systemClock.monotonic();
      const facts = {
        dataDir: node.dataDir,
        role: node.role,
        networkName: network.name,
        // The other databases can catch up from this one.
        lastDatabase: factsOf(node.role).databases[0],
        program: programVersion(),
        now: systemClock.now(),
      };
      const taken = await withProgress(['backup', 'bytes'], context, (long) =>
        takeBackup({ ...facts, ...long }, store),
      );
      const removed = keep === undefined ? [] : await store.keepNewest(keep);
      await store.removeUnused();
      const seconds = Math.round(systemClock.monotonic() - started) / 1_000;
      const text =
        `${folder}: backup ${taken.name} with ${taken.files} files, ${taken.bytes} bytes; new: ${taken.newFiles} files, ` +
        `${taken.newBytes} bytes; checked, ${seconds} s${removed.length === 0 ? '' : `; ${removed.length} older removed`}`;
      return printed(args, context, { ...taken, removed, seconds, folder }, text);
    } finally {
      await store.close();
    }
  },
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
