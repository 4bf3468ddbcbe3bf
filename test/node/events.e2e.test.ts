/** The events of a payment, as every role of a real network tells them, and `tessera watch` over them. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readEvents } from '../../src/client/events.js';
import { parseExactJson } from '../../src/lib/json.js';
import { until } from '../support/processes.js';
import { payAndConfirm, type RunningDevNetwork, startDevNetwork } from '../support/started-dev-network.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

let network: RunningDevNetwork;
const children: ChildProcess[] = [];

beforeAll(async () => {
  network = await startDevNetwork();
});

afterAll(async () => {
  for (const child of children) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  await network.end();
});

type Told = readonly [name: string, data: Record<string, unknown>];

/** Collects the events of a node from now on; `stop` gives them. */
async function collect(url: string) {
  const stop = new AbortController();
  const events: Told[] = [];
  const news = readEvents({ url: `${url}/v1/events`, signal: stop.signal });
  await news.next();
  const reading = (async () => {
    for await (const { event } of news) {
      if (event !== undefined) events.push([event.name, parseExactJson(event.data) as Record<string, unknown>]);
    }
  })().catch(() => undefined);
  return {
    events,
    async stop() {
      stop.abort();
      await reading;
    },
  };
}

async function minerAddress(): Promise<string> {
  const answer = await fetch(`${network.urls.miner}/v1/wallet/addresses`, { method: 'POST' });
  return ((await answer.json()) as { address: string }).address;
}

describe('the events of a payment', () => {
  it('are told by every role, each in the order in which things happen', async () => {
    const mempool = await collect(network.urls.mempool);
    const storage = await collect(network.urls.storage);
    const user = await collect(network.urls.user);
    const hash = await payAndConfirm(network, await minerAddress(), 12_345);
    const readers = [mempool, storage, user];
    await until('the events everywhere', async () =>
      mempool.events.length >= 3 && storage.events.length >= 1 && user.events.length >= 3 ? true : undefined,
    );
    for (const reader of readers) await reader.stop();

    const block = { block_num: 1, hash: expect.stringMatching(/^b[0-9a-f]{64}$/), transactions: 1 };
    expect(mempool.events).toEqual([
      ['transaction', { hash, status: 'admitted', block_num: null, reason: null }],
      ['block', block],
      ['transaction', { hash, status: 'confirmed', block_num: 1, reason: null }],
    ]);
    expect(storage.events).toEqual([['block', block]]);
    // Own change can be spent at once (decision V29), so that the block changes none of the sums.
    expect(user.events.map(([name]) => name)).toEqual(['balance', 'block', 'payment']);
    expect(user.events[2]).toEqual(['payment', { hash, kind: 'payment', status: 'confirmed', reason: null }]);
    const { running, available, locked } = user.events[0]?.[1] ?? {};
    expect(BigInt(running as number) - BigInt(locked as number)).toBe(BigInt(available as number));
  });

  it('of one that a rule refuses say which rule', async () => {
    const mempool = await collect(network.urls.mempool);
    const transaction = {
      inputs: [
        {
          previous_out: { t_hash: `g${'0'.repeat(31)}`, n: 0 },
          script_signature: {
            Pay2PkH: {
              signable_data: 'aa'.repeat(32),
              signature: 'bb'.repeat(64),
              public_key: 'cc'.repeat(32),
              address_version: null,
            },
          },
        },
      ],
      outputs: [{ value: { Token: 1 }, locktime: 0, script_public_key: await minerAddress() }],
      version: 6,
      fees: null,
      druid_info: null,
    };
    const answer = await fetch(`${network.urls.mempool}/v1/transactions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ transactions: [transaction] }),
    });
    expect(answer.status).toBe(500);
    await until('the event', async () => (mempool.events.length > 0 ? true : undefined));
    await mempool.stop();
    expect(mempool.events).toEqual([
      ['transaction', { hash: expect.any(String), status: 'rejected', block_num: null, reason: expect.any(String) }],
    ]);
    expect(mempool.events[0]?.[1].reason).not.toBe('');
  });
});

describe('tessera watch', () => {
  function watch(...flags: string[]) {
    const child = spawn(process.execPath, [MAIN, 'watch', ...flags], { stdio: ['ignore', 'pipe', 'pipe'] });
    children.push(child);
    const lines: string[] = [];
    const errors: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
    createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
    return { child, lines, errors };
  }

  it('prints events as they come, and ends at SIGINT with status 0', async () => {
    const { child, lines } = watch('--url', network.urls.mempool, '--topics', 'transactions', '--json');
    // It is connected once it tells of a payment.
    await until('a line', async () => {
      await payAndConfirm(network, await minerAddress(), 1_000);
      return lines.length > 0 ? true : undefined;
    });
    expect(JSON.parse(lines[0] ?? '')).toEqual({
      id: expect.stringMatching(/^\d+-\d+$/),
      event: 'transaction',
      data: expect.objectContaining({ hash: expect.any(String), status: expect.any(String) }),
    });
    child.kill('SIGINT');
    expect((await once(child, 'exit'))[0]).toBe(0);
  });

  it('ends with status 1 and the words of the node when it refuses', async () => {
    const { child, errors } = watch('--url', network.urls.storage, '--topics', 'nonsense');
    expect((await once(child, 'exit'))[0]).toBe(1);
    await until('the words', async () => (errors.length > 0 ? true : undefined));
    expect(errors.join('\n')).toContain('"nonsense" is not a topic of this node');
  });

  it('connects again and reads on when the node comes back', async () => {
    const { createServer } = await import('node:http');
    const asked: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      asked.push(request.headers['last-event-id'] as string | undefined);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const num = asked.length;
      response.end(`id: 7-${num}\nevent: block\ndata: {"block_num":${num}}\n\n`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const { child, lines } = watch('--url', `http://127.0.0.1:${port}`, '--json');
    await until('two connections', async () => (lines.length >= 2 ? true : undefined));
    child.kill('SIGINT');
    await once(child, 'exit');
    server.closeAllConnections();
    server.close();
    expect(asked.slice(0, 2)).toEqual([undefined, '7-1']);
    expect(lines.slice(0, 2).map((line) => JSON.parse(line).data.block_num)).toEqual([1, 2]);
  });
});
