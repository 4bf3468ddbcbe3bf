/** Shows what a transaction does, for the person who signs or sends it. */

import { BURN_ADDRESS } from '../../chain/address.js';
import { transactionHash } from '../../chain/hash.js';
import type { Asset } from '../../chain/types.js';
import { printable } from '../../lib/printable.js';
import { showAmount } from '../wallet/amounts.js';
import { type Draft, type DraftInput, outPointName, transactionOf, unsigned } from './draft.js';

interface Known {
  /** Addresses of whoever reads this. Nothing else may be called change: anybody can add an input of their own. */
  readonly own?: ReadonlySet<string>;
  /** Nothing proves what these hold. */
  readonly unproven?: readonly DraftInput[];
}

/** Lines that end in a line end. Without `own` nothing is called change. */
export function summaryOf(draft: Draft, { own, unproven = [] }: Known = {}): string {
  const { inputs, outputs } = draft;
  const sources = new Set(inputs.map(({ address }) => address));
  const open = unsigned(draft).length;
  const state = open === 0 ? transactionHash(transactionOf(draft)) : `${open} of ${inputs.length} inputs to be signed`;
  const lines = [
    `transaction  ${state}`,
    ...inputs.map((input) => {
      const { outPoint, address, value } = input;
      const whose = own === undefined || own.has(address) ? '' : ': NOT YOURS, its key was not given';
      const mark = unproven.includes(input) ? ': NOT PROVEN, it may hold more' : '';
      return `  spends     ${amountOf(value)} of ${address} (${outPointName(outPoint)})${whose}${mark}`;
    }),
    ...outputs.map(({ value, scriptPublicKey, locktime }) => {
      const to = scriptPublicKey ?? '';
      const later = locktime === 0n ? '' : `, spendable from block ${locktime} on`;
      if (to === BURN_ADDRESS) return `  burns      ${amountOf(value)}: nobody can spend it ever again`;
      const isSource = own === undefined && sources.has(to) ? ', where an input comes from' : '';
      return `  ${own?.has(to) ? 'returns' : 'pays   '}    ${amountOf(value)} to ${to}${isSource}${later}`;
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
