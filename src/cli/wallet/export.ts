/** `tessera wallet export`: writes every key pair of the wallet, unencrypted, to a file that only its owner can read. */

import { existsSync } from 'node:fs';
import { exportKeypairs } from '../../api/routes/wallet/operations.js';
import { stringifyExact } from '../../lib/json.js';
import { type OwnCommand, printed, UsageError } from '../command.js';
import { STANDARD, writeNewFile } from '../named-file.js';
import { warnOfTemporaryPairs } from '../output.js';
import { ASKING_NODE_EXITS, connect, NODE_FLAGS, YES_FLAG } from './connection.js';
import { checkMayAsk, confirm } from './prompt.js';

const FILE_MODE = 0o600;

export const command: OwnCommand = {
  spec: {
    description: [
      'Writes a JSON file {"addresses": {ADDRESS: {public_key, secret_key, address_version}}} with mode 0600, which ' +
        '`tessera wallet import` and POST /v1/wallet/keypairs accept. The private keys in it are not encrypted: whoever ' +
        'reads it can spend everything in the wallet. An existing file is not overwritten. The command asks first; without ' +
        'a terminal it needs --yes.',
    ],
    arguments: [{ name: 'FILE', required: true, description: 'The file to create; - for standard output.' }],
    flags: [...NODE_FLAGS, YES_FLAG],
    examples: {
      'tessera wallet export keys.json': 'Asks, then writes keys.json.',
    },
    exits: ASKING_NODE_EXITS,
  },
  async run(args, context) {
    const [file = STANDARD] = args.positionals;
    checkMayAsk(args, context, 'writes private keys');
    if (file !== STANDARD && existsSync(file)) throw new UsageError(`${file} exists; name another file`);
    const client = connect(args, context);
    const where = file === STANDARD ? 'the standard output' : file;
    if (!args.has('yes')) {
      await confirm(
        `This writes every private key of the wallet of ${client.url} to ${where}, unencrypted.\n` +
          'Whoever reads them can spend everything. Go on?',
        context,
      );
    }
    const answer = await client.call(exportKeypairs);
    const pairs = Object.entries(answer.addresses);
    warnOfTemporaryPairs(pairs, context);
    const text = `${stringifyExact(answer)}\n`;
    if (file === STANDARD) {
      context.stdout.write(text);
      return 0;
    }
    await writeNewFile(file, text, FILE_MODE);
    return printed(args, context, { file, key_pairs: pairs.length }, `${pairs.length} key pairs written to ${file}`);
  },
};
