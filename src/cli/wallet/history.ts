/** `tessera wallet history`: what came to the wallet and what it has paid, as a table, JSON or CSV. */

import type { Result } from '../../api/operation.js';
import { MAX_MOVEMENTS, type Movement } from '../../api/routes/wallet/history-schemas.js';
import { getWalletMovements } from '../../api/routes/wallet/operations.js';
import type { NodeClient } from '../../client/client.js';
import { printable } from '../../lib/printable.js';
import { MOVEMENT_DIRECTIONS, MOVEMENT_KINDS, PAYMENT_STATES } from '../../wallet/service.js';
import {
  type CliContext,
  flag,
  integerFlag,
  type OwnCommand,
  type ParsedArgs,
  printed,
  UsageError,
} from '../command.js';
import { STANDARD, writeNewFile } from '../named-file.js';
import { right, table } from '../output.js';
import { showDisplay } from './amounts.js';
import { connect, NODE_EXITS, NODE_FLAGS } from './connection.js';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 10_000_000;
const FILE_MODE = 0o600;

type Page = Result<typeof getWalletMovements>;
type Query = Record<string, string | number>;

export const command: OwnCommand = {
  spec: {
    description: [
      'Lists the movements of the wallet, oldest first: payments in and out, to itself, donations, items, rewards, trades, and ' +
        'merges of its own outputs. A payment is queued until the mempool node has answered, then sent, and then confirmed by a ' +
        'block; a rejected one is followed by the reason, and its funds are back in the wallet.',
      'The amount is what was paid, without change and fee. --csv and --json also have `net`, the change of the balance, in raw ' +
        'units. The `net` of all movements that are not rejected adds up to the balance.',
    ],
    flags: [
      ...NODE_FLAGS,
      flag('-n, --limit N', `Shows only the last N. Default: ${DEFAULT_LIMIT}.`),
      flag('--all', 'Shows all of them.'),
      flag('--cursor NUMBER', 'Shows movements up to this number: `next` of the page before.'),
      flag('--direction DIRECTION', `Only ${MOVEMENT_DIRECTIONS.join(', ')}.`, { completes: MOVEMENT_DIRECTIONS }),
      flag('--kind KIND', `Only this kind: ${MOVEMENT_KINDS.join(', ')}.`, { completes: MOVEMENT_KINDS }),
      flag('--state STATE', `Only this state: ${PAYMENT_STATES.join(', ')}.`, { completes: PAYMENT_STATES }),
      flag('--address ADDRESS', 'Only movements that name this address.'),
      flag('--from TIME', 'Only since then, as 2026-11-22 or 2026-11-22T08:00:00Z.'),
      flag('--to TIME', 'Only until then.'),
      flag('--from-block N', 'Only in blocks from this one on.'),
      flag('--to-block N', 'Only in blocks up to this one.'),
      flag('--csv FILE', 'Writes all movements to a new file, as CSV; - for standard output.'),
    ],
    examples: {
      'tessera wallet history --limit 5': 'Lists the last five movements.',
      'tessera wallet history --from 2026-01-01 --csv 2026.csv': 'Writes a year of movements for bookkeeping.',
    },
    exits: NODE_EXITS,
  },
  async run(args, context) {
    const file = args.value('csv');
    if (file !== undefined && args.has('json')) throw new UsageError('give --csv or --json, not both');
    const isWhole = args.has('all') || (file !== undefined && args.value('limit') === undefined);
    const limit = isWhole ? MAX_LIMIT : (integerFlag(args, 'limit', 1, MAX_LIMIT) ?? DEFAULT_LIMIT);
    const { movements, next } = await readAll(connect(args, context), filterOf(args), limit);
    if (file !== undefined) return writeCsv(movements, file, context);
    return printed(args, context, { movements, next }, page(movements));
  },
};

function filterOf(args: ParsedArgs): Query {
  const query: Query = {};
  const add = (name: string, value: string | number | undefined): void => {
    if (value !== undefined) query[name] = value;
  };
  add('direction', choice(args, 'direction', MOVEMENT_DIRECTIONS));
  add('kind', choice(args, 'kind', MOVEMENT_KINDS));
  add('state', choice(args, 'state', PAYMENT_STATES));
  add('address', args.value('address'));
  add('from', timeFlag(args, 'from', '00:00:00'));
  add('to', timeFlag(args, 'to', '23:59:59'));
  for (const name of ['from', 'to'])
    add(`${name}_block`, integerFlag(args, `${name}-block`, 0, Number.MAX_SAFE_INTEGER));
  add('cursor', integerFlag(args, 'cursor', 0, Number.MAX_SAFE_INTEGER));
  return query;
}

function choice(args: ParsedArgs, flag: string, choices: readonly string[]): string | undefined {
  const value = args.value(flag);
  if (value === undefined || choices.includes(value)) return value;
  throw new UsageError(`--${flag} must be one of ${choices.join(', ')}, not "${value}"`);
}

