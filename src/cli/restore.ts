/** `tessera restore`: restores a backup into an empty folder, and checks it. */

import { type LoadedConfig, loadConfig } from '../config/load.js';
import type { BackupStore } from '../db/backup/backup-store.js';
import { restoreBackup } from '../db/backup/restore-backup.js';
import { systemClock } from '../lib/clock.js';
import { TesseraError } from '../lib/errors.js';
import { BACKUP_PASSPHRASE_FLAG, openToRead } from './backup.js';
import { type CliContext, flag, type OwnCommand, type ParsedArgs, printed } from './command.js';
import { CONFIG_FLAGS, configInput } from './config-flags.js';
import { withProgress } from './output.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Writes the newest backup in DIR, or that of --backup, into the data folder of the node, which must be empty or missing. ' +
        'Every file is checked while it is read, and every byte of the databases at the end. If interrupted, the same command ' +
        'continues where it stopped. No node starts on the folder before the restore is complete.',
      'Then start the node. The node that was backed up must not run any more: two nodes with one wallet would spend ' +
        'the same funds twice, and two nodes with one node key look like one node.',
    ],
    arguments: [{ name: 'DIR', required: true, description: 'The folder of backups.' }],
    flags: [
      ...CONFIG_FLAGS,
      flag('--backup NAME', 'The backup to restore. Default: the newest.'),
      flag('--list', 'Lists the backups in DIR and restores nothing.'),
      BACKUP_PASSPHRASE_FLAG,
    ],
    examples: {
      'tessera restore /backup/user --role user --list': 'Lists their names, times and sizes.',
      'tessera restore /backup/user --role user --config /etc/tessera/user.toml':
        'Restores the newest one into the data folder of the configuration.',
    },
    exits: { 1: 'nothing, or not everything, was restored: the message says why' },
  },
  async run(args, context) {
    const [folder = ''] = args.positionals;
    const loaded = loadConfig(configInput(args, context));
    const store = await openToRead(folder, loaded, args, context);
    return args.has('list') ? list(store, args, context) : restore(store, loaded, args, context);
  },
};

async function list(store: BackupStore, args: ParsedArgs, context: CliContext): Promise<number> {
  const backups = [];
  for (const name of await store.names()) {
    const { created, program, files } = await store.listing(name);
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    backups.push({ name, created: new Date(created).toISOString(), program, files: files.length, bytes });
  }
  const lines = backups.map(
    ({ name, created, program, files, bytes }) =>
      `${name}  ${created}  ${files} files, ${bytes} bytes, by ${program}\n`,
  );
  return printed(args, context, backups, lines.join(''));
}

async function restore(
  store: BackupStore,
  { config }: LoadedConfig,
  args: ParsedArgs,
  context: CliContext,
): Promise<number> {
  const { dataDir } = config.node;
  const backup = args.value('backup') ?? (await store.names()).at(-1);
  if (backup === undefined) throw new TesseraError('backup_invalid', `${store.path} holds no finished backup`);
  const started = systemClock.monotonic();
  const { files, bytes } = await withProgress(['restore', 'bytes'], context, (long) =>
    restoreBackup({ backup, dataDir, ...long }, store),
  );
  const seconds = Math.round(systemClock.monotonic() - started) / 1_000;
  const text = `${dataDir}: backup ${backup} restored, ${files} files, ${bytes} bytes; checked, ${seconds} s`;
  return printed(args, context, { backup, data_dir: dataDir, files, bytes, seconds }, text);
}
