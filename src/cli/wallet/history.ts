/** `tessera wallet history`: the payments of the wallet and their states. */

import type { Result } from '../../api/operation.js';
import { getWalletHistory } from '../../api/routes/wallet/operations.js';
import { MAX_HISTORY } from '../../api/routes/wallet/schemas.js';
import { systemClock } from '../../lib/clock.js';
import { stringifyExact } from '../../lib/json.js';
import { type Command, integerFlag } from '../command.js';
import { showDisplay } from './amounts.js';
import { connect, JSON_FLAG, NODE_EXITS, NODE_FLAGS } from './connection.js';
import { table } from './table.js';
import { whileWaiting } from './waiting.js';

const DEFAULT_LIMIT = 20;

type Entry = Result<typeof getWalletHistory>['transactions'][number];

export const command: Command = {
  spec: {
    name: 'wallet history',
    summary: 'Lists the payments of the wallet with their states',
    description: [
      'Lists what this wallet has paid, oldest first: payments, donations, created items, and merges of its own small outputs. ' +
        'A payment is queued until the mempool node has answered, then sent, and then confirmed by a block; a rejected one ' +
        'is followed by the reason, and its funds are back in the wallet.',
    ],
    flags: [
      ...NODE_FLAGS,
      { name: 'limit', short: 'n', value: 'N', description: `Shows only the last N. Default: ${DEFAULT_LIMIT}.` },
      JSON_FLAG,
    ],
    examples: [{ line: 'tessera wallet history --limit 5', does: 'Lists the last five payments.' }],
    exits: NODE_EXITS,
  },
  async run(args, context) {
    const limit = integerFlag(args, 'limit', 1, MAX_HISTORY) ?? DEFAULT_LIMIT;
    const answer = connect(args, context).call(getWalletHistory, { query: { limit } });
    const { transactions } = await whileWaiting('reading the history', answer, context, systemClock);
    context.stdout.write(args.has('json') ? `${stringifyExact({ transactions })}\n` : page(transactions));
    return 0;
  },
};

function page(entries: readonly Entry[]): string {
  if (entries.length === 0) return 'No payments yet.\n';
  const columns = [
    { title: 'TIME (UTC)' },
    { title: 'STATE' },
    { title: 'KIND' },
    { title: 'DISPLAY UNITS', align: 'right' as const },
    { title: 'RAW UNITS', align: 'right' as const },
    { title: 'TO' },
    { title: 'TRANSACTION' },
  ];
  const reasons = entries
    .filter(({ reason }) => reason !== null)
    .map(({ tx_hash, reason }) => `${tx_hash} was rejected: ${reason}\n`);
  return table(columns, entries.map(row)) + (reasons.length > 0 ? `\n${reasons.join('')}` : '');
}

function row({ tx_hash, kind, state, peer, created_at, outputs }: Entry): string[] {
  const time = new Date(Number(created_at) * 1_000).toISOString().slice(0, 19).replace('T', ' ');
  // Change is not a payment; merged outputs and created items stay in the wallet.
  const paid = outputs.some(({ own }) => !own) ? outputs.filter(({ own }) => !own) : outputs;
  const raw = paid.reduce((sum, { value }) => sum + ('Token' in value ? BigInt(value.Token) : 0n), 0n);
  const count = paid.reduce((sum, { value }) => sum + ('Item' in value ? BigInt(value.Item.amount) : 0n), 0n);
  const to = peer ?? paid[0]?.address ?? '';
  const amounts = count > 0n ? [`${count} items`, ''] : [showDisplay(raw), String(raw)];
  return [time, state, kind, ...amounts, to, tx_hash];
}
