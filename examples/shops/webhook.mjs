// A receiver of the shop's webhook: node webhook.mjs FILE. The file has the orders that were shipped, one in each line: an order that is
// told again is not shipped again. A real one keeps them in its database, and ships in the same transaction.

import { appendFile, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

const [file] = process.argv.slice(2);
const text = await readFile(file, { encoding: 'utf8', flag: 'a+' });
const shipped = new Set(text.split('\n').slice(0, -1));

async function ship(id, order) {
  if (shipped.has(id)) return;
  await appendFile(file, `${id}\n`, { flush: true });
  shipped.add(id);
  process.stdout.write(`shipped ${order}\n`);
}

let work = Promise.resolve();
const server = createServer(async (request, response) => {
  let order = '';
  for await (const chunk of request) order += chunk;
  const id = request.headers['idempotency-key'] ?? '';
  if (!/^[\w-]{1,64}$/.test(id)) return response.writeHead(400).end();
  // One after the other: the same order may be told twice at once. After a failed write nothing is answered until the next start.
  work = work.then(() => ship(id, order));
  await work;
  response.end();
});
server.listen(Number(process.env.PORT ?? 9000), '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`);
});
