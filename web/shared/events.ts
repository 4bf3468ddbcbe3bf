/**
 * The event stream of the node (`GET /v1/events`). It is opened again whenever it breaks off, for as long as the page is open;
 * what was missed meanwhile is not asked for, because the page then reads anew all that it shows. Whether the stream is open
 * is the state of the connection that pages show.
 */

import { parseExact } from './json.js';

/** `lost`: it was open, or could not be opened, and is tried again. */
export type StreamState = 'connecting' | 'open' | 'lost';

export interface StreamOptions {
  readonly topics: readonly string[];
  /** Called with the name and the data of each event. */
  readonly onEvent: (name: string, data: unknown) => void;
  readonly onState: (state: StreamState) => void;
}

/** Between attempts to open the stream. */
export const FIRST_WAIT_MS = 1_000;
export const LONGEST_WAIT_MS = 10_000;

/** Follows the stream until the returned function is called. */
export function followEvents({ topics, onEvent, onState }: StreamOptions, names: readonly string[]): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wait = FIRST_WAIT_MS;
  let isEnded = false;

  const open = (): void => {
    source = new EventSource(`/v1/events?topics=${encodeURIComponent(topics.join(','))}`);
    source.onopen = () => {
      wait = FIRST_WAIT_MS;
      onState('open');
    };
    source.onerror = () => {
      onState('lost');
      // The browser would try again by itself, but not after an answer that is no stream.
      source?.close();
      if (isEnded) return;
      timer = setTimeout(open, wait);
      wait = Math.min(LONGEST_WAIT_MS, wait * 2);
    };
    for (const name of names) {
      source.addEventListener(name, (event: MessageEvent<string>) => onEvent(name, parseExact(event.data)));
    }
  };
  onState('connecting');
  open();
  return () => {
    isEnded = true;
    clearTimeout(timer);
    source?.close();
  };
}
