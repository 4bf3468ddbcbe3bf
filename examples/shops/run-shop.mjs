// What both shops do: take orders over HTTP, watch the wallet, and deliver each order that is paid, once.

import { createServer } from 'node:http';

/** `deliver(order)` may be called again for the same order after a crash: it must do its thing once for each `order.id`. */
export async function runShop({ client, books, deliver, readOrder, port }) {
  let work = Promise.resolve();
  /** Reads the history, then delivers; one at a time. */
  const catchUp = () => {
    work = work
      .then(async () => {
        await books.read(client);
        for (const order of books.orders) {
          if (order.isDelivered || BigInt(order.paid) < BigInt(order.price)) continue;
          await deliver(order);
          await books.change(({ orders }) => {
            orders[order.id].isDelivered = true;
          });
        }
      })
      .catch((error) => {
        process.stderr.write(`tried again in a second: ${error.message}\n`);
        setTimeout(catchUp, 1_000);
      });
    return work;
  };

  const server = createServer(async (request, response) => {
    const answer = (status, body) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    try {
      const [, group, id = ''] = request.url.split('/');
      if (group !== 'orders' || !/^[\w-]{1,64}$/.test(id)) return answer(404, { error: 'no such page' });
      if (request.method === 'GET')
        return answer(books.get(id) ? 200 : 404, books.get(id) ?? { error: 'no such order' });
      if (request.method !== 'PUT') return answer(405, { error: 'GET or PUT' });
      const { price, ...more } = readOrder(await bodyOf(request));
      answer(200, await books.order(client, id, price, more));
    } catch (error) {
      answer(400, { error: error.message });
    }
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`);

  // Events only say that there is something to read: what was missed is in the history.
  for await (const event of client.events({ topics: ['wallet'], onOpen: catchUp })) {
    if (event.name === 'payment' || event.name === 'balance' || event.name === 'reset') void catchUp();
  }
}

async function bodyOf(request) {
  let text = '';
  for await (const chunk of request) {
    text += chunk;
    if (text.length > 10_000) throw new Error('the order is too long');
  }
  return JSON.parse(text);
}
