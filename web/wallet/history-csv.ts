/** The history as a table for spreadsheets (CSV, RFC 4180). */

import type { PayeeNames } from './address-book.js';
import { type Movement, partyOf } from './movement-log.js';

const HEAD = [
  'number',
  'time',
  'block',
  'state',
  'kind',
  'direction',
  'net_raw',
  'fee_raw',
  'transaction',
  'note',
  'name',
  'from',
  'to',
];

/** `name` is that of the address book, for the other party. */
export function historyCsv(movements: readonly Movement[], names: PayeeNames): string {
  const rows = movements.map((one) => [
    String(one.number),
    timeOf(one),
    String(one.block_num ?? ''),
    one.state,
    one.kind,
    one.direction,
    String(one.net),
    String(one.fee ?? ''),
    one.chain_hash ?? one.tx_hash ?? '',
    textCell(one.label ?? ''),
    textCell(names.get(partyOf(one) ?? '') ?? ''),
    textCell(one.from.join(' ')),
    textCell(one.outputs.flatMap(({ own, address }) => (own || address === null ? [] : [address])).join(' ')),
  ]);
  return [HEAD, ...rows].map((row) => `${row.map(quoted).join(',')}\r\n`).join('');
}

function timeOf({ block_time, seen_at }: Movement): string {
  const seconds = Number(block_time ?? seen_at ?? 0);
  return seconds > 0 ? new Date(seconds * 1_000).toISOString() : '';
}

/** A spreadsheet would run what begins like a formula, and texts may be of strangers. */
const textCell = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
