/**
 * What the owner has confirmed, done once: an order gets its idempotency key when its form is confirmed, and is sent under
 * that key however often somebody clicks and however many answers are lost (docs/wallet.md#paid-exactly-once).
 */

import { NoAnswer, Refused } from '../shared/node-api.js';

export interface Order {
  readonly path: string;
  /** Without the passphrase, which no order keeps. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly idempotencyKey: string;
  /** Milliseconds since the Unix epoch. */
  readonly madeAt: number;
}

export type Outcome<T> =
  | { readonly kind: 'done'; readonly answer: T }
  /** Nothing was done, and the same order may be sent again. */
  | { readonly kind: 'refused'; readonly message: string }
  /** It may be done: only the same order may be sent again. */
  | { readonly kind: 'unanswered' }
  /** So old that the node may have forgotten its key: it must not be sent again. */
  | { readonly kind: 'stale' };

const KEY_BYTES = 16;
/** A node keeps a key for 24 hours at least. */
const MAX_AGE_MS = 20 * 3_600_000;
/** About two minutes, as the command line has it. */
const WAITS_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000] as const;

/** Not `randomUUID`, which browsers have only over https and on this machine. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function newOrder(path: string, body: Readonly<Record<string, unknown>>): Order {
  return { path, body, idempotencyKey: randomKey(), madeAt: Date.now() };
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

  constructor(order: Order, modules: OrderModules<T>) {
    this.#order = order;
    this.#modules = modules;
  }

  /** While it runs, and after it is done, another call has the same outcome and sends nothing. */
  submit(passphrase: string | undefined): Promise<Outcome<T>> {
    this.#running ??= this.#submit(passphrase).then((outcome) => {
      if (outcome.kind !== 'done') this.#running = undefined;
      return outcome;
    });
    return this.#running;
  }

  async #submit(passphrase: string | undefined): Promise<Outcome<T>> {
    const { now, onRepeat, pause } = this.#modules;
    for (const wait of [...WAITS_MS, undefined]) {
      if (now() - this.#order.madeAt > MAX_AGE_MS) return { kind: 'stale' };
      const outcome = await this.#once(passphrase);
      if (outcome.kind !== 'unanswered' || wait === undefined) return outcome;
      onRepeat();
      await pause(wait);
    }
    return { kind: 'unanswered' };
  }

  async #once(passphrase: string | undefined): Promise<Outcome<T>> {
    try {
      return { kind: 'done', answer: await this.#modules.send(this.#order, passphrase) };
    } catch (error) {
      // An answer without a code is not the node's: something between has lost it.
      if (error instanceof Refused && error.code !== '') return { kind: 'refused', message: error.message };
      if (error instanceof Refused || error instanceof NoAnswer) return { kind: 'unanswered' };
      throw error;
    }
  }
}
