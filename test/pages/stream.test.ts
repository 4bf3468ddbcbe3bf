/** The event stream of a page: opened with the API key, opened again, and asked for rarely where the key is refused. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createClient } from '../../src/sdk/client.js';
import { followStream } from '../../web/shared/stream.js';

const BLOCK = 'id: 1-2\n\nid: 1-3\nevent: block\ndata: {"block_num":9007199254740993,"hash":"b1","transactions":1}\n\n';
const BLOCK_EVENT = { block_num: 9_007_199_254_740_993n, hash: 'b1', transactions: 1n };

const events = (text: string): Response => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
const problem = (status: number, code: string): Response =>
  new Response(JSON.stringify({ code, detail: code }), {
    status,
    headers: { 'content-type': 'application/problem+json' },
  });

/** A page that follows a node with these answers, one for each request, and then one that never ends. */
function follow(apiKey: string | undefined, answers: readonly (() => Response)[]) {
  const left = [...answers];
  const keys: (string | undefined)[] = [];
  const fetch = (_url: URL | string, { headers, signal }: RequestInit): Promise<Response> => {
    keys.push((headers as Record<string, string>)['x-api-key']);
    const answer = left.shift();
    if (answer !== undefined) return Promise.resolve(answer());
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => signal?.addEventListener('abort', () => controller.error(new Error('aborted'))),
    });
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  };
  const states: string[] = [];
  const told: unknown[] = [];
  const onRefused = vi.fn();
  const ending = new AbortController();
  const end = followStream(createClient({ url: 'http://node', apiKey, fetch }), ['wallet'], ending.signal, {
    onEvent: ({ name, data }) => void told.push([name, data]),
    onState: (state) => void states.push(state),
    onRefused,
  });
  const stop = (): Promise<void> => {
    ending.abort();
    return end;
  };
  return { keys, states, told, onRefused, stop };
}

describe('the event stream of a page', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is asked for with the key, and opened again when it ends or fails', async () => {
    const { keys, states, told, onRefused, stop } = follow('secret', [
      () => events(BLOCK),
      () => problem(503, 'overloaded'),
    ]);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(states).toEqual(['connecting', 'open', 'lost', 'open']);
    expect(told).toEqual([['block', BLOCK_EVENT]]);
    expect(keys).toEqual(['secret', 'secret', 'secret']);
    expect(onRefused).not.toHaveBeenCalled();
    await stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(keys).toHaveLength(3);
    expect(states).toHaveLength(4);
  });

  it('is opened again when nothing comes for a minute, not even the beat of the node', async () => {
    const { keys, states, stop } = follow(undefined, []);
    await vi.advanceTimersByTimeAsync(55_000);
    expect(states).toEqual(['connecting', 'open', 'lost', 'open']);
    expect(keys).toEqual([undefined, undefined]);
    await stop();
  });

  it('is asked for once a minute under a key that the node refuses, and is lost till then', async () => {
    const { keys, onRefused, states, stop } = follow('old', [() => problem(401, 'invalid_api_key')]);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(onRefused).toHaveBeenCalledOnce();
    expect([keys, states]).toEqual([['old'], ['connecting', 'lost']]);
    // The key opens the rest of the wallet, or else whoever follows would have ended it.
    await vi.advanceTimersByTimeAsync(2_000);
    expect([keys, states]).toEqual([
      ['old', 'old'],
      ['connecting', 'lost', 'open'],
    ]);
    await stop();
  });
});
