/** The event stream of the node, asked for with an API key, as topic `wallet` needs it. Opened again whenever it breaks off. */

import { FIRST_WAIT_MS, LONGEST_WAIT_MS, type StreamOptions } from '../shared/events.js';
import { parseExact } from '../shared/json.js';
import { EventText } from './event-text.js';

/** A node that lives sends a comment every 15 seconds. */
const SILENCE_MS = 60_000;
const UNAUTHORIZED = 401;
/** A node takes wrong keys from an address twenty times a minute only. */
const REFUSED_WAIT_MS = 60_000;

export interface KeyedStream {
  readonly apiKey: string;
  /** The node does not take the key any more. */
  readonly onRefused: () => void;
}

/** Follows the stream until the returned function is called. */
export function followKeyed(
  { apiKey, onRefused }: KeyedStream,
  { topics, onEvent, onState }: StreamOptions,
  names: readonly string[],
): () => void {
  const ending = new AbortController();
  const known = new Set(names);
  const url = `/v1/events?topics=${encodeURIComponent(topics.join(','))}`;
  const headers = { accept: 'text/event-stream', ...(apiKey === '' ? {} : { 'x-api-key': apiKey }) };
  const tell = ({ name, data }: { readonly name: string; readonly data: string }): void => {
    if (known.has(name) && !ending.signal.aborted) onEvent(name, parseExact(data));
  };
  const follow = async (): Promise<void> => {
    let wait = FIRST_WAIT_MS;
    onState('connecting');
    while (!ending.signal.aborted) {
      try {
        const status = await readStream(url, headers, ending.signal, {
          onOpen: () => {
            wait = FIRST_WAIT_MS;
            onState('open');
          },
          onEvent: tell,
        });
        if (status === UNAUTHORIZED && !ending.signal.aborted) {
          // Who follows ends it then, unless the key is good for all but this stream.
          onRefused();
          wait = REFUSED_WAIT_MS;
        }
      } catch {
        // Whatever it was, the stream is opened again.
      }
      if (ending.signal.aborted) return;
      onState('lost');
      await pause(wait, ending.signal);
      wait = Math.min(LONGEST_WAIT_MS, 2 * wait);
    }
  };
  void follow();
  return () => ending.abort();
}

interface Reader {
  readonly onOpen: () => void;
  readonly onEvent: (event: { readonly name: string; readonly data: string }) => void;
}

/** Reads one connection to its end; returns the status of the answer. */
async function readStream(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  { onOpen, onEvent }: Reader,
): Promise<number> {
  const own = new AbortController();
  const abort = (): void => own.abort();
  let silence = setTimeout(abort, SILENCE_MS);
  signal.addEventListener('abort', abort);
  try {
    const response = await fetch(url, {
      headers,
      signal: own.signal,
      credentials: 'omit',
      redirect: 'error',
      cache: 'no-store',
    });
    if (!response.ok || response.body === null) return response.status;
    onOpen();
    const text = new EventText();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return response.status;
      clearTimeout(silence);
      silence = setTimeout(abort, SILENCE_MS);
      for (const event of text.read(value)) onEvent(event);
    }
  } finally {
    clearTimeout(silence);
    signal.removeEventListener('abort', abort);
    own.abort();
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
