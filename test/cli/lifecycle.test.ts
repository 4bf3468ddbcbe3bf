import { describe, expect, it } from 'vitest';
import { runUntilStopped } from '../../src/cli/lifecycle.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { TesseraError } from '../../src/lib/errors.js';
import { silentLogger } from '../../src/lib/logger.js';
import type { Service } from '../../src/lib/service.js';
import { createContext } from '../support/cli-context.js';

function setup(overrides: Partial<Service> = {}) {
  const calls: string[] = [];
  const failure = createDeferred<never>();
  const ready = createDeferred<void>();
  const node: Service = {
    start: async () => void calls.push('start'),
    stop: async () => void calls.push('stop'),
    failed: failure.promise,
    ...overrides,
  };
  const context = createContext();
  const logger = { ...silentLogger };
  const run = (stopTimeoutMs?: number) =>
    runUntilStopped(node, {
      logger,
      context,
      onReady: () => ready.resolve(),
      ...(stopTimeoutMs === undefined ? {} : { stopTimeoutMs }),
    });
  return { calls, failure, ready: ready.promise, context, logger, run };
}

describe('running until stopped', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('stops cleanly at the first %s', async (signal) => {
    const { calls, ready, context, run } = setup();
    const status = run();
    await ready;
    context.raise(signal);
    expect(await status).toBe(0);
    expect(calls).toEqual(['start', 'stop']);
    expect(context.listeners()).toBe(0);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('ends at once at a second signal: %s', async (signal, code) => {
    const stopping = createDeferred<void>();
    const { ready, context, run } = setup({ stop: () => stopping.promise });
    const status = run();
    await ready;
    context.raise('SIGINT');
    context.raise(signal);
    expect(await context.exited).toBe(code);
    stopping.resolve();
    await status;
  });

  it('stops what is still starting', async () => {
    const starting = createDeferred<void>();
    const { calls, context, run } = setup({ start: () => starting.promise });
    const status = run();
    context.raise('SIGTERM');
    expect(await status).toBe(0);
    expect(calls).toEqual(['stop']);
  });

  it('gives up a stop that takes too long, with status 1', async () => {
    const { ready, context, run } = setup({ stop: () => new Promise<void>(() => undefined) });
    const status = run(1);
    await ready;
    context.raise('SIGINT');
    expect(await status).toBe(1);
  });

  it('prints the code of a fatal error, stops the rest and ends with status 1', async () => {
    const { calls, failure, ready, context, run } = setup();
    const status = run();
    await ready;
    failure.reject(new TesseraError('data_corrupt', 'block 7 does not match its hash'));
    expect(await status).toBe(1);
    expect(context.err()).toBe('tessera: data_corrupt: block 7 does not match its hash\n');
    expect(calls).toEqual(['start', 'stop']);
  });

  it('tells the person first and the log without a stack when the error was foreseen', async () => {
    const written: string[] = [];
    const { context, run, logger } = setup({
      start: () =>
        Promise.reject(new TesseraError('data_dir_locked', 'another process uses it', { details: { pid: 7 } })),
    });
    context.stderr.write = (text: string) => written.push(text);
    logger.error = (fields, message) => void written.push(`${JSON.stringify(fields)} ${message}`);
    expect(await run()).toBe(1);
    expect(written).toEqual([
      'tessera: data_dir_locked: another process uses it\n',
      '{"code":"data_dir_locked","error":"another process uses it","details":{"pid":7}} the node cannot go on',
    ]);
  });

  it('tells it once where a person reads both', async () => {
    const { context, run, logger } = setup({
      start: () => Promise.reject(new TesseraError('port_in_use', 'another program has it')),
    });
    const logged: unknown[] = [];
    logger.error = (fields) => void logged.push(fields);
    for (const stream of [context.stdout, context.stderr]) Object.assign(stream, { isTTY: true });
    expect([await run(), context.err(), logged]).toEqual([1, 'tessera: port_in_use: another program has it\n', []]);
  });

  it('ends with status 1 when the start fails', async () => {
    const { context, run } = setup({
      start: () => Promise.reject(new TesseraError('data_dir_locked', 'another process uses it')),
    });
    expect(await run()).toBe(1);
    expect(context.err()).toContain('data_dir_locked');
  });
});
