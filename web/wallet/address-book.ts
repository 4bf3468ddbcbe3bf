/** Payees with names: labels of the wallet that begin with a mark, so that nobody takes such an address for one of the wallet. */

import type { LabelsResponse } from '../../src/sdk/client.js';

type Label = LabelsResponse['labels'][number];

const MARK = '→ ';

export interface KnownPayee {
  readonly address: string;
  readonly name: string;
}

/** Names of the address book, by address. */
export type PayeeNames = ReadonlyMap<string, string>;

export const isPayee = ({ kind, label }: Label): boolean => kind === 'address' && label.startsWith(MARK);

export const payeesIn = (labels: readonly Label[]): readonly KnownPayee[] =>
  labels.filter(isPayee).map(({ name, label }) => ({ address: name, name: label.slice(MARK.length) }));

/** The label that keeps a name; an empty one takes the payee out. */
export const payeeLabel = (address: string, name: string): Label => ({
  kind: 'address',
  name: address,
  label: name === '' ? '' : `${MARK}${name}`,
});
