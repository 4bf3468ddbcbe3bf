/**
 * Orders that the owner has confirmed are done once: an order gets its idempotency key when its form is confirmed, and is
 * sent under that key however often somebody clicks and however many answers are lost (docs/wallet.md#paid-exactly-once).
 */

import { isDefinite, isPassing, mayHaveActed } from '../../src/client/repeat.js';
import { toHex } from '../../src/lib/bytes.js';
import {
  type CallOptions,
  type CreateItemRequest,
  type DonationRequest,
  type ItemPaymentRequest,
  isTesseraError,
  type PaymentRequest,
  type TesseraClient,
  type TesseraError,
} from '../../src/sdk/client.js';
import type { Movement } from './movement-log.js';

export const ORDER_PATHS = ['/v1/payments', '/v1/item-payments', '/v1/items', '/v1/donation-requests'] as const;
export type OrderPath = (typeof ORDER_PATHS)[number];

export interface Order {
  readonly path: OrderPath;
  /** Body without the passphrase, which no order keeps. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string;
  /** Milliseconds since the Unix epoch. */
  readonly madeAt: number;
}

export type Outcome<T> =
  | { readonly kind: 'done'; readonly answer: T }
  /** Nothing was done, and the same order may be sent again. */
  | { readonly kind: 'refused'; readonly message: string; readonly code: string }
  /** State that may be done: only the same order may be sent again. The message is what the node has said since, or empty. */
  | { readonly kind: 'unanswered'; readonly message: string }
  /** State too old to be sent again: the node may have forgotten its key. */
  | { readonly kind: 'stale' };

const KEY_BYTES = 16;
/** A node keeps a key for 24 hours at least. */
const MAX_AGE_MS = 20 * 3_600_000;
/** Time by which the clock of this machine may be set back; beyond it nobody can tell how old an order is. */
const MAX_SET_BACK_MS = 60_000;
/** About two minutes, as the command line has it. */
const WAITS_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000] as const;

export function newOrder(path: OrderPath, body: Readonly<Record<string, unknown>>): Order {
  return { path, body, idempotencyKey: toHex(crypto.getRandomValues(new Uint8Array(KEY_BYTES))), madeAt: Date.now() };
}

type Call = (node: TesseraClient, body: unknown, options: CallOptions) => Promise<unknown>;

// The node checks the bodies: kept ones come from the storage of the tab.
const CALLS: Readonly<Record<OrderPath, Call>> = {
  '/v1/payments': (node, body, options) => node.createPayment(body as PaymentRequest, options),
  '/v1/item-payments': (node, body, options) => node.createItemPayment(body as ItemPaymentRequest, options),
  '/v1/items': (node, body, options) => node.createItem(body as CreateItemRequest, options),
  '/v1/donation-requests': (node, body, options) => node.requestDonation(body as DonationRequest, options),
};

/** Sends it once. */
export function sendOrder(
  node: TesseraClient,
  { path, body, idempotencyKey }: Order,
  passphrase: string | undefined,
): Promise<unknown> {
  return CALLS[path](node, { ...body, passphrase }, { idempotencyKey });
}

/**
 * Entry of the node's history for an order; undefined when it has none. A donation is paid by another node, and its key
 * makes no movement here.
 */
export async function findMade(
  node: TesseraClient,
  { path, idempotencyKey }: Order,
  signal: AbortSignal,
): Promise<Movement | undefined> {
  if (path === '/v1/donation-requests') return undefined;
  const { movements } = await node.getWalletMovements({ idempotency_key: idempotencyKey }, { signal });
  return movements[0];
}

export interface OrderModules<T> {
  readonly send: (order: Order, passphrase: string | undefined) => Promise<T>;
  /** Called when an answer has not come and the order is sent again. */
  readonly onRepeat: () => void;
  readonly pause: (ms: number) => Promise<void>;
  readonly now: () => number;
}

/** Sends one order. */
export class OrderSender<T> {
  readonly #order: Order;
  readonly #modules: OrderModules<T>;
  #running: Promise<Outcome<T>> | undefined;
  #settled: Outcome<T> | undefined;
  /** An answer was lost: a refusal from then on says nothing about the attempt before it, unless it is a definite one. */
  #isLost: boolean;

  /** `isLost`: it was sent before, by somebody who does not know what came of it. */
  constructor(order: Order, modules: OrderModules<T>, { isLost = false }: { readonly isLost?: boolean } = {}) {
    this.#order = order;
    this.#modules = modules;
    this.#isLost = isLost;
  }

  /** Sends the order once. While it runs, and after it is done, another call has the same outcome and sends nothing. */
  submit(passphrase: string | undefined): Promise<Outcome<T>> {
    if (this.#settled !== undefined) return Promise.resolve(this.#settled);
    this.#running ??= this.#submit(passphrase).then(
      (answered) => {
        const outcome = this.#settled ?? answered;
        if (outcome.kind !== 'done') this.#running = undefined;
        return outcome;
      },
      (error: unknown) => {
        // A fault of the page: the order can still be sent again, and may be done.
        this.#running = undefined;
        this.#isLost = true;
        throw error;
      },
    );
    return this.#running;
  }

  /** What came of it is known by other means: nothing is sent any more. */
  settle(outcome: Outcome<T>): void {
    this.#settled = outcome;
  }

  async #submit(passphrase: string | undefined): Promise<Outcome<T>> {
    const { now, onRepeat, pause } = this.#modules;
    for (const wait of [...WAITS_MS, undefined]) {
      if (this.#settled !== undefined) return this.#settled;
      const age = now() - this.#order.madeAt;
      if (age > MAX_AGE_MS || age < -MAX_SET_BACK_MS) return { kind: 'stale' };
      const outcome = await this.#once(passphrase);
      if (outcome !== 'repeat') return outcome;
      if (wait === undefined) break;
      onRepeat();
      await pause(wait);
    }
    return { kind: 'unanswered', message: '' };
  }

  async #once(passphrase: string | undefined): Promise<Outcome<T> | 'repeat'> {
    try {
      return { kind: 'done', answer: await this.#modules.send(this.#order, passphrase) };
    } catch (error) {
      if (!isTesseraError(error)) throw error;
      if (!mayHaveActed(error)) return this.#refused(error);
      this.#isLost = true;
      return 'repeat';
    }
  }

  #refused(error: TesseraError): Outcome<T> | 'repeat' {
    const { code, message } = error;
    if (!this.#isLost || isDefinite(error)) {
      this.#isLost = false;
      return { kind: 'refused', message, code };
    }
    return isPassing(error) ? 'repeat' : { kind: 'unanswered', message };
  }
}
