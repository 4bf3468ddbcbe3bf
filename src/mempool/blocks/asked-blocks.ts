/** Blocks that somebody has asked for: they are made at once, empty or not (only dev networks take such orders). */

import { createDeferred, type Deferred } from '../../lib/deferred.js';
import { TesseraError } from '../../lib/errors.js';

interface Order {
  readonly count: number;
  /** Heights of the blocks cut for this order so far. */
  readonly heights: number[];
  readonly done: Deferred<readonly number[]>;
}

export class AskedBlocks {
  /** Orders that are not complete, the oldest first. */
  #orders: Order[] = [];

  /** True while the next block is to be cut whatever is in it. */
  get isDue(): boolean {
    return this.#orders.length > 0;
  }

  /** Places an order; its promise resolves with the heights when `count` blocks have been cut for it. */
  order(count: number): { readonly heights: Promise<readonly number[]>; readonly cancel: () => void } {
    const order: Order = { count, heights: [], done: createDeferred() };
    order.done.promise.catch(() => undefined);
    this.#orders.push(order);
    return { heights: order.done.promise, cancel: () => this.#drop(order) };
  }

  /** Counts a new block for the oldest order. */
  cut(height: number): void {
    const [first] = this.#orders;
    if (first === undefined) return;
    first.heights.push(height);
    if (first.heights.length < first.count) return;
    this.#drop(first);
    first.done.resolve(first.heights);
  }

  /** Rejects all orders: no more blocks are made. */
  end(): void {
    const orders = this.#orders;
    this.#orders = [];
    for (const { done } of orders) done.reject(new TesseraError('shutting_down', 'the node is stopping'));
  }

  #drop(order: Order): void {
    this.#orders = this.#orders.filter((other) => other !== order);
  }
}
