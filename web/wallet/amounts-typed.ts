/** Amounts as the owner types them, in the unit that the owner has chosen; exact, or refused. */

import { parseTokens } from '../shared/amounts.js';

export type Unit = 'tokens' | 'raw';

/** The most that a payment can have. */
const MAX_PAID = 2n ** 63n - 1n;

/** Whole number in a text; undefined when it is no number from 1 to the most that can be paid. */
export function parseWhole(text: string): bigint | undefined {
  const [, digits] = /^\s*(\d{1,20})\s*$/.exec(text) ?? [];
  return digits === undefined ? undefined : payable(BigInt(digits));
}

/** Raw units of an amount in that unit. */
export function parseAmount(text: string, unit: Unit): bigint | undefined {
  return unit === 'raw' ? parseWhole(text) : payable(parseTokens(text));
}

function payable(value: bigint | undefined): bigint | undefined {
  return value !== undefined && value > 0n && value <= MAX_PAID ? value : undefined;
}

export type Payee = { readonly kind: 'address' | 'ip'; readonly address: string };

/** Pattern of `isPayableAddress` in src/chain/address.ts: an address has no check sum, and one digit less pays nobody. */
const PAYABLE_ADDRESS = /^(?:[0-9a-f]{64}|[0-9a-f]{32}|H[0-9a-f]{63})$/;

/** Whom a text names: a payment address, or `host:port` of a node; undefined when neither. */
export function parsePayee(text: string): Payee | undefined {
  const address = text.trim();
  if (PAYABLE_ADDRESS.test(address)) return { kind: 'address', address };
  return isNodeAddress(address) ? { kind: 'ip', address } : undefined;
}

/** True for what looks like `ip:port`; the node judges it. */
export function isNodeAddress(text: string): boolean {
  return /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:.]{2,45}\]):\d{1,5}$/.test(text);
}
