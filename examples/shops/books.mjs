// The books of a shop: its orders, what has been paid to them, and how far the history of the wallet has been read. Everything is in one
// file, which is replaced as a whole: a payment counts, and the place in the history moves on, in the same write or not at all.

import { open, readFile, rename } from 'node:fs/promises';

export class Books {
  #file;
  #content = { cursor: null, orders: {} };
  #writing = Promise.resolve();

  static async open(file) {
    const books = new Books();
    books.#file = file;
    const text = await readFile(file, 'utf8').catch((error) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (text !== undefined) books.#content = JSON.parse(text);
    return books;
  }

  get orders() {
    return Object.entries(this.#content.orders).map(([id, order]) => ({ id, ...order }));
  }

  /** The item that an item shop sells. */
  get item() {
    return this.#content.item;
  }

  get(id) {
    return Object.hasOwn(this.#content.orders, id) ? this.#content.orders[id] : undefined;
  }

  /** Changes the content, and resolves when that is on disk. Changes follow one another. */
  change(edit) {
    const next = this.#writing.then(async () => {
      const content = structuredClone(this.#content);
      edit(content);
      const file = await open(`${this.#file}.new`, 'w', 0o600);
      await file.writeFile(JSON.stringify(content, null, 2));
      await file.sync();
      await file.close();
      await rename(`${this.#file}.new`, this.#file);
      this.#content = content;
    });
    this.#writing = next.catch(() => undefined);
    return next;
  }

  /** An order is paid to an address of its own. The same id again is the same order. */
  async order(client, id, price, more = {}) {
    if (this.get(id) === undefined) {
      const { address } = await client.createWalletAddress();
      await this.change(({ orders }) => {
        orders[id] ??= { address, price: String(price), paid: '0', isDelivered: false, ...more };
      });
    }
    return this.get(id);
  }

  /** Reads what the wallet has received since the last time. Each movement counts once: a page that was read never changes. */
  async read(client) {
    for (;;) {
      const { cursor } = this.#content;
      const page = {
        order: 'oldest',
        direction: 'in',
        limit: 100,
        ...(cursor === null ? {} : { cursor: BigInt(cursor) }),
      };
      const { movements, next } = await client.getWalletMovements(page);
      const settled = movements.slice(0, firstOpen(movements));
      const last = settled.at(-1);
      if (last !== undefined) {
        await this.change((content) => {
          // A page begins with the movement that its cursor names.
          content.cursor = String(last.number + 1n);
          for (const { outputs } of settled) for (const output of outputs) count(content.orders, output);
        });
      }
      if (next === null || settled.length < movements.length) return;
    }
  }
}

function firstOpen(movements) {
  const at = movements.findIndex(({ state }) => state !== 'confirmed');
  return at < 0 ? movements.length : at;
}

function count(orders, { address, amount, item, own }) {
  const order = Object.values(orders).find((one) => one.address === address);
  if (order !== undefined && own && item === null) order.paid = String(BigInt(order.paid) + amount);
}
