/** Sends a signed payment with the client that openapi-generator has made for axios. Arguments: base URL, file of the request, hash. */

import { readFileSync } from 'node:fs';
import { parseExact } from './exact-json.js';
import { Configuration, type CreateTransactionsRequest, MempoolApi } from './generated/index.js';

const [basePath = '', file = '', hash = ''] = process.argv.slice(2);

const node = new MempoolApi(new Configuration({ basePath, baseOptions: { transformResponse: parseExact } }));
await node.createTransactions(JSON.parse(readFileSync(file, 'utf8')) as CreateTransactionsRequest);
for (;;) {
  const { data } = await node.getTransactionStatus([hash]);
  if (data[hash]?.status === 'Confirmed') break;
  await new Promise((resolve) => setTimeout(resolve, 50));
}
process.stdout.write(String((await node.getSupply()).data.issued));
