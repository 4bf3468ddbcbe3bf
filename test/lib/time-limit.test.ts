/** Time limits of requests hold whatever the garbage collector does: Node 20 forgets `AbortSignal.any`. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { NodeClient } from '../../src/client/client.js';
import { TimeLimit } from '../../src/lib/time-limit.js';

let collectGarbage: () => void;

beforeAll(() => {
  setFlagsFromString('--expose-gc');
  collectGarbage = runInNewContext('gc') as () => void;
});

/** A server that begins an answer when `hasHead`, and ends none. */
async function silentServer({ hasHead }: { readonly hasHead: boolean }): Promise<string> {
  const server = createServer((_request, response) => {
    if (!hasHead) return;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function collectFor(turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
  }
}

describe('a time limit', () => {
  it.each([
    ['before the answer', false],
    ['in the middle of the answer', true],
  ])('ends a request to a node that says nothing %s', async (_when, hasHead) => {
    const client = new NodeClient({ url: await silentServer({ hasHead }), timeoutMs: 500 });
    const asked = client.api.getSupply().catch((error: unknown) => error);
    await collectFor(3);
    expect(await asked).toMatchObject({ code: 'node_unreachable' });
  });

  it('follows another signal, and begins anew when told to', async () => {
    const outer = new AbortController();
    const limit = new TimeLimit(60_000, outer.signal, () => new Error('late'));
    await collectFor(3);
    limit.restart();
    expect(limit.signal.aborted).toBe(false);
    outer.abort(new Error('stop'));
    expect(limit.signal.reason).toEqual(new Error('stop'));
    limit.end();
  });
});
