/** `tessera wallet donations`: whom the node has asked for a donation, and what they said. */

import { getDonationRequests } from '../../api/routes/user/operations.js';
import { flag, integerFlag, type OwnCommand, printed } from '../command.js';
import { table } from '../output.js';
import { connect, NODE_EXITS, NODE_FLAGS } from './connection.js';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1_000;
const MS_PER_SECOND = 1_000;

export const command: OwnCommand = {
  spec: {
    description: [
      'A donation that is given is a payment, and the history shows it. Only this list shows a refusal, in the peer’s own ' +
        'words. A peer without an answer in time is unanswered, but may still pay. The last 1,000 requests are kept, newest ' +
        'first.',
    ],
    flags: [...NODE_FLAGS, flag('-n, --limit N', `Shows only the last N. Default: ${DEFAULT_LIMIT}.`)],
    examples: {
      'tessera call requestDonation address=127.0.0.1:12361': 'Asks a node for a donation.',
      'tessera wallet donations --limit 1': 'Shows what it said.',
    },
    exits: NODE_EXITS,
  },
  async run(args, context) {
    const limit = integerFlag(args, 'limit', 1, MAX_LIMIT) ?? DEFAULT_LIMIT;
    const { requests } = await connect(args, context).call(getDonationRequests, { query: { limit } });
    const rows = requests.map(({ asked_at: at, peer, outcome, reason }) => [
      new Date(Number(at) * MS_PER_SECOND).toISOString(),
      peer,
      outcome,
      reason ?? '',
    ]);
    const columns = ['TIME', 'PEER', 'OUTCOME', 'REASON'];
    const text = rows.length === 0 ? 'nobody was asked for a donation yet' : table(columns, rows);
    return printed(args, context, { requests }, text);
  },
};
