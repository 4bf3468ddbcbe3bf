/**
 * The cheapest routes beside bare Fastify routes that send the same bytes, and posting a transaction to a mempool that does
 * nothing beside a bare route that only parses JSON. Slices of both servers alternate and the least CPU time of a slice
 * counts, so that other work on the machine falls on neither. The aim for reads is 80 %.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { TRANSACTION_BODY } from './api-data.js';
import { load, requestBytes } from './load.js';
import { printRow, printSection } from './report.js';

const CONNECTIONS = 32;
/** Requests of a slice: about half a second. */
const SLICE_REQUESTS = 15_000;
const SLICES = 8;

interface Case {
  readonly name: string;
  readonly role: 'mempool' | 'storage';
  readonly path: string;
  readonly body?: string;
}

const CASES: readonly Case[] = [
  { name: 'GET /v1/supply', role: 'mempool', path: '/v1/supply' },
  { name: 'GET /v1/debug', role: 'mempool', path: '/v1/debug' },
  { name: 'GET /v1/blocks/7 (hot, 4 KB)', role: 'storage', path: '/v1/blocks/7' },
  {
    name: 'POST /v1/transactions (one, nothing behind)',
    role: 'mempool',
    path: '/v1/transactions',
    body: TRANSACTION_BODY,
  },
];

interface Server {
  readonly child: ChildProcess;
  readonly url: string;
}

interface Slice {
  readonly perSecond: number;
  /** us of the server for each request. */
  readonly cpu: number;
}

async function start(kind: string): Promise<Server> {
  const child = fork(fileURLToPath(new URL('./api-server.ts', import.meta.url)), [kind], {
    execArgv: ['--import', 'tsx'],
  });
  const [{ url }] = await once(child, 'message');
  return { child, url };
}

async function slice({ child, url }: Server, { path, body }: Case): Promise<Slice> {
  const request = requestBytes(`${url}${path}`, body === undefined ? 'GET' : 'POST', body);
  let left = SLICE_REQUESTS;
  child.send('start');
  const result = await load({ url, connections: CONNECTIONS, next: () => (left-- > 0 ? request : undefined) });
  child.send('stop');
  const [{ cpu }] = await once(child, 'message');
  const statuses = [...result.statuses.keys()];
  if (statuses.some((status) => status >= 300)) throw new Error(`${path} answered ${statuses.join(', ')}`);
  return { perSecond: result.rate, cpu: cpu / result.answers };
}

function best(slices: readonly Slice[]): Slice {
  return {
    perSecond: Math.max(...slices.map(({ perSecond }) => perSecond)),
    cpu: Math.min(...slices.map(({ cpu }) => cpu)),
  };
}

async function measure(one: Case): Promise<readonly [bare: Slice, node: Slice]> {
  const servers = [await start('bare'), await start(one.role)] as const;
  const slices: readonly [Slice[], Slice[]] = [[], []];
  try {
    // The first slices warm the servers up.
    for (let i = 0; i <= SLICES; i++) {
      for (const [place, server] of servers.entries()) {
        const measured = await slice(server, one);
        if (i > 0) slices[place === 0 ? 0 : 1].push(measured);
      }
    }
  } finally {
    for (const { child } of servers) child.send('exit');
  }
  return [best(slices[0]), best(slices[1])];
}

export async function apiBench(): Promise<void> {
  printSection('HTTP API beside bare routes (CPU of the server a request; aim for reads: 80 %)');
  for (const one of CASES) {
    const [bare, node] = await measure(one);
    printRow({
      name: `${one.name}, bare`,
      value: bare.perSecond,
      unit: 'requests/s',
      note: `${bare.cpu.toFixed(1)} us CPU`,
    });
    printRow({
      name: one.name,
      value: node.perSecond,
      unit: 'requests/s',
      note: `${node.cpu.toFixed(1)} us CPU: ${((100 * bare.cpu) / node.cpu).toFixed(0)} % of bare`,
    });
  }
}
