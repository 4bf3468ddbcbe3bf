/** `tessera wallet passphrase`: changes the passphrase of the wallet. */

import { changePassphrase } from '../../api/routes/wallet/operations.js';
import { type OwnCommand, printed, UsageError } from '../command.js';
import { connect, NODE_EXITS, NODE_FLAGS } from './connection.js';
import { askSecret, INTERRUPTED } from './prompt.js';
import { askNewPassphrase, givenSecret, NEW_PASSPHRASE, PASSPHRASE, secretFlag } from './secrets.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Afterwards only the new passphrase opens the wallet; keys and funds do not change. If the node is killed meanwhile, ' +
        'exactly one of the two passphrases is valid.',
      'The node reads the passphrase when it starts: change it in wallet.passphrase_file or TESSERA_WALLET__PASSPHRASE too, or ' +
        'type it when the node starts on a terminal.',
    ],
    flags: [
      ...NODE_FLAGS,
      secretFlag(PASSPHRASE, 'the current passphrase'),
      secretFlag(NEW_PASSPHRASE, 'the new passphrase'),
    ],
    examples: {
      'tessera wallet passphrase': 'Asks for the current one, then twice for the new one.',
    },
    again: 'either of the two passphrases may be valid',
    exits: { ...NODE_EXITS, [INTERRUPTED]: 'interrupted at a question' },
  },
  async run(args, context) {
    const [givenOld, givenNew] = [givenSecret(PASSPHRASE, args, context), givenSecret(NEW_PASSPHRASE, args, context)];
    if (givenNew?.trim() === '') throw new UsageError('the new passphrase is blank: choose another');
    const client = connect(args, context);
    const old_passphrase = givenOld ?? (await askSecret('Current passphrase: ', context));
    const new_passphrase = givenNew ?? (await askNewPassphrase(NEW_PASSPHRASE.question, context));
    await client.call(changePassphrase, { body: { old_passphrase, new_passphrase } });
    context.stderr.write(
      'The passphrase is changed. Give the node the new one for its next start (wallet.passphrase_file).\n',
    );
    return printed(args, context, { changed: true }, '');
  },
};
