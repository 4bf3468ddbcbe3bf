/** `tessera trade complete`: goes on with a trade by the file of the other party. */

import { completeTrade } from '../../api/routes/wallet/trade-operations.js';
import { stringifyExact } from '../../lib/json.js';
import type { CliContext, OwnCommand, ParsedArgs } from '../command.js';
import { connect, NODE_EXITS, NODE_FLAGS } from '../wallet/connection.js';
import { type HandOver, OUT_FLAG, readDocumentFile, showTrade, withOut } from './shown.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'For the maker of an offer, FILE is the acceptance. The command sends the maker’s half, and writes the confirmation for ' +
        'the taker to --out, or shows it. For the taker, FILE is the confirmation. The command sends the taker’s half, and a ' +
        'block will have both halves or neither. A changed file, or a file of another trade, is refused. Using a file twice ' +
        'changes nothing.',
    ],
    arguments: [{ name: 'FILE', required: true, description: 'The acceptance or the confirmation.' }],
    flags: [OUT_FLAG, ...NODE_FLAGS],
    examples: [
      { line: 'tessera trade complete acceptance.json --out confirmation.json', does: 'The maker confirms.' },
      { line: 'tessera trade complete confirmation.json', does: 'The taker sends its half too.' },
    ],
    again: 'run the same command again: using a file twice changes nothing',
    exits: NODE_EXITS,
  },
  run: (args, context) => withOut(args, context, (out) => complete(args, context, out)),
};

async function complete(args: ParsedArgs, context: CliContext, out: HandOver): Promise<number> {
  const [file = ''] = args.positionals;
  const document = await readDocumentFile(file);
  const client = connect(args, context);
  const trade = await client.call(completeTrade, { body: { document } });
  if (args.has('json')) context.stdout.write(`${stringifyExact(trade)}\n`);
  const isForFile = trade.side === 'maker' && (!args.has('json') || args.value(OUT_FLAG.name) !== undefined);
  if (isForFile) await out.give(trade.confirmation);
  context.stderr.write(showTrade(trade));
  return 0;
}
