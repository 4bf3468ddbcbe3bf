/** Pays with the types that openapi-typescript has made of openapi/network.json. Arguments: base URL, address, amount. */

import { parseExact, stringifyExact } from './exact-json.js';
import type { components, paths } from './generated/schema.js';

type Answer<O, S extends number> = O extends {
  responses: { [Status in S]: { content: { 'application/json': infer Body } } };
}
  ? Body
  : never;
type Supply = Answer<paths['/v1/supply']['get'], 200>;
type Payment = components['schemas']['PaymentRequest'];
type Accepted = Answer<paths['/v1/payments']['post'], 202>;
type Statuses = Answer<paths['/v1/transactions/status']['get'], 200>;

const [base = '', address = '', amount = '0'] = process.argv.slice(2);

async function call<T>(path: keyof paths, query = '', body?: unknown): Promise<T> {
  const response = await fetch(`${base}${path}${query}`, {
    ...(body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: stringifyExact(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  return parseExact(text) as T;
}

const order: Payment = { kind: 'address', address, amount: BigInt(amount), locktime: null, passphrase: '' };
const { tx_hash: hash, amount: paid } = await call<Accepted>('/v1/payments', '', order);
if (typeof hash !== 'string') throw new Error('no hash');
for (;;) {
  const statuses = await call<Statuses>('/v1/transactions/status', `?hash=${hash}`);
  if (statuses[hash]?.status === 'Confirmed') break;
  await new Promise((resolve) => setTimeout(resolve, 50));
}
const { issued } = await call<Supply>('/v1/supply');
process.stdout.write(JSON.stringify({ hash, paid: String(paid.amount), issued: String(issued) }));
