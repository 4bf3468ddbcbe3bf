/** `tessera wallet label`: the labels of addresses and transactions, or a new one. */

import { getWalletLabels, setWalletLabels } from '../../api/routes/wallet/operations.js';
import { hasValidAddressLength } from '../../chain/address.js';
import { type OwnCommand, printed } from '../command.js';
import { table } from '../output.js';
import { connect, NODE_EXITS, NODE_FLAGS } from './connection.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Without NAME it lists all labels. NAME is an address or the hash of a transaction; its label becomes TEXT, or ' +
        'is removed without TEXT. Labels are kept in the wallet, are not secret, and are part of `tessera wallet ' +
        'backup`.',
    ],
    arguments: [
      { name: 'NAME', required: false, description: 'An address, or the hash of a transaction.' },
      { name: 'TEXT', required: false, description: 'The label, up to 256 bytes.' },
    ],
    flags: NODE_FLAGS,
    examples: {
      'tessera wallet label': 'Lists all labels.',
      "tessera wallet label ADDRESS 'our landlord'": 'Labels an address.',
    },
    again: 'run the same command again',
    exits: NODE_EXITS,
  },
  async run(args, context) {
    const [name, label = ''] = args.positionals;
    const client = connect(args, context);
    if (name !== undefined) {
      const kind = hasValidAddressLength(name) && !/^g[0-9a-f]{31}$/.test(name) ? 'address' : 'transaction';
      await client.call(setWalletLabels, { body: { labels: [{ kind, name, label }] } });
      return printed(args, context, { kind, name, label }, '');
    }
    const { labels } = await client.call(getWalletLabels);
    const rows = labels.map((one) => [one.kind, one.name, one.label]);
    const list = rows.length === 0 ? 'No labels yet.' : table(['KIND', 'NAME', 'LABEL'], rows);
    return printed(args, context, { labels }, list);
  },
};
