/** Whom the owner pays, as it is typed. */

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
