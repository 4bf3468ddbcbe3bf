/**
 * The orders of this page, from the confirmation to an answer: on whatever page the owner is, after the API key is refused and
 * typed again, and after the page is loaded again. An order without an answer stays until it gets one, and whoever asks for
 * the same again is given that very order: it would be paid twice under another idempotency key.
 */

import { stringifyExact } from '../../src/lib/json.js';
import { keepOrders, keptOrders, type TabStorage } from './kept-orders.js';
import type { Movement } from './movement-log.js';
import { newOrder, type Order, type OrderModules, type OrderPath, OrderSender, type Outcome } from './order.js';

export type Step = 'ready' | 'sending' | 'repeating' | 'refused' | 'unanswered' | 'stale' | 'done';

export interface OrderState {
  readonly order: Order;
  readonly step: Step;
  /** The words of the node; empty when it has said nothing. */
  readonly message: string;
  /** The code of a refusal; empty when it is none. */
  readonly code: string;
  /** Answer to an order that is done. */
  readonly answer?: unknown;
  /** True while a page shows it. */
  readonly isShown: boolean;
}

interface Entry {
  state: OrderState;
  readonly sender: OrderSender<unknown>;
  shown: number;
}

export interface DeskModules extends Omit<OrderModules<unknown>, 'onRepeat'> {
  readonly storage?: TabStorage;
}

/** Orders without an answer; who has so many should look at them first. */
const MAX_OPEN = 20;
/** The node may have acted, and has not said so. */
const OPEN: ReadonlySet<Step> = new Set(['sending', 'repeating', 'unanswered', 'stale']);
/** An answer was lost, and the history of the node may have what came of it. */
export const isSilent = ({ step }: OrderState): boolean =>
  step === 'repeating' || step === 'unanswered' || step === 'stale';
/** Another request for the same is this one. */
const SAME: ReadonlySet<Step> = new Set(['sending', 'repeating', 'unanswered']);

export class OrderDesk {
  readonly #modules: DeskModules;
  /** Entries by idempotency key. */
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<() => void>();

  constructor(modules: DeskModules) {
    this.#modules = modules;
    for (const order of keptOrders(modules.storage)) this.#add(order, 'unanswered');
  }

  get orders(): readonly OrderState[] {
    return [...this.#entries.values()].map(({ state }) => state);
  }

  stateOf({ idempotencyKey }: Order): OrderState | undefined {
    return this.#entries.get(idempotencyKey)?.state;
  }

  /** The returned function ends it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The order for a form: the one for the same that has no answer yet, or a new one. */
  take(path: OrderPath, body: Order['body']): Order {
    const asked = stringifyExact([path, body]);
    const found = this.orders.find(
      ({ order, step }) => SAME.has(step) && stringifyExact([order.path, order.body]) === asked,
    );
    if (found !== undefined) return found.order;
    const order = newOrder(path, body);
    this.#add(order, 'ready');
    return order;
  }

  /** Marks an order as shown: its page then says what there is to say. The returned function ends it. */
  show({ idempotencyKey }: Order): () => void {
    const entry = this.#entries.get(idempotencyKey);
    if (entry === undefined) return () => undefined;
    entry.shown += 1;
    this.#change(entry, { isShown: true });
    return () => {
      entry.shown -= 1;
      if (entry.shown > 0) return;
      if (OPEN.has(entry.state.step)) this.#change(entry, { isShown: false });
      else this.forget(entry.state.order);
    };
  }

  async submit(order: Order, passphrase: string | undefined): Promise<void> {
    const entry = this.#entries.get(order.idempotencyKey);
    if (entry === undefined) return;
    const open = this.orders.filter(({ step }) => OPEN.has(step));
    if (!OPEN.has(entry.state.step) && open.length >= MAX_OPEN) {
      const message = `There are ${MAX_OPEN} requests without an answer: check them first.`;
      return this.#change(entry, { step: 'refused', message, code: '' });
    }
    if (entry.state.step !== 'repeating') this.#change(entry, { step: 'sending' });
    try {
      this.#end(entry, await entry.sender.submit(passphrase));
    } catch (error) {
      // A fault of this page, after which nobody can say what the node has done.
      this.#change(entry, { step: 'unanswered' });
      throw error;
    }
  }

  /** Asks the history of the node for what has no answer: what it has is done, and what it had and rejected is refused. */
  async look(
    find: (order: Order) => Promise<Pick<Movement, 'tx_hash' | 'state' | 'reason'> | undefined>,
  ): Promise<void> {
    for (const entry of [...this.#entries.values()].filter(({ state }) => isSilent(state))) {
      const made = await find(entry.state.order);
      if (made === undefined || !isSilent(entry.state)) continue;
      const { tx_hash, state, reason } = made;
      const outcome: Outcome<unknown> =
        state === 'rejected'
          ? { kind: 'refused', message: reason ?? '', code: '' }
          : { kind: 'done', answer: { tx_hash } };
      entry.sender.settle(outcome);
      this.#end(entry, outcome);
    }
  }

  /** The owner has read what came of it, or does not want to know. */
  forget({ idempotencyKey }: Order): void {
    if (this.#entries.delete(idempotencyKey)) this.#changed();
  }

  forgetAll(): void {
    this.#entries.clear();
    this.#changed();
  }

  #add(order: Order, step: 'ready' | 'unanswered'): void {
    const { storage: _, ...modules } = this.#modules;
    const onRepeat = (): void => this.#change(entry, { step: 'repeating' });
    const sender = new OrderSender<unknown>(order, { ...modules, onRepeat }, { isLost: step === 'unanswered' });
    const entry: Entry = { state: { order, step, message: '', code: '', isShown: false }, sender, shown: 0 };
    this.#entries.set(order.idempotencyKey, entry);
    this.#changed();
  }

  #end(entry: Entry, outcome: Outcome<unknown>): void {
    const { message = '', code = '', answer } = outcome as Partial<OrderState>;
    this.#change(entry, { step: outcome.kind, message, code, answer });
  }

  #change(entry: Entry, change: Partial<OrderState>): void {
    if (this.#entries.get(entry.state.order.idempotencyKey) !== entry) return;
    entry.state = { ...entry.state, ...change };
    this.#changed();
  }

  #changed(): void {
    const open = this.orders.filter(({ step }) => OPEN.has(step));
    keepOrders(
      open.map(({ order }) => order),
      this.#modules.storage,
    );
    for (const listener of [...this.#listeners]) listener();
  }
}
