/** The event stream of the wallet page: opened with the API key, opened again, and given up where the key is refused. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import { followKeyed } from '../../web/wallet/wallet-events.js';

const BLOCK = 'event: block\ndata: {"block_num":9007199254740993}\n\n';

/** A node that gives these answers, one for each request, and then one that never ends. */
function serve(answers: readonly (() => Response)[]): { readonly keys: (string | undefined)[] } {
  const left = [...answers];
  const keys: (string | undefined)[] = [];
  vi.stubGlobal('fetch', (_url: string, { headers, signal }: RequestInit) => {
    keys.push((headers as Record<string, string>)['x-api-key']);
    const answer = left.shift();
    if (answer !== undefined) return Promise.resolve(answer());
    const endless = new ReadableStream<Uint8Array>({
      start: (controller) => signal?.addEventListener('abort', () => controller.error(new Error('aborted'))),
    });
    return Promise.resolve(new Response(endless));
  });
  return { keys };
}

function follow(apiKey: string) {
  const states: string[] = [];
  const events: unknown[] = [];
  const onRefused = vi.fn();
  const stop = followKeyed(
    { apiKey, onRefused },
    { topics: ['wallet'], onEvent: (name, data) => events.push([name, data]), onState: (state) => states.push(state) },
    ['block'],
  );
  return { states, events, onRefused, stop };
}

describe('the event stream of the wallet page', () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it('is asked for with the key, and opened again when it ends', async () => {
    vi.useFakeTimers();
    const { keys } = serve([() => new Response(BLOCK), () => new Response('', { status: 503 })]);
    const { states, events, onRefused, stop } = follow('secret');
    await vi.advanceTimersByTimeAsync(20_000);
    expect(states).toEqual(['connecting', 'open', 'lost', 'lost', 'open']);
    expect(events).toEqual([['block', { block_num: 9_007_199_254_740_993n }]]);
    expect(keys).toEqual(['secret', 'secret', 'secret']);
    expect(onRefused).not.toHaveBeenCalled();
    stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(keys).toHaveLength(3);
  });

  it('is opened again when nothing comes for a minute, not even the beat of the node', async () => {
    vi.useFakeTimers();
    const { keys } = serve([]);
    const { states, stop } = follow('');
    await vi.advanceTimersByTimeAsync(65_000);
    expect(states).toEqual(['connecting', 'open', 'lost', 'open']);
    expect(keys).toEqual([undefined, undefined]);
    stop();
  });

  it('is asked for once a minute under a key that the node refuses, and is lost till then', async () => {
    vi.useFakeTimers();
    const { keys } = serve([() => new Response('', { status: 401 })]);
    const { onRefused, states, stop } = follow('old');
    await vi.advanceTimersByTimeAsync(59_000);
    expect(onRefused).toHaveBeenCalledOnce();
    expect([keys, states]).toEqual([['old'], ['connecting', 'lost']]);
    // The key opens the rest of the wallet, or else whoever follows would have ended it.
    await vi.advanceTimersByTimeAsync(2_000);
    expect([keys, states]).toEqual([
      ['old', 'old'],
      ['connecting', 'lost', 'open'],
    ]);
    stop();
  });
});
