/** Own transactions as the list of payments shows them: with what the history knows of each, as it was when it was made. */

import { TOKENS } from '../coins/coin.js';
import type { OwnTransaction } from '../payments/outgoing.js';
import type { OwnPayment } from '../service.js';
import { directionOf, type Movement, movedBy } from './movement.js';

export interface OwnPaymentFacts {
  readonly movement: Movement | undefined;
  /** True for what is an address of the wallet now. */
  readonly owns: (address: string) => boolean;
  readonly label: string | null;
}

export function showPayment({ transaction, ...entry }: OwnTransaction, facts: OwnPaymentFacts): OwnPayment {
  const { movement, owns, label } = facts;
  const known = new Map(movement?.outputs.map(({ n, own }) => [n, own]));
  const outputs = transaction.outputs.map(({ value, scriptPublicKey: address }, n) => ({
    address,
    value,
    // A key that was imported since does not change what the payment was.
    own: known.get(n) ?? (address !== null && owns(address)),
  }));
  return {
    ...entry,
    outputs,
    height: movement?.height ?? null,
    time: movement?.time ?? null,
    amount: (movement && movedBy(movement).get(TOKENS)) ?? 0n,
    fee: movement?.fee ?? null,
    toSelf: movement !== undefined && directionOf(movement) === 'self',
    label,
  };
}
