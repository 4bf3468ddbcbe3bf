// A shop that takes payments: node payment-shop.mjs NODE_URL BOOKS_FILE WEBHOOK_URL
// PUT /orders/ID {"price": "1.5"} answers with the address to pay to. When it is paid, the webhook is called with the order.

import { createClient, parseAmount } from 'tessera-node/client';
import { Books } from './books.mjs';
import { runShop } from './run-shop.mjs';

const [url, file, webhook] = process.argv.slice(2);
const client = createClient({ url, apiKey: process.env.API_KEY });

/** The receiver keeps the keys that it has seen, and answers the same to a call that comes again. */
async function deliver({ id, price, paid }) {
  const response = await fetch(webhook, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': id },
    body: JSON.stringify({ id, price, paid, surplus: String(BigInt(paid) - BigInt(price)) }),
  }).catch((cause) => {
    throw new Error(`${webhook} cannot be reached`, { cause });
  });
  if (!response.ok) throw new Error(`the webhook answers ${response.status}`);
}

const readOrder = ({ price }) => ({ price: parseAmount(price) });
const port = Number(process.env.PORT ?? 8090);
await runShop({ client, books: await Books.open(file), deliver, readOrder, port });
