/**
 * The cheapest routes beside bare Fastify routes that send the same bytes, and posting a transaction to a mempool that does
 * nothing beside a bare route that only parses JSON: processor time of the server for each request, in rounds that take turns.
 * With `against` the API of another checkout, built and with its packages, takes part.
 */

import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { TRANSACTION_BODY } from './api-data.js';
import { Contestant, HERE } from './contest.js';
import { repeat, requestBytes } from './load.js';
import { printMeasured, printSection } from './report.js';
import { interleave, measured, ratios } from './rounds.js';

const CONNECTIONS = 32;
/** Rounds, and requests of one: about a tenth of a second. */
const LONG = { rounds: 40, requests: 3_000 };
const SHORT = { rounds: 4, requests: 1_000 };

interface Case {
  readonly name: string;
  readonly role: 'mempool' | 'storage';
  readonly path: string;
  readonly body?: string;
  readonly inShort?: true;
}

const CASES: readonly Case[] = [
  { name: 'GET /v1/supply', role: 'mempool', path: '/v1/supply', inShort: true },
  { name: 'GET /v1/debug', role: 'mempool', path: '/v1/debug' },
  { name: 'GET /v1/blocks/7 (hot, 4 KB)', role: 'storage', path: '/v1/blocks/7' },
  {
    name: 'POST /v1/transactions (one, nothing behind)',
    role: 'mempool',
    path: '/v1/transactions',
    body: TRANSACTION_BODY,
    inShort: true,
  },
];

export interface ApiBenchOptions {
  readonly short: boolean;
  readonly against?: string | undefined;
}

export async function apiBench({ short, against }: ApiBenchOptions): Promise<void> {
  printSection('HTTP API: processor time of the server for a request, beside bare Fastify routes');
  const other = against === undefined ? undefined : pathToFileURL(`${resolve(against)}/`);
  for (const one of CASES) if (one.inShort || !short) await measure(one, short ? SHORT : LONG, other);
}

async function measure(one: Case, { rounds, requests }: typeof LONG, other: URL | undefined): Promise<void> {
  const starts: readonly (readonly [name: string, kind: string, checkout: URL])[] = [
    ['bare', 'bare', HERE],
    ['here', one.role, HERE],
    ...(other === undefined ? [] : [['the other checkout', one.role, other] as const]),
  ];
  const contestants = await Promise.all(
    starts.map(([name, kind, checkout]) => Contestant.start(name, 'api-server.ts', [kind], checkout)),
  );
  const status = one.body === undefined ? 200 : 201;
  const request = ({ url }: Contestant): Buffer =>
    requestBytes(`${url}${one.path}`, one.body === undefined ? 'GET' : 'POST', one.body);
  const slices = await interleave(contestants, rounds, (contestant) =>
    contestant.slice(repeat(request(contestant), requests), CONNECTIONS, status),
  ).finally(() => Promise.all(contestants.map((contestant) => contestant.end())));
  const [bare = [], ...others] = slices.map((all) => all.map(({ cpu }) => cpu));
  printMeasured(`${one.name}, bare`, measured(bare), 'us');
  for (const [i, cpu] of others.entries()) {
    const name = i === 0 ? one.name : `${one.name}, ${starts[i + 1]?.[0]}`;
    const rate = measured(slices[i + 1]?.map(({ rate }) => rate) ?? []).median;
    const note = `${Math.round(rate).toLocaleString('en-US')} a second`;
    printMeasured(name, measured(cpu), 'us', { against: ['bare', ratios(cpu, bare)], note });
  }
}
