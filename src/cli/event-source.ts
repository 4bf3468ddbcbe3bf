/** Reads server-sent events: the events of one connection, and the parser of their text. */

import { errorMessage, TesseraError } from '../lib/errors.js';

/** One event as it came: `data` is JSON text, untouched, so integers stay exact. */
export interface ReceivedEvent {
  readonly id: string;
  readonly name: string;
  readonly data: string;
}

export interface EventRequest {
  readonly url: string;
  readonly apiKey?: string | undefined;
  /** Resume after this event. */
  readonly lastEventId?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * What a connection yields: an event, or a sign of life (`undefined`). Both carry the id to resume after.
 */
export interface EventNews {
  /** The id to resume after. */
  readonly id: string;
  readonly event: ReceivedEvent | undefined;
}

/**
 * The events of one connection, until it ends. Throws `peer_unreachable` when it cannot be opened or breaks, and
 * `invalid_request` with the node's message when the node refuses.
 */
export async function* readEvents({ url, apiKey, lastEventId, signal }: EventRequest): AsyncGenerator<EventNews> {
  const headers = {
    accept: 'text/event-stream',
    ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }),
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  };
  try {
    const response = await fetch(url, { headers, signal });
    if (!response.ok || response.body === null) throw await refusal(response);
    const parser = new EventParser(lastEventId ?? '');
    const decoder = new TextDecoder();
    for await (const chunk of response.body) yield* parser.take(decoder.decode(chunk as Uint8Array, { stream: true }));
  } catch (error) {
    if (error instanceof TesseraError) throw error;
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    throw new TesseraError('peer_unreachable', errorMessage(cause), { cause: error });
  }
}

async function refusal(response: Response): Promise<TesseraError> {
  const text = await response.text();
  const detail = detailOf(text) ?? response.statusText;
  const isPassing = response.status >= 500 || response.status === 429;
  return new TesseraError(isPassing ? 'peer_unreachable' : 'invalid_request', `${response.status}: ${detail}`);
}

/** The `detail` of a problem document; undefined for other texts. */
function detailOf(text: string): string | undefined {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    return typeof detail === 'string' ? detail : undefined;
  } catch {
    return undefined;
  }
}

/** Parses `text/event-stream` (HTML standard, 9.2.6) as nodes write it. */
export class EventParser {
  #rest = '';
  #id: string;

  constructor(lastId = '') {
    this.#id = lastId;
  }

  /** The events that the text completes. */
  take(text: string): EventNews[] {
    const blocks = (this.#rest + text).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.map((block) => this.#event(block));
  }

  #event(block: string): EventNews {
    let name = 'message';
    const data: string[] = [];
    for (const line of block.split('\n')) {
      const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      if (field === 'id') this.#id = value;
      else if (field === 'event') name = value;
      else if (field === 'data') data.push(value);
    }
    const id = this.#id;
    return { id, event: data.length === 0 ? undefined : { id, name, data: data.join('\n') } };
  }
}
