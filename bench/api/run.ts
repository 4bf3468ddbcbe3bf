/**
 * Requests a second of the cheapest routes beside a bare Fastify route that sends the same bytes, and of posting a
 * transaction to a mempool that does nothing beside a bare route that only parses. Slices of both servers alternate, and
 * the CPU time of the server decides, so that other work on the machine falls on both. Run with `npx tsx bench/api/run.ts`.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import autocannon from 'autocannon';
import { TRANSACTION_BODY } from './data.js';

const CONNECTIONS = 32;
const SLICE_SECONDS = Number(process.env.SLICE_SECONDS ?? 1);
const SLICES = Number(process.env.SLICES ?? 7);

interface Case {
  readonly name: string;
  readonly role: 'mempool' | 'storage';
  readonly path: string;
  readonly body?: string;
}

const CASES: readonly Case[] = [
  { name: 'GET /v1/supply', role: 'mempool', path: '/v1/supply' },
  { name: 'GET /v1/debug', role: 'mempool', path: '/v1/debug' },
  { name: 'GET /v1/blocks/7', role: 'storage', path: '/v1/blocks/7' },
  { name: 'POST /v1/transactions', role: 'mempool', path: '/v1/transactions', body: TRANSACTION_BODY },
];

interface Server {
  readonly child: ChildProcess;
  readonly port: number;
}

interface Slice {
  readonly perSecond: number;
  readonly cpuMicroseconds: number;
}

/** What one route takes. */
export interface ApiFigure {
  readonly name: string;
  readonly bare: Slice;
  readonly node: Slice;
  /** CPU time of the bare route divided by that of ours: 0.8 is the aim for reads. */
  readonly ratio: number;
}

async function startServer(kind: string): Promise<Server> {
  const file = fileURLToPath(new URL('./server.ts', import.meta.url));
  const child = fork(file, [kind], { execArgv: ['--import', 'tsx'] });
  const [message] = await once(child, 'message');
  return { child, port: message.port };
}

async function slice({ child, port }: Server, { path, body }: Case, seconds = SLICE_SECONDS): Promise<Slice> {
  child.send('start');
  const result = await autocannon({
    url: `http://127.0.0.1:${port}${path}`,
    connections: CONNECTIONS,
    duration: seconds,
    ...(body === undefined ? {} : { method: 'POST', body, headers: { 'content-type': 'application/json' } }),
  });
  child.send('stop');
  const [message] = await once(child, 'message');
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${path}: ${result.non2xx} refused, ${result.errors} failed`);
  return { perSecond: result.requests.average, cpuMicroseconds: message.cpu / result.requests.total };
}

function best(slices: readonly Slice[]): Slice {
  const [first] = [...slices].sort((a, b) => a.cpuMicroseconds - b.cpuMicroseconds);
  if (first === undefined) throw new Error('no slices');
  return { perSecond: Math.max(...slices.map(({ perSecond }) => perSecond)), cpuMicroseconds: first.cpuMicroseconds };
}

async function measure(one: Case): Promise<ApiFigure> {
  const bare = await startServer('bare');
  const node = await startServer(one.role);
  const slices: { bare: Slice[]; node: Slice[] } = { bare: [], node: [] };
  try {
    await slice(bare, one);
    await slice(node, one);
    for (let i = 0; i < SLICES; i++) {
      slices.bare.push(await slice(bare, one));
      slices.node.push(await slice(node, one));
    }
  } finally {
    bare.child.send('exit');
    node.child.send('exit');
  }
  const [a, b] = [best(slices.bare), best(slices.node)];
  return { name: one.name, bare: a, node: b, ratio: a.cpuMicroseconds / b.cpuMicroseconds };
}

/** All figures, one route after the other. */
export async function benchApi(): Promise<ApiFigure[]> {
  const figures: ApiFigure[] = [];
  for (const one of CASES) figures.push(await measure(one));
  return figures;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const { name, bare, node, ratio } of await benchApi()) {
    const show = ({ perSecond, cpuMicroseconds }: Slice) =>
      `${Math.round(perSecond)}/s (${cpuMicroseconds.toFixed(1)} us CPU)`;
    console.log(`${name.padEnd(24)} bare ${show(bare)}  node ${show(node)}  ratio ${ratio.toFixed(2)}`);
  }
}
