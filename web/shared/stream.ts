/** The events of a node for as long as a page is open, with the state of the connection that pages show. */

import { pause } from '../../src/lib/pause.js';
import { isTesseraError, type NodeEvent, type TesseraClient } from '../../src/sdk/client.js';

/** `lost`: it was open, or could not be opened, and is tried again. */
export type StreamState = 'connecting' | 'open' | 'lost';

export interface StreamListener {
  readonly onEvent: (event: NodeEvent) => void;
  readonly onState: (state: StreamState) => void;
  /** The node does not take the API key any more. */
  readonly onRefused?: (() => void) | undefined;
}

export type Topics = NonNullable<NonNullable<Parameters<TesseraClient['events']>[0]>['topics']>;

/** Time to wait after a refusal. A node takes wrong keys from an address twenty times a minute only. */
const REFUSED_WAIT_MS = 60_000;

/** Follows the events until the signal ends it. */
export async function followStream(
  node: Pick<TesseraClient, 'events'>,
  topics: Topics,
  signal: AbortSignal,
  { onEvent, onState, onRefused }: StreamListener,
): Promise<void> {
  const tell = (state: StreamState): void => {
    if (!signal.aborted) onState(state);
  };
  tell('connecting');
  while (!signal.aborted) {
    try {
      const events = node.events({ topics, signal, onOpen: () => tell('open'), onLost: () => tell('lost') });
      for await (const event of events) if (!signal.aborted) onEvent(event);
    } catch (error) {
      if (signal.aborted) return;
      tell('lost');
      // Who follows ends it then, unless the key is good for all but this stream.
      if (isTesseraError(error, 'missing_api_key') || isTesseraError(error, 'invalid_api_key')) onRefused?.();
      await pause(REFUSED_WAIT_MS, signal).catch(() => undefined);
    }
  }
}
