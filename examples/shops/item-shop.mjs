// An item shop: node item-shop.mjs NODE_URL BOOKS_FILE
// PUT /orders/ID {"count": 2, "to": ADDRESS} answers with price and address. When it is paid, the items are sent to the buyer.

import { createClient, parseAmount } from 'tessera-node/client';
import { Books } from './books.mjs';
import { runShop } from './run-shop.mjs';

const [url, file] = process.argv.slice(2);
const client = createClient({ url, apiKey: process.env.API_KEY });
const passphrase = process.env.PASSPHRASE ?? '';
const PRICE = parseAmount('2');

const books = await Books.open(file);

/** The name of the tickets, which are created once. With an idempotency key, a request that is made again does its thing once. */
async function ticketsOf() {
  if (books.item !== undefined) return books.item;
  const idempotencyKey = 'tickets of the item shop';
  await client.createItem(
    { item_amount: 1_000n, genesis_hash_spec: 'Create', metadata: 'a ferry' },
    { idempotencyKey },
  );
  const { movements } = await client.getWalletMovements({ idempotency_key: idempotencyKey });
  const { tx_hash } = movements[0];
  await client.waitForTransaction(tx_hash);
  await books.change((content) => {
    content.item = tx_hash;
  });
  return tx_hash;
}

const item = await ticketsOf();

async function deliver({ id, to, count }) {
  const order = { kind: 'address', address: to, genesis_hash: item, amount: BigInt(count), passphrase };
  const { tx_hash } = await client.createItemPayment(order, { idempotencyKey: `order ${id}` });
  await client.waitForTransaction(tx_hash);
}

function readOrder({ count, to }) {
  if (!Number.isInteger(count) || count < 1 || count > 10) throw new Error('count must be from 1 to 10');
  if (!/^[0-9a-f]{64}$/.test(to)) throw new Error('to must be an address');
  return { price: PRICE * BigInt(count), count, to, item };
}

await runShop({ client, books, deliver, readOrder, port: Number(process.env.PORT ?? 8091) });
