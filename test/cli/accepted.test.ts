/**
 * Commands whose request was accepted, or is out, when something else goes wrong: they do not say that it has failed
 * (docs/cli.md#exit-statuses).
 */

import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lookUntil } from '../../src/cli/look-again.js';
import { runCli } from '../../src/cli/run.js';
import { NoAnswer } from '../../src/client/transport.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { TesseraError } from '../../src/lib/errors.js';
import { createContext, type TestContext } from '../support/cli-context.js';

const HASH = `g${'a'.repeat(31)}`;
const ADDRESS = 'b'.repeat(64);

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function server(answer: Answer): Promise<string> {
  const listening = createServer((request, response) => {
    request.resume();
    answer(request, response);
  });
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    listening.closeAllConnections();
    listening.close();
  });
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
}

function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  const type = status < 400 ? 'application/json' : 'application/problem+json';
  response.writeHead(status, { 'content-type': type, ...headers }).end(JSON.stringify(body));
}

const problem = (status: number, code: string) => (response: ServerResponse) =>
  json(response, status, { code, detail: 'not now', status }, status === 429 ? { 'retry-after': '0' } : {});

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'tessera-accepted-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  await writeFile(join(path, 'secret'), 'hunter2');
  return path;
}

async function pay(url: string, context: TestContext, ...flags: string[]): Promise<number> {
  const secret = join(await folder(), 'secret');
  const access = ['--url', url, '--api-key-file', secret, '--passphrase-file', secret];
  return runCli(['wallet', 'pay', ADDRESS, '10', '--raw', '--yes', ...access, ...flags], context);
}

const PAID = { tx_hash: HASH, to_address: ADDRESS, amount: { kind: 'token', amount: 10 } };

const NOTHING = {
  chain_hash: null,
  reason: null,
  peer: null,
  fee: null,
  block_num: null,
  block_time: null,
  label: null,
};
const EMPTY = { amount: 0, items: {}, net: 0, from: [], outputs: [], output_count: 0 };
const MOVEMENT = { ...NOTHING, ...EMPTY, number: 0, direction: 'out', seen_at: 1 };

/** A wallet node that has accepted a payment, and answers the questions after it in these ways, then that it is confirmed. */
function accepting(...later: readonly ((response: ServerResponse) => void)[]): Promise<string> {
  let asked = 0;
  return server((request, response) => {
    if (request.method === 'POST') return json(response, 202, PAID);
    const movement = { ...MOVEMENT, tx_hash: HASH, kind: 'payment', state: 'confirmed' };
    const next = later[asked++];
    if (next === undefined) json(response, 200, { movements: [movement], next: null });
    else next(response);
  });
}

describe('a payment that was accepted, with --wait', () => {
  it('is waited for over whatever passes', async () => {
    const url = await accepting(
      problem(429, 'rate_limited'),
      problem(503, 'shutting_down'),
      problem(503, 'mempool_unreachable'),
      (response) => response.writeHead(502).end('<h1>Bad Gateway</h1>'),
      (response) => response.writeHead(504).end('<h1>Gateway Timeout</h1>'),
      (response) => response.destroy(),
    );
    const context = createContext();
    expect([await pay(url, context, '--wait'), context.out()]).toEqual([0, `${HASH} confirmed\n`]);
  });

  it('has not failed when the node does not say what became of it: status 3, and its hash', async () => {
    const plain = createContext();
    expect(await pay(await accepting(problem(403, 'invalid_api_key')), plain, '--wait')).toBe(3);
    expect(plain.out()).toBe(`${HASH} unknown\n`);
    expect(plain.err()).toContain(`${HASH} was accepted; whether a block has it is not known`);
    const forPrograms = createContext();
    expect(await pay(await accepting(problem(403, 'invalid_api_key')), forPrograms, '--wait', '--json')).toBe(3);
    expect(JSON.parse(forPrograms.out())).toMatchObject({ tx_hash: HASH, state: 'unknown' });
  });
});

describe('what is looked at again', () => {
  /** A clock that only pauses move. */
  function looking() {
    let now = 0;
    const pauses: number[] = [];
    const pause = async (ms: number) => {
      pauses.push(ms);
      now += ms;
    };
    return { clock: { monotonic: () => now }, pause, pauses };
  }

  it('is left alone as long as the node asks for', async () => {
    const limited = new TesseraError('rate_limited', 'slowly', { details: { status: 429, retryAfter: 7 } });
    const answers: (TesseraError | undefined | string)[] = [limited, undefined, 'done'];
    const modules = looking();
    const context = createContext();
    const look = async () => {
      const answer = answers.shift();
      if (answer instanceof TesseraError) throw answer;
      return answer;
    };
    expect(await lookUntil(look, context, modules)).toBe('done');
    expect(context.err()).toBe('no answer (slowly): looking again, for up to 600 s\n');
    expect(modules.pauses).toEqual([7_000, 250]);
  });

  it('is given up after ten minutes without an answer, not of waiting', async () => {
    const modules = looking();
    let asked = 0;
    const look = async () => {
      asked += 1;
      if (asked > 5_000) throw new NoAnswer('http://a.node', new Error('it is gone'));
      return undefined;
    };
    await expect(lookUntil(look, createContext(), modules)).rejects.toThrow('it is gone');
    expect(modules.clock.monotonic()).toBe(5_000 * 250 + 600_000);
  });
});

