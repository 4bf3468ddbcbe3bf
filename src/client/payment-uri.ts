/** A request for a payment as one text, which a QR code holds; the wallet page and `tessera wallet pay` take it: `tessera:ADDRESS?amount=RAW&label=TEXT`. */

import { hasValidAddressLength } from '../chain/address.js';

export const SCHEME = 'tessera:';
const MAX_LABEL = 200;

export interface PaymentRequest {
  readonly address: string;
  /** Amount in raw units. */
  readonly amount: bigint | undefined;
  readonly label: string;
}

export function paymentUri({ address, amount, label }: PaymentRequest): string {
  const parts = [
    ...(amount === undefined ? [] : [`amount=${amount}`]),
    ...(label === '' ? [] : [`label=${encodeURIComponent(label)}`]),
  ];
  return `${SCHEME}${address}${parts.length === 0 ? '' : `?${parts.join('&')}`}`;
}

/** The request in a text; undefined for any other text, and for a request with a wrong address or amount. */
export function readPaymentUri(text: string): PaymentRequest | undefined {
  const trimmed = text.trim();
  if (!trimmed.startsWith(SCHEME)) return undefined;
  const [address = '', query = ''] = trimmed.slice(SCHEME.length).split('?');
  const params = new URLSearchParams(query);
  const amount = params.get('amount');
  const isAddress = hasValidAddressLength(address) && /^[0-9a-zA-Z]+$/.test(address);
  if (!isAddress || (amount !== null && !/^[1-9]\d{0,19}$/.test(amount))) return undefined;
  return {
    address,
    amount: amount === null ? undefined : BigInt(amount),
    label: (params.get('label') ?? '').slice(0, MAX_LABEL),
  };
}
