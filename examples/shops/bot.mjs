// A bot that trades: node bot.mjs NODE_URL ITEM PRICE. It buys these items for up to PRICE tokens each, from the wallet of its node.
// POST /offers OFFER answers with the acceptance; POST /confirmations CONFIRMATION ends the trade. The node keeps each step on disk, so
// that the bot keeps nothing, and a request that comes again gets the same answer.

import { createServer } from 'node:http';
import { createClient, parseAmount } from 'tessera-node/client';
import { readTradeDocument, termsOf } from 'tessera-node/wallet';

const [url, item, price] = process.argv.slice(2);
const client = createClient({ url, apiKey: process.env.API_KEY });
const passphrase = process.env.PASSPHRASE ?? '';
const most = parseAmount(price);

/** Throws for an offer that the bot does not take. */
function judge(offer) {
  const { makerGives, takerGives } = termsOf(offer);
  if (makerGives.item !== item || takerGives.item !== undefined) throw new Error('I buy other items, for tokens');
  if (takerGives.amount > most * makerGives.amount) throw new Error(`I pay up to ${price} for each`);
}

const ROUTES = {
  '/offers': async (text) => {
    const offer = readTradeDocument(JSON.parse(text));
    judge(offer);
    return (await client.acceptTrade({ offer, passphrase })).acceptance;
  },
  '/confirmations': async (text) => {
    const { trade_id, tx_hash } = await client.completeTrade({ document: JSON.parse(text) });
    return { trade_id, tx_hash };
  },
};

const server = createServer(async (request, response) => {
  const answer = (status, body) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const route = request.method === 'POST' ? ROUTES[request.url] : undefined;
  if (route === undefined) return answer(404, { error: 'POST to /offers or /confirmations' });
  try {
    let text = '';
    for await (const chunk of request) {
      text += chunk;
      if (text.length > 100_000) throw new Error('the document is too long');
    }
    answer(200, await route(text));
  } catch (error) {
    answer(422, { error: error.message });
  }
});
server.listen(Number(process.env.PORT ?? 8092), '127.0.0.1', () =>
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`),
);
