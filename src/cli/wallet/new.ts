/** `tessera wallet new`: the wallet of a node before its first start, with its words, its passphrase and a first address. */

import { existsSync } from 'node:fs';
import { TesseraError } from '../../lib/errors.js';
import { systemRandom } from '../../lib/random.js';
import { newWords, type WalletWords, WORD_COUNTS, type WordCount, wordsText } from '../../wallet/keys/words.js';
import { type CliContext, flag, type OwnCommand, type ParsedArgs, printed, UsageError } from '../command.js';
import { whileWaiting } from '../output.js';
import { ROLE_FLAGS } from './connection.js';
import { EXTRA_WORD_FLAGS, extraWord, folderConfig, keystoreIn, newPassphrase, withFolder } from './own-folder.js';
import { INTERRUPTED, isShown } from './prompt.js';
import { PASSPHRASE, secretFlag } from './secrets.js';
import { showAndConfirm, wordTable } from './words.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Creates the data folder of a user or miner node if needed, and a wallet in it: the file keystore.json, encrypted under a ' +
        'passphrase that you choose. Prints the first address. Needs no network. A folder that already has a wallet is not ' +
        'changed (status 1).',
      'On a terminal it shows the recovery words of the wallet once, and asks for three of them. They restore every key that ' +
        'the wallet will ever make (`tessera wallet restore`). Without a terminal (input or error stream), --json prints them ' +
        'with the address, and --no-confirm prints them on the error stream. `tessera wallet words` shows them later.',
      'A node that starts without a wallet creates one, with the passphrase of its configuration. The node needs the passphrase ' +
        'at each start: in wallet.passphrase_file or TESSERA_WALLET__PASSPHRASE, or typed on a terminal. The supplied files of ' +
        'the roles are for a network with public keys, so this command reads them only if --config names one.',
    ],
    flags: [
      ...ROLE_FLAGS,
      secretFlag(PASSPHRASE, 'the passphrase for the new wallet'),
      flag('--words N', 'Number of words: 12 (the default) or 24.', { completes: WORD_COUNTS.map(String) }),
      ...EXTRA_WORD_FLAGS,
      flag('--no-confirm', 'Does not ask for words after showing them.'),
    ],
    examples: {
      'tessera wallet new --data /var/lib/tessera/user':
        'Asks twice for a passphrase, shows twelve words and asks for three of them.',
      'tessera wallet new --role miner --config miner.toml --passphrase-file /run/secrets/wallet --json':
        'Creates the wallet of a miner in a script, and prints its words as JSON.',
    },
    exits: { [INTERRUPTED]: 'interrupted at a question' },
  },
  async run(args, context) {
    const loaded = folderConfig(args, context);
    const { config } = loaded;
    const keystore = keystoreIn(config);
    refuseExisting(keystore);
    const count = wordCount(args);
    if (config.wallet.genesisSeedIndex !== undefined) {
      context.stderr.write(
        'warning: this configuration gives the wallet keys that everybody knows (wallet.genesis_seed_index)\n',
      );
    }
    const passphrase = await newPassphrase(args, context, loaded);
    const words = newWords(systemRandom, count, await extraWord(args, context));
    const address = await withFolder(config, async (withWallet) => {
      // A node that was started meanwhile may have made one.
      refuseExisting(keystore);
      await show(words, args, context);
      const made = withWallet({ passphrase, words, areWordsNew: true }, (wallet) => wallet.newAddress());
      return whileWaiting('making the wallet', made, context);
    });
    context.stderr.write(`Created ${keystore}. The first address of the wallet:\n`);
    const report = { address, keystore, words: wordsText(words).split(' ') };
    return printed(args, context, report, address);
  },
};

function refuseExisting(keystore: string): void {
  if (!existsSync(keystore)) return;
  throw new TesseraError('invalid_request', `${keystore} exists: this folder has a wallet already`);
}

function wordCount(args: ParsedArgs): WordCount {
  const text = args.value('words') ?? String(WORD_COUNTS[0]);
  const count = WORD_COUNTS.find((one) => String(one) === text);
  if (count === undefined) throw new UsageError(`--words must be ${WORD_COUNTS.join(' or ')}, not "${text}"`);
  return count;
}

/** Shows the words before the wallet is made: whoever does not confirm them gets no wallet. */
async function show(words: WalletWords, args: ParsedArgs, context: CliContext): Promise<void> {
  if (args.has('json')) return;
  const list = wordsText(words).split(' ');
  if (args.has('no-confirm')) context.stderr.write(`The words of the wallet:\n\n${wordTable(list)}\n`);
  else if (isShown(context)) await showAndConfirm(list, context, systemRandom);
  else context.stderr.write('The words were not shown: `tessera wallet words` shows them on a terminal.\n');
}
