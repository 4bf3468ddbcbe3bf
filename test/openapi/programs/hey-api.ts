/** Pays with the client that @hey-api/openapi-ts has made of openapi/network.json. Arguments: base URL, address, amount. */

import { quoteLargeIntegers, stringifyExact } from './exact-json.js';
import { client } from './generated/client.gen.js';
import { createPayment, getSupply, getTransactionStatus } from './generated/sdk.gen.js';

const [baseUrl = '', address = '', amount = '0'] = process.argv.slice(2);

client.setConfig({ baseUrl, bodySerializer: stringifyExact, throwOnError: true });
// The client parses by itself and makes bigints of int64 then: they must not be rounded in between.
client.interceptors.response.use(async (response) => {
  if (!response.headers.get('content-type')?.includes('json')) return response;
  const { status, statusText, headers } = response;
  return new Response(quoteLargeIntegers(await response.text()), { status, statusText, headers });
});

const { data: accepted } = await createPayment({
  throwOnError: true,
  body: { kind: 'address', address, amount: BigInt(amount), locktime: null, passphrase: '' },
});
const hash = accepted.tx_hash;
if (typeof hash !== 'string') throw new Error('no hash');
for (;;) {
  const { data: statuses } = await getTransactionStatus({ throwOnError: true, query: { hash: [hash] } });
  if (statuses[hash]?.status === 'Confirmed') break;
  await new Promise((resolve) => setTimeout(resolve, 50));
}
const { data: supply } = await getSupply({ throwOnError: true });
const issued: bigint = supply.issued;
process.stdout.write(JSON.stringify({ hash, paid: String(accepted.amount.amount), issued: issued.toString() }));
