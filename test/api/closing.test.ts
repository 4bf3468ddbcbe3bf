import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { openApp } from '../support/api/app.js';
import { fakeStorage } from '../support/api/fakes.js';
import { ManualClock } from '../support/manual-clock.js';

it('closes at once a connection that has asked for nothing', async () => {
  const app = await openApp('storage');
  await app.listen({ host: '127.0.0.1', port: 0 });
  const accepted = once(app.server, 'connection');
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => {
    socket.destroy();
  });
  await accepted;
  const closed = once(socket, 'close');
  await app.close();
  await closed;
});

it('waits two seconds for an answer under way, not longer', async () => {
  const clock = new ManualClock();
  let asked: () => void = () => undefined;
  const reached = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const storage = {
    ...fakeStorage(),
    latest: () => {
      asked();
      return new Promise<never>(() => undefined);
    },
  };
  const app = await openApp('storage', { modules: { clock, storage } });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const answer = fetch(`${url}/v1/blocks/latest`).catch(() => 'cut off');
  await reached;
  const closing = app.close();
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(2_000);
  await closing;
  expect(await answer).toBe('cut off');
});
