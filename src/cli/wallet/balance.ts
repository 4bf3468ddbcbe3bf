/** `tessera wallet balance`: what the wallet holds, in display and raw units. */

import type { Result } from '../../api/operation.js';
import { getWallet } from '../../api/routes/wallet/operations.js';
import { flag, type OwnCommand, printed } from '../command.js';
import { right, table, warnOfTemporary } from '../output.js';
import { showDisplay } from './amounts.js';
import { connect, NODE_EXITS, NODE_FLAGS } from './connection.js';
import { balanceOfDev, DEV_ACCOUNT_FLAG } from './dev-funds.js';

type WalletInfo = Result<typeof getWallet>;

export const command: OwnCommand = {
  spec: {
    description: [
      'Available funds can be spent now, including the wallet’s own unconfirmed change. Locked funds are mining rewards of the ' +
        'last hundred blocks and outputs with a locktime. The total is both. Items are counted by their genesis hash.',
    ],
    flags: [...NODE_FLAGS, DEV_ACCOUNT_FLAG, flag('--addresses', 'Also shows what each address holds.')],
    json: 'Prints the answer of GET /v1/wallet instead, with outputs only if --addresses is given.',
    examples: {
      'tessera wallet balance --role miner': 'Shows the wallet of the miner on this machine.',
      'tessera wallet balance --addresses --json': 'Everything, for a program.',
    },
    exits: NODE_EXITS,
  },
  async run(args, context) {
    const dev = args.value(DEV_ACCOUNT_FLAG.name);
    if (dev !== undefined) return balanceOfDev(dev, args, context);
    const client = connect(args, context);
    // Every page has the totals: the first is enough unless outputs are asked for.
    const query = args.has('addresses') ? {} : { page: 0 };
    const info = await client.call(getWallet, { query });
    warnOfTemporary(info.temporary_addresses, context);
    const shown = args.has('addresses') ? info : { ...info, addresses: undefined };
    const text = totals(info) + items(info) + (args.has('addresses') ? addresses(info) : '');
    return printed(args, context, shown, text);
  },
};

function totals(info: WalletInfo): string {
  const row = (title: string, raw: number | bigint): string[] => [title, showDisplay(BigInt(raw)), String(raw)];
  return table(
    ['TOKENS', right('DISPLAY UNITS'), right('RAW UNITS')],
    [
      row('available', info.available_total_tokens),
      row('locked', info.locked_total_tokens),
      row('total', info.running_total_tokens),
    ],
  );
}

function items({ item_total }: WalletInfo): string {
  const rows = Object.entries(item_total).map(([hash, amount]) => [hash, String(amount)]);
  return rows.length === 0 ? '' : `\n${table(['ITEM', right('AMOUNT')], rows)}`;
}

function addresses(info: WalletInfo): string {
  const rows = Object.entries(info.addresses).map(([address, outputs]) => {
    const raw = outputs.reduce((sum, { value }) => sum + ('Token' in value ? BigInt(value.Token) : 0n), 0n);
    return [address, String(outputs.length), showDisplay(raw), String(raw)];
  });
  return `\n${table(['ADDRESS', right('OUTPUTS'), right('DISPLAY UNITS'), right('RAW UNITS')], rows)}`;
}