describe('a request that is out when a signal comes', () => {
  /** Never answers; resolves with the first request. */
  async function silent() {
    const asked = createDeferred<IncomingMessage>();
    return { url: await server((request) => asked.resolve(request)), asked: asked.promise };
  }

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'may have been done: %s ends wallet pay with status 3 and its key',
    async (signal) => {
      const { url, asked } = await silent();
      const context = createContext();
      const running = pay(url, context);
      const key = (await asked).headers['idempotency-key'];
      context.raise(signal);
      expect(await running).toBe(3);
      expect(context.err()).toContain('the result is not known');
      expect(context.err()).toContain(`--idempotency-key ${key}`);
      expect(context.listeners()).toBe(0);
    },
  );

  it.each([
    ['trade', 'offer', '--give', '1', '--want', '2', '--raw', '--yes'],
    ['call', 'createItem', 'genesis_hash_spec=Default', 'item_amount=3', '--idempotency-key', 'a'],
    ['call', 'requestDonation', 'address=127.0.0.1:1'],
  ])('may have been done: %s %s', async (...argv) => {
    const { url, asked } = await silent();
    const secret = join(await folder(), 'secret');
    const passphrase = argv[0] === 'trade' ? ['--passphrase-file', secret] : [];
    const context = createContext();
    const running = runCli([...argv, '--url', url, '--api-key-file', secret, ...passphrase, '--json'], context);
    const key = (await Promise.race([asked, running.then(() => undefined)]))?.headers['idempotency-key'];
    context.raise('SIGINT');
    expect([await running, context.out()]).toEqual([3, '']);
    expect(JSON.parse(context.err())).toMatchObject({ code: 'aborted', detail: expect.stringContaining(String(key)) });
  });

  it('may have been sent: tx send', async () => {
    const { url, asked } = await silent();
    const run = async (argv: readonly string[], input: string) => {
      const stdin = new PassThrough();
      stdin.end(input);
      const context: TestContext = Object.assign(createContext(), { stdin });
      return { context, status: runCli(['tx', ...argv], context) };
    };
    const dev = 'a5684800b1fb871d78120745ca82847810763fdb6ffaed3f8a72a4ce5d4bb14d';
    const unspent = { out_point: { t_hash: '000000', n: 0 }, value: { Token: 5 } };
    const listing = JSON.stringify({ balance: { address_list: { [dev]: [unspent] } } });
    const built = await run(['build', '--utxos', '-', '--raw', '--to', 'dev:2=5'], listing);
    expect(await built.status).toBe(0);
    const signed = await run(['sign', '--dev-account', '1'], built.context.out());
    expect(await signed.status).toBe(0);
    const sent = await run(['send', '--url', url], signed.context.out());
    await asked;
    sent.context.raise('SIGINT');
    expect(await sent.status).toBe(3);
    expect(sent.context.err()).toContain('send it again: it happens only once');
  });
});

describe('a file for the other party that cannot be made', () => {
  it.each([
    ['trade', 'offer', '--give', '1', '--want', '2', '--raw', '--yes'],
    ['trade', 'accept', 'ab'.repeat(32), '--yes'],
    ['trade', 'complete', 'acceptance.json'],
  ])('ends %s %s before anything is asked of a node', async (...argv) => {
    let asked = 0;
    const url = await server((_request, response) => {
      asked += 1;
      json(response, 200, {});
    });
    const secret = join(await folder(), 'secret');
    const access = ['--url', url, '--api-key-file', secret, '--passphrase-file', secret].slice(
      0,
      argv[1] === 'complete' ? 4 : 6,
    );
    const context = createContext();
    const status = await runCli([...argv, ...access, '--out', join(secret, 'not a folder', 'x.json')], context);
    expect([status, asked]).toEqual([1, 0]);
    expect(context.err()).toContain('cannot be written');
  });

  it('is not left empty when the node refuses', async () => {
    const url = await server((_request, response) => problem(403, 'invalid_api_key')(response));
    const secret = join(await folder(), 'secret');
    const out = join(await folder(), 'offer.json');
    const access = ['--url', url, '--api-key-file', secret, '--passphrase-file', secret, '--out', out];
    const offer = ['trade', 'offer', '--give', '1', '--want', '2', '--raw', '--yes', ...access];
    expect(await runCli(offer, createContext())).toBe(1);
    await expect(stat(out)).rejects.toThrow('ENOENT');
  });
});

it('does not take what something else answers for a payment', async () => {
  const url = await server((_request, response) => json(response, 200, { hello: 'world' }));
  const context = createContext();
  expect([await pay(url, context), context.out()]).toEqual([3, '']);
  expect(context.err()).toContain('does not answer as a node does');
});
