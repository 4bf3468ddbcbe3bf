/** `tessera trade accept`: accepts an offer, from a file or one that came to the node. */

import { acceptTrade, getTrade } from '../../api/routes/wallet/trade-operations.js';
import type { NodeClient } from '../../client/client.js';
import { stringifyExact } from '../../lib/json.js';
import { printable } from '../../lib/printable.js';
import type { CliContext, OwnCommand, ParsedArgs } from '../command.js';
import { connect, NODE_EXITS, NODE_FLAGS, YES_FLAG } from '../wallet/connection.js';
import { ASKING_EXITS, askSecret, checkMayAsk, confirm } from '../wallet/prompt.js';
import { givenSecret, PASSPHRASE, secretFlag } from '../wallet/secrets.js';
import { type HandOver, OUT_FLAG, readDocumentFile, showTrade, withOut } from './shown.js';

const TRADE_ID = /^[0-9a-f]{64}$/;

export const command: OwnCommand = {
  spec: {
    description: [
      'Accepts the offer in a file, or a received offer by its ID (`tessera trade list`), and reserves what it asks for. If the ' +
        'offer names the node of its maker, this node sends the acceptance there until the offer expires, and the trade ' +
        'continues by itself. Otherwise the acceptance is written to --out, or shown. Give it to the maker, and the answer to ' +
        '`tessera trade complete`.',
    ],
    arguments: [
      {
        name: 'OFFER',
        completes: 'files',
        required: true,
        description: 'File with the offer, or the ID of a received offer.',
      },
    ],
    flags: [OUT_FLAG, ...NODE_FLAGS, secretFlag(PASSPHRASE, 'the passphrase of the wallet'), YES_FLAG],
    examples: [{ line: 'tessera trade accept offer.json --out acceptance.json', does: 'Asks, then accepts.' }],
    again: 'run the same command again: an offer is accepted only once',
    exits: {
      ...NODE_EXITS,
      ...ASKING_EXITS,
    },
  },
  run: (args, context) => withOut(args, context, (out) => accept(args, context, out)),
};

async function accept(args: ParsedArgs, context: CliContext, out: HandOver): Promise<number> {
  const [named = ''] = args.positionals;
  checkMayAsk(args, context, 'accepts');
  const given = givenSecret(PASSPHRASE, args, context);
  const client = connect(args, context);
  const offer = TRADE_ID.test(named) ? await received(named, client) : await readDocumentFile(named);
  if (!args.has('yes')) await confirm(question(offer), context);
  const passphrase = given ?? (await askSecret(PASSPHRASE.question, context));
  const trade = await client.call(acceptTrade, { body: { offer, passphrase } });
  if (args.has('json')) context.stdout.write(`${stringifyExact(trade)}\n`);
  const isForFile = trade.peer === null && !args.has('json');
  if (isForFile || args.value(OUT_FLAG.name) !== undefined) await out.give(trade.acceptance);
  context.stderr.write(showTrade(trade));
  return 0;
}

async function received(id: string, client: NodeClient) {
  return (await client.call(getTrade, { params: { trade_id: id } })).offer;
}

/** Question about an offer; the node checks the offer itself. */
function question({ give, want }: Record<string, unknown>): string {
  return `Give ${printable(JSON.stringify(want))} for ${printable(JSON.stringify(give))}?`;
}
