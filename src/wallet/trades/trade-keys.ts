/** Signs for trades: documents, and halves and what takes their inputs back. */

import type { Asset, Transaction } from '../../chain/types.js';
import type { KeyRing } from '../keys/key-ring.js';
import { buildPaymentInTurns, type SpentCoin } from '../payments/payment-builder.js';
import { type Acceptance, type Confirmation, type Offer, signDocument, type TradeDocument } from './documents.js';

/** A payment without change. */
export interface WholePayment {
  readonly inputs: readonly SpentCoin[];
  readonly to: string;
  readonly asset: Asset;
}

/** The same signatures each time: whoever was told the name of a half can rely on it. */
export function signPayment(payment: WholePayment, keys: KeyRing): Promise<Transaction> {
  const plan = { ...payment, locktime: 0n, change: null };
  return keys.withKeys(
    payment.inputs.map(({ address }) => address),
    (signing) => buildPaymentInTurns(plan, signing, async () => undefined),
  );
}

type Content<D extends TradeDocument> = Omit<D, 'kind' | 'format' | 'public_key' | 'signature'>;

export function signOffer(content: Content<Offer>, keys: KeyRing): Promise<Offer> {
  return keys.withKey(content.to, (key) =>
    signDocument<Offer>({ kind: 'tessera-trade-offer', format: 1, ...content }, key),
  );
}

export function signAcceptance(content: Content<Acceptance>, keys: KeyRing): Promise<Acceptance> {
  return keys.withKey(content.to, (key) =>
    signDocument<Acceptance>({ kind: 'tessera-trade-acceptance', format: 1, ...content }, key),
  );
}

/** `to`: where the maker is paid, by whose key the offer is signed too. */
export function signConfirmation(to: string, content: Content<Confirmation>, keys: KeyRing): Promise<Confirmation> {
  return keys.withKey(to, (key) =>
    signDocument<Confirmation>({ kind: 'tessera-trade-confirmation', format: 1, ...content }, key),
  );
}
