/**
 * Orders without an answer, kept by the browser for this tab (`sessionStorage`) until there is one: whoever loads the page again
 * must not pay again under another idempotency key. The browser may write them to its files: there is no passphrase and no
 * API key in them.
 */

import { parseExactJson, stringifyExact } from '../../src/lib/json.js';
import { ORDER_PATHS, type Order, type OrderPath } from './order.js';

const NAME = 'tessera-open-orders';

/** The part of `Storage` that is used. */
export interface TabStorage {
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  removeItem(name: string): void;
}

export function keptOrders(storage: TabStorage | undefined = tabStorage()): readonly Order[] {
  try {
    const kept = parseExactJson(storage?.getItem(NAME) ?? '[]');
    return Array.isArray(kept) ? kept.flatMap(readOrder) : [];
  } catch {
    return [];
  }
}

/** Stores these orders in place of those that are kept. */
export function keepOrders(orders: readonly Order[], storage: TabStorage | undefined = tabStorage()): void {
  try {
    if (orders.length === 0) storage?.removeItem(NAME);
    else storage?.setItem(NAME, stringifyExact(orders));
  } catch {
    // Storage may be forbidden, or full: then they are known until the page is left.
  }
}

/** Fields that each path needs in its body, so that it can be shown. */
const FIELDS: Readonly<Record<OrderPath, Readonly<Record<string, 'text' | 'whole'>>>> = {
  '/v1/payments': { kind: 'text', address: 'text', amount: 'whole' },
  '/v1/item-payments': { kind: 'text', address: 'text', genesis_hash: 'text', amount: 'whole' },
  '/v1/items': { genesis_hash_spec: 'text', item_amount: 'whole' },
  '/v1/donation-requests': { address: 'text' },
};

function readOrder(value: unknown): Order[] {
  const { path, body, idempotencyKey, madeAt } = Object(value) as Partial<Order>;
  const isOrder =
    ORDER_PATHS.some((known) => known === path) &&
    Number.isSafeInteger(madeAt) &&
    typeof idempotencyKey === 'string' &&
    /^[0-9a-f]{32}$/.test(idempotencyKey) &&
    Object.entries(FIELDS[path as OrderPath]).every(([name, type]) => isOf(type, Object(body)[name]));
  return isOrder ? [{ path, body, idempotencyKey, madeAt } as Order] : [];
}

function isOf(type: 'text' | 'whole', value: unknown): boolean {
  return type === 'text' ? typeof value === 'string' : typeof value === 'bigint' || Number.isSafeInteger(value);
}

function tabStorage(): TabStorage | undefined {
  try {
    return sessionStorage;
  } catch {
    // Storage may be forbidden.
    return undefined;
  }
}
