/** Commands on a dev network, with nodes that make no blocks. */

import { describe, expect, it } from 'vitest';
import { MAX_TIME } from '../../../src/api/routes/dev/service.js';
import { createDeferred } from '../../../src/lib/deferred.js';
import { DevClock, DevControl, type DevControlModules, type DevNodes } from '../../../src/node/dev/dev-control.js';

function control() {
  const clock = new DevClock();
  /** How many blocks were asked for, and whether somebody watches blocks. */
  const asked = createDeferred<number>();
  const watched = createDeferred<void>();
  const mempool = {
    makeBlocks: (count: number, signal: AbortSignal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        asked.resolve(count);
      }),
    blockConfirmed: { on: () => () => undefined },
  };
  const payer = {
    async payAddress() {
      watched.resolve();
      return { txHash: 'g0' };
    },
  };
  const nodes = { mempool, payer, lastBlockTime: async () => 1_000 } as unknown as DevNodes;
  const record = { setClockAhead: async () => undefined };
  const facts = () => ({ intervalMs: null, automine: true });
  const modules = { nodes, clock, record, snapshots: {}, facts } as unknown as DevControlModules;
  return { dev: new DevControl(modules), clock, asked: asked.promise, watched: watched.promise };
}

describe('the clock of a dev network', () => {
  it('goes up to the end of the year 9999, however it gets there', async () => {
    const { dev, clock } = control();
    await dev.setTime(MAX_TIME - 3_600);
    const { ahead } = clock;
    for (const seconds of [dev.time() + 7_200, dev.time() + MAX_TIME, Number.MAX_SAFE_INTEGER]) {
      await expect(dev.setTime(seconds)).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining(`${MAX_TIME}`),
      });
    }
    expect(clock.ahead).toBe(ahead);
    await expect(dev.setTime(999)).rejects.toThrow('blocks never go back');
  });
});

// What waited here used up the time that the process has to stop, and its state was not saved.
describe('a dev network that stops', () => {
  it('takes back blocks that are not made yet, and begins no command that waits', async () => {
    const { dev, asked } = control();
    const blocks = expect(dev.mine(100)).rejects.toMatchObject({ code: 'shutting_down' });
    const behind = expect(dev.mine(1)).rejects.toMatchObject({ code: 'shutting_down' });
    expect(await asked).toBe(100);
    await dev.stop();
    await Promise.all([blocks, behind]);
    await expect(dev.setTime(2_000)).rejects.toMatchObject({ code: 'shutting_down' });
  });

  it('answers for a payment from the faucet whose block is not there yet', async () => {
    const { dev, watched } = control();
    const paid = dev.faucet({ address: 'address', amount: 5n });
    await watched;
    await dev.stop();
    expect(await paid).toEqual({ txHash: 'g0', to: 'address', amount: 5n, height: null });
  });
});
