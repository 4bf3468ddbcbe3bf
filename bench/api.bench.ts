/**
 * The cheapest routes beside bare Fastify routes that send the same bytes, and posting a transaction to a mempool that does
 * nothing beside a bare route that only parses JSON. Short slices of the servers alternate and the least CPU time of a slice
 * counts, so that other work on the machine falls on none. The aim for reads is 80 %. With `--against DIR` the API of
 * another checkout takes part.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { TRANSACTION_BODY } from './api-data.js';
import { load, requestBytes } from './load.js';
import { printRow, printSection } from './report.js';

/** The checkout that this file is in. */
const HERE = new URL('../', import.meta.url);
const CONNECTIONS = 32;
/** Requests of a slice: about a tenth of a second. */
const SLICE_REQUESTS = 3_000;
const SLICES = 40;

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

/** A server and what was measured of it. */
interface Contestant {
  readonly name: string;
  readonly child: ChildProcess;
  readonly url: string;
  readonly slices: Slice[];
}

interface Slice {
  readonly perSecond: number;
  /** us of the server for each request. */
  readonly cpu: number;
}

async function start(name: string, kind: string, tree: URL): Promise<Contestant> {
  const child = fork(fileURLToPath(new URL('bench/api-server.ts', tree)), [kind], {
    execArgv: ['--import', 'tsx'],
    cwd: fileURLToPath(tree),
  });
  const [{ url }] = await once(child, 'message');
  return { name, child, url, slices: [] };
}

async function slice({ child, url }: Contestant, { path, body }: Case): Promise<Slice> {
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

async function measure(one: Case, against: URL | undefined): Promise<readonly Contestant[]> {
  const contestants = [
    await start(`${one.name}, bare`, 'bare', HERE),
    await start(one.name, one.role, HERE),
    ...(against === undefined ? [] : [await start(`${one.name}, the other checkout`, one.role, against)]),
  ];
  try {
    // The first slices warm the servers up. The order changes from round to round.
    for (let round = 0; round <= SLICES; round++) {
      for (let i = 0; i < contestants.length; i++) {
        const contestant = contestants[(round + i) % contestants.length] as Contestant;
        const measured = await slice(contestant, one);
        if (round > 0) contestant.slices.push(measured);
      }
    }
  } finally {
    for (const { child } of contestants) child.send('exit');
  }
  return contestants;
}

/** `against`: the folder of another checkout, built and with its packages, whose API is measured in the same rounds. */
export async function apiBench(against?: string): Promise<void> {
  printSection('HTTP API beside bare routes (CPU of the server a request; aim for reads: 80 %)');
  const other = against === undefined ? undefined : pathToFileURL(`${resolve(against)}/`);
  for (const one of CASES) {
    const contestants = await measure(one, other);
    const [bare] = contestants.map(({ slices }) => best(slices));
    for (const { name, slices } of contestants) {
      const { perSecond, cpu } = best(slices);
      const share = bare === undefined ? '' : `: ${((100 * bare.cpu) / cpu).toFixed(0)} % of bare`;
      printRow({ name, value: perSecond, unit: 'requests/s', note: `${cpu.toFixed(1)} us CPU${share}` });
    }
  }
}
