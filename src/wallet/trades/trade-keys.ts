/** Signs for trades: documents, and halves and what takes their inputs back. */

import type { Asset, Transaction } from '../../chain/types.js';
import { TesseraError } from '../../lib/errors.js';
import { type KeyRing, wipeKeys } from '../keys/key-ring.js';
import { buildPaymentInTurns, type SpentCoin } from '../payments/payment-builder.js';
import { type Acceptance, type Confirmation, type Offer, signDocument, type TradeDocument } from './documents.js';

/** A payment without change. */
export interface WholePayment {
  readonly inputs: readonly SpentCoin[];
  readonly to: string;
  readonly asset: Asset;
}

/** The same signatures each time: whoever was told the name of a half can rely on it. */
export async function signPayment(payment: WholePayment, keys: KeyRing): Promise<Transaction> {
  const signing = await keys.signingKeys(payment.inputs.map(({ address }) => address));
  try {
    return await buildPaymentInTurns({ ...payment, locktime: 0n, change: null }, signing, async () => undefined);
  } finally {
    wipeKeys(signing);
  }
}

type Content<D extends TradeDocument> = Omit<D, 'kind' | 'format' | 'public_key' | 'signature'>;

export function signOffer(content: Content<Offer>, keys: KeyRing): Promise<Offer> {
  return signAt<Offer>(content.to, { kind: 'tessera-trade-offer', format: 1, ...content }, keys);
}

export function signAcceptance(content: Content<Acceptance>, keys: KeyRing): Promise<Acceptance> {
  return signAt<Acceptance>(content.to, { kind: 'tessera-trade-acceptance', format: 1, ...content }, keys);
}

/** `to`: where the maker is paid, by whose key the offer is signed too. */
export function signConfirmation(to: string, content: Content<Confirmation>, keys: KeyRing): Promise<Confirmation> {
  return signAt<Confirmation>(to, { kind: 'tessera-trade-confirmation', format: 1, ...content }, keys);
}

/** Signs with the key of an own address. */
async function signAt<D extends TradeDocument>(
  address: string,
  content: Omit<D, 'public_key' | 'signature'>,
  keys: KeyRing,
): Promise<D> {
  const signing = await keys.signingKeys([address]);
  const key = signing.get(address);
  if (key === undefined) throw new TesseraError('internal_error', `the wallet has no key for ${address}`);
  try {
    return signDocument<D>(content, key);
  } finally {
    wipeKeys(signing);
  }
}
