/** What a transaction does, for the person who signs or sends it. */

import { BURN_ADDRESS } from '../../chain/address.js';
import { transactionHash } from '../../chain/hash.js';
import type { Asset } from '../../chain/types.js';
import { printable } from '../../lib/printable.js';
import { showAmount } from '../wallet/amounts.js';
import { type Draft, type DraftInput, outPointName, transactionOf, unsigned } from './draft.js';

/** Lines that end in a line end; of the inputs in `unproven` nothing proves what they hold. */
export function summaryOf(draft: Draft, unproven: readonly DraftInput[] = []): string {
  const { inputs, outputs } = draft;
  const own = new Set(inputs.map(({ address }) => address));
  const open = unsigned(draft).length;
  const state = open === 0 ? transactionHash(transactionOf(draft)) : `${open} of ${inputs.length} inputs to be signed`;
  const lines = [
    `transaction  ${state}`,
    ...inputs.map((input) => {
      const { outPoint, address, value } = input;
      const mark = unproven.includes(input) ? ': NOT PROVEN, it may hold more' : '';
      return `  spends     ${amountOf(value)} of ${address} (${outPointName(outPoint)})${mark}`;
    }),
    ...outputs.map(({ value, scriptPublicKey, locktime }) => {
      const to = scriptPublicKey ?? '';
      const later = locktime === 0n ? '' : `, spendable from block ${locktime} on`;
      if (to === BURN_ADDRESS) return `  burns      ${amountOf(value)}: nobody can spend it ever again`;
      return `  ${own.has(to) ? 'returns' : 'pays   '}    ${amountOf(value)} to ${to}${later}`;
    }),
    '  fee        none',
  ];
  return lines.map((line) => `${printable(line)}\n`).join('');
}

function amountOf(value: Asset): string {
  return value.kind === 'token'
    ? showAmount(value.amount)
    : `${value.amount} items of ${value.genesisHash ?? 'their own'}`;
}
