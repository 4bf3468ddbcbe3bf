/** Spending without the key, on chains of `tessera dev --impersonate`. Every such input says so in its block; no other node takes that. */

import { tokenAsset } from '../../chain/assets.js';
import { assemble, txOut } from '../../chain/builders.js';
import { OUR_ERA } from '../../chain/eras.js';
import type { Genesis } from '../../chain/genesis.js';
import { IMPERSONATION } from '../../chain/script/builders.js';
import type { Transaction } from '../../chain/types.js';
import type { Holdings } from '../../mempool/service.js';
import { chooseUnspent } from '../../wallet/coins/unspent.js';
import { checkPayment } from '../../wallet/payments/payment-builder.js';

/** Name of a network that impersonates: its folders and links are not those of other dev networks. */
export const IMPERSONATING_NETWORK = 'tessera-dev-impersonate';

/** The rules of the genesis file with impersonation. Their fingerprint differs, so that nodes without it refuse links. */
export function impersonable(genesis: Genesis): Genesis {
  return { ...genesis, eras: [{ ...OUR_ERA, impersonation: true }] };
}

export interface ImpersonatedPayment {
  readonly from: string;
  readonly to: string;
  readonly amount: bigint;
}

/** A payment from an address, out of its outputs that can be spent in the block after `height`. Throws `payment_refused`, `insufficient_funds`. */
export function impersonatedPayment(
  { from, to, amount }: ImpersonatedPayment,
  holdings: Holdings | undefined,
  height: number,
): Transaction {
  checkPayment(to, amount, 0n);
  const unspent = [...(holdings ?? [])].filter(({ locktime }) => locktime <= height);
  const spent = chooseUnspent(
    unspent.map((one) => ({ ...one, address: from })),
    amount,
  );
  const rest = spent.reduce((sum, { value }) => sum + value.amount, -amount);
  return assemble({
    inputs: spent.map(({ outPoint }) => ({ previousOut: outPoint, script: IMPERSONATION })),
    outputs: [txOut(tokenAsset(amount), to), ...(rest > 0n ? [txOut(tokenAsset(rest), from)] : [])],
  });
}
