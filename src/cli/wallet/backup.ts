/** `tessera wallet backup`: words, imported keys and labels in one encrypted file. */

import { existsSync } from 'node:fs';
import { backupWallet } from '../../api/routes/wallet/operations.js';
import { type CliContext, flag, type OwnCommand, type ParsedArgs, printed, UsageError } from '../command.js';
import { writeNewFile } from '../named-file.js';
import { connect, NODE_EXITS, NODE_FLAGS } from './connection.js';
import { checkHasKeystore, folderConfig, withFolder } from './own-folder.js';
import { INTERRUPTED } from './prompt.js';
import { PASSPHRASE, passphraseOf, secretFlag } from './secrets.js';

const FILE_MODE = 0o600;

export const command: OwnCommand = {
  spec: {
    description: [
      'Writes a new file with mode 0600. It holds the recovery words of the wallet, its other keys, and the labels, ' +
        'encrypted under the current passphrase. `tessera wallet restore --backup-file FILE` reads it. Later keys of ' +
        'the wallet are derived from the words. Make a new backup after you import keys or set labels.',
      'Backs up the wallet of a running node, or, with --offline, of a folder whose node is stopped. An existing ' +
        'file is not overwritten.',
    ],
    arguments: [{ name: 'FILE', required: true, description: 'The file to create.' }],
    flags: [
      ...NODE_FLAGS,
      secretFlag(PASSPHRASE, 'the passphrase of the wallet'),
      flag('--offline', 'Works on the folder of a stopped node.'),
    ],
    examples: {
      'tessera wallet backup wallet.backup': 'Asks for the passphrase and writes wallet.backup.',
      'tessera wallet backup /mnt/usb/wallet.backup --offline --data /var/lib/tessera/user':
        'The same for a stopped node.',
    },
    exits: { ...NODE_EXITS, [INTERRUPTED]: 'interrupted at a question' },
  },
  async run(args, context) {
    const [file = ''] = args.positionals;
    if (existsSync(file)) throw new UsageError(`${file} exists; name another file`);
    const sealed = args.has('offline') ? offline(args, context) : online(args, context);
    await writeNewFile(file, await sealed, FILE_MODE);
    return printed(args, context, { file }, `the wallet is backed up in ${file}`);
  },
};

async function online(args: ParsedArgs, context: CliContext): Promise<string> {
  const client = connect(args, context);
  const passphrase = await passphraseOf(args, context);
  return (await client.call(backupWallet, { body: { passphrase } })).backup;
}

async function offline(args: ParsedArgs, context: CliContext): Promise<string> {
  if (args.value('url') !== undefined) throw new UsageError('--url is for a running node, --offline for a stopped one');
  const { config } = folderConfig(args, context);
  checkHasKeystore(config);
  const passphrase = await passphraseOf(args, context);
  return withFolder(config, (withWallet) => withWallet({ passphrase }, (wallet) => wallet.coverage.backup(passphrase)));
}
