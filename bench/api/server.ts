/**
 * One server of the API benchmark, in a process of its own: `bare` sends the same bytes from plain Fastify routes, `node` is
 * the app over services that answer at once. Prints its port; answers the messages `start` and `stop` with the CPU time
 * (us) between them.
 */

import { openSync, writeSync } from 'node:fs';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { createApi } from '../../src/api/app.js';
import type { ApiModules } from '../../src/api/options.js';
import { apiModules, apiOptions } from '../../test/api/support/app.js';
import { fakeMempool, fakeStorage } from '../../test/api/support/fakes.js';
import { blockBytes, DEBUG_BYTES, hotBlock, SUPPLY_BYTES } from './data.js';

const JSON_TYPE = 'application/json; charset=utf-8';

async function bare(): Promise<FastifyInstance> {
  const app = Fastify({ logger: false });
  const sends = (bytes: Buffer) => (_request: FastifyRequest, reply: FastifyReply) =>
    reply.header('content-type', JSON_TYPE).send(bytes);
  app.get('/v1/supply', sends(SUPPLY_BYTES));
  app.get('/v1/debug', sends(DEBUG_BYTES));
  app.get('/v1/blocks/:num', sends(blockBytes()));
  app.post('/v1/transactions', (_request, reply) =>
    reply.code(201).header('content-type', JSON_TYPE).send(SUPPLY_BYTES),
  );
  return app;
}

async function node(role: 'mempool' | 'storage'): Promise<FastifyInstance> {
  const usual = apiModules(role);
  const nowhere = openSync('/dev/null', 'w');
  const modules: ApiModules = {
    ...usual,
    requestLines: { write: (text) => writeSync(nowhere, text) },
    ...(role === 'mempool' ? { mempool: fakeMempool() } : { storage: { ...fakeStorage(), ...hotBlock() } }),
  };
  const options = apiOptions(role);
  return createApi(options, modules);
}

const kind = process.argv[2] ?? 'bare';
const app = await (kind === 'bare' ? bare() : node(kind === 'mempool' ? 'mempool' : 'storage'));
await app.listen({ host: '127.0.0.1', port: 0 });
const address = app.server.address();
process.send?.({ port: typeof address === 'object' && address !== null ? address.port : 0 });

let from = process.cpuUsage();
process.on('message', (message) => {
  if (message === 'start') from = process.cpuUsage();
  if (message === 'stop') {
    const { user, system } = process.cpuUsage(from);
    process.send?.({ cpu: user + system });
  }
  if (message === 'exit') process.exit(0);
});
