/** What the tests' own `fetch` repeats, and what it does not. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { OverloadGuard } from '../../src/api/http/access.js';
import { errorMessage } from '../../src/lib/errors.js';
import { ManualClock } from './manual-clock.js';

/** What a node says that is behind with its work. */
function refusal(): string {
  const clock = new ManualClock();
  let lag = 0;
  const guard = new OverloadGuard({
    now: () => clock.now(),
    monotonic: () => clock.monotonic() + lag,
    after: (ms, run) => clock.after(ms, run),
  });
  for (let turn = 0; turn < 3; turn++) {
    lag += 1_000;
    // While nobody asks, the guard measures once a second.
    clock.advance(1_000);
  }
  try {
    guard.check();
  } catch (error) {
    return errorMessage(error);
  } finally {
    guard.stop();
  }
  throw new Error('the guard lets all in');
}

/** Asks a server that gives these answers in turn; status and body of the one that comes back, and how many were given. */
async function ask(...answers: readonly (readonly [status: number, body: string])[]): Promise<unknown[]> {
  let given = 0;
  const server = createServer((_request, response) => {
    const [status = 500, body = ''] = answers[given++] ?? [];
    response.writeHead(status).end(body);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
    method: 'POST',
    body: '1',
  });
  return [answer.status, await answer.text(), given];
}

it('asks again what a node refuses that is behind with its work, and nothing else', async () => {
  const late = [503, JSON.stringify({ code: 'overloaded', detail: refusal() })] as const;
  expect(await ask(late, late, [202, 'taken'])).toEqual([202, 'taken', 3]);
  expect(await ask([503, 'not ready'], [200, ''])).toEqual([503, 'not ready', 1]);
  expect(await ask([500, late[1]], [200, ''])).toEqual([500, late[1], 1]);
});
