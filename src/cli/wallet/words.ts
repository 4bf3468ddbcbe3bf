/** `tessera wallet words`: shows the words of the wallet in a folder. */

import { join } from 'node:path';
import { systemClock } from '../../lib/clock.js';
import { systemRandom } from '../../lib/random.js';
import { KEYSTORE_FILE, Keystore } from '../../wallet/keys/keystore.js';
import { wordsText } from '../../wallet/keys/words.js';
import { type OwnCommand, printed, UsageError } from '../command.js';
import { ROLE_FLAGS } from './connection.js';
import { folderConfig } from './own-folder.js';
import { INTERRUPTED, isShown } from './prompt.js';
import { PASSPHRASE, passphraseOf, secretFlag } from './secrets.js';
import { wordTable } from './show-words.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Reads keystore.json in the data folder of the node, which may be running, and shows the words from which all ' +
        'new keys of the wallet are derived. Use it for a wallet that a node made at its first start, or that is ' +
        'older than the words. Whoever sees them can spend everything. Without a terminal it needs --json.',
      'The words cannot restore keys that were imported, or are older than the words: keep a backup of these too.',
    ],
    flags: [...ROLE_FLAGS, secretFlag(PASSPHRASE, 'the passphrase of the wallet')],
    examples: [{ line: 'tessera wallet words --data /var/lib/tessera/user', does: 'Asks for the passphrase.' }],
    exits: { [INTERRUPTED]: 'interrupted at a question' },
  },
  async run(args, context) {
    if (!args.has('json') && !isShown(context)) {
      throw new UsageError('words are shown on a terminal only, and the error stream is not a terminal: add --json');
    }
    const { config } = folderConfig(args, context);
    const passphrase = await passphraseOf(args, context);
    const keystore = await Keystore.read(
      { file: join(config.node.dataDir, KEYSTORE_FILE), passphrase },
      { random: systemRandom, clock: systemClock },
    );
    const words = keystore.words();
    keystore.close();
    const list = wordsText(words).split(' ');
    const hasExtraWord = words.extraWord !== '';
    if (args.has('json')) return printed(args, context, { words: list, has_extra_word: hasExtraWord }, '');
    context.stderr.write(wordTable(list));
    if (hasExtraWord) context.stderr.write('They need the BIP39 passphrase that was chosen with them.\n');
    return 0;
  },
};