/** Unix seconds of a day, or of a time with its zone. */
function timeFlag(args: ParsedArgs, flag: string, timeOfDay: string): number | undefined {
  const text = args.value(flag);
  if (text === undefined) return undefined;
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2})$/.test(text);
  const time = Date.parse(isDay ? `${text}T${timeOfDay}Z` : text);
  if ((isDay || isTime) && time >= 0) return Math.floor(time / 1_000);
  throw new UsageError(`--${flag} must be like 2026-11-22 (UTC) or 2026-11-22T08:00:00Z, not "${text}"`);
}

/** The last `limit` movements that pass the filter, oldest first. */
async function readAll(client: NodeClient, filter: Query, limit: number): Promise<Page> {
  const movements: Movement[] = [];
  let next: Page['next'] = null;
  let cursor: Query = {};
  do {
    const wanted = { limit: Math.min(limit - movements.length, MAX_MOVEMENTS) };
    const found = await client.call(getWalletMovements, { query: { ...filter, ...cursor, ...wanted } });
    movements.push(...found.movements);
    next = found.next;
    cursor = next === null ? {} : { cursor: Number(next) };
  } while (next !== null && movements.length < limit);
  return { movements: movements.reverse(), next };
}

async function writeCsv(movements: readonly Movement[], file: string, context: CliContext): Promise<number> {
  const text = csv(COLUMNS, movements.map(cells));
  if (file === STANDARD) {
    context.stdout.write(text);
    return 0;
  }
  await writeNewFile(file, text, FILE_MODE);
  context.stdout.write(`${movements.length} movements written to ${file}\n`);
  return 0;
}

/** Columns of the CSV. New ones go to the end, as spreadsheets and scripts count them. */
const COLUMNS = [
  'number',
  'time',
  'block',
  'state',
  'direction',
  'kind',
  'amount_raw',
  'fee_raw',
  'net_raw',
  'items',
  'counterparty',
  'transaction',
  'label',
  'reason',
] as const;

function cells(movement: Movement): string[] {
  const { number, block_num: block, state, direction, kind, amount, fee, net, items, tx_hash: hash } = movement;
  const kinds = Object.entries(items).map(([id, count]) => `${count} ${id}`);
  return [
    String(number),
    timeOf(movement) === null ? '' : new Date(Number(timeOf(movement)) * 1_000).toISOString(),
    block === null ? '' : String(block),
    state,
    direction,
    kind,
    String(amount),
    fee === null ? '' : String(fee),
    String(net),
    kinds.join(' '),
    counterparties(movement).join(' '),
    hash ?? '',
    movement.label ?? '',
    movement.reason ?? '',
  ];
}

function page(movements: readonly Movement[]): string {
  if (movements.length === 0) return 'No movements yet.\n';
  const amounts = [right('DISPLAY UNITS'), right('RAW UNITS')];
  const columns = ['TIME (UTC)', right('BLOCK'), 'WAY', 'STATE', 'KIND', ...amounts, 'FROM OR TO', 'TRANSACTION'];
  const notes = movements.flatMap(({ tx_hash: hash, reason, label }) => [
    ...(label === null ? [] : [`${hash} is labelled: ${printable(label)}\n`]),
    ...(reason === null ? [] : [`${hash} was rejected: ${printable(reason)}\n`]),
  ]);
  return table(columns, movements.map(row)) + (notes.length > 0 ? `\n${notes.join('')}` : '');
}

function row(movement: Movement): string[] {
  const { block_num: block, direction, state, kind, amount, items, tx_hash: hash } = movement;
  const seconds = timeOf(movement);
  const time = seconds === null ? '' : new Date(Number(seconds) * 1_000).toISOString().slice(0, 19).replace('T', ' ');
  const count = Object.values(items).reduce<bigint>((sum, one) => sum + BigInt(one), 0n);
  const amounts = count > 0n ? [`${count} items`, ''] : [showDisplay(BigInt(amount)), String(amount)];
  const [other = ''] = counterparties(movement);
  return [time, block === null ? '' : String(block), direction, state, kind, ...amounts, other, hash ?? ''];
}

function counterparties({ direction, peer, from, outputs }: Movement): readonly string[] {
  if (direction === 'in') return from;
  const addresses = outputs.flatMap(({ own, address }) => (own === (direction === 'self') ? (address ?? []) : []));
  if (peer !== null) return [peer, ...addresses];
  return direction === 'self' ? addresses.slice(0, 1) : addresses;
}

function timeOf({ block_time: time, seen_at: seen }: Movement): Movement['seen_at'] {
  return time ?? seen;
}

/** Beginning of a formula in a spreadsheet, also in full width: a peer can choose the text of some cells. */
const FORMULA = /^[=+@\t\r\n\-＝＋＠－]/;
const NUMBER = /^-[0-9]+(\.[0-9]+)?$/;

/** Comma-separated values (RFC 4180): a line of titles and the rows, each ending in CR LF. */
export function csv(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  return [titles, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

function cell(text: string): string {
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
