/** Reads server-sent events: the events of one connection, and the parser of their text. */

import { TesseraError } from '../lib/errors.js';
import { chunksOf, readText } from './read-answer.js';
import { type Fetch, NoAnswer, platformFetch, refusal } from './transport.js';

/** Characters of the largest event; those of nodes have some hundred. */
const MAX_EVENT_LENGTH = 1024 * 1024;
const MAX_REFUSAL_BYTES = 64 * 1024;
/** An id that a header can carry. */
const EVENT_ID = /^[\x21-\x7e]{1,128}$/;

/** One event as it came: `data` is JSON text, untouched, so integers stay exact. */
export interface ReceivedEvent {
  readonly id: string;
  readonly name: string;
  readonly data: string;
}

export interface EventRequest {
  readonly url: string;
  readonly apiKey?: string | undefined;
  /** Instead of that of Node.js. */
  readonly fetch?: Fetch | undefined;
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
 * The events of one connection, until it ends. Throws as a client does: `NoAnswer` when it cannot be opened or breaks, and
 * the node's own error when it refuses.
 */
export async function* readEvents(request: EventRequest): AsyncGenerator<EventNews> {
  const { url, apiKey, lastEventId, signal, fetch: send = platformFetch } = request;
  const headers = {
    accept: 'text/event-stream',
    ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }),
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  };
  try {
    // A key is for this node only.
    const response = await send(url, { headers, signal, redirect: 'error' });
    if (!response.ok || response.body === null) {
      throw refusal(response, await readText(response, MAX_REFUSAL_BYTES, signal), new URL(url).origin);
    }
    checkIsStream(response, url);
    const parser = new EventParser(lastEventId ?? '');
    const decoder = new TextDecoder();
    for await (const chunk of chunksOf(response.body, signal))
      yield* parser.take(decoder.decode(chunk, { stream: true }));
  } catch (error) {
    if (error instanceof TesseraError) throw error;
    throw new NoAnswer(new URL(url).origin, error);
  }
}

function checkIsStream({ headers }: Response, url: string): void {
  const type = headers.get('content-type') ?? '';
  if (/^text\/event-stream(;|$)/.test(type)) return;
  throw new TesseraError('invalid_request', `${url} answers, and not with events as a node does`);
}

/** Parses `text/event-stream` (HTML standard, 9.2.6) as nodes write it. */
export class EventParser {
  /** The pieces of an event that is not complete, and their characters. */
  #pieces: string[] = [];
  #length = 0;
  #id: string;

  constructor(lastId = '') {
    this.#id = lastId;
  }

  /** The events that the text completes. Throws `node_unreachable` for one that is too long. */
  take(text: string): EventNews[] {
    // Without a line end in the piece there is none to find in what came before.
    const isEnd = text.includes('\n');
    this.#pieces.push(text);
    this.#length += text.length;
    if (!isEnd) {
      this.#checkLength(this.#length);
      return [];
    }
    const blocks = this.#pieces.join('').split('\n\n');
    const rest = blocks.pop() ?? '';
    for (const block of [...blocks, rest]) this.#checkLength(block.length);
    this.#pieces = [rest];
    this.#length = rest.length;
    return blocks.map((block) => this.#event(block));
  }

  #checkLength(length: number): void {
    if (length <= MAX_EVENT_LENGTH) return;
    throw new TesseraError('node_unreachable', `an event is longer than ${MAX_EVENT_LENGTH} characters`);
  }

  #event(block: string): EventNews {
    let name = 'message';
    const data: string[] = [];
    for (const line of block.split('\n')) {
      const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      if (field === 'id' && EVENT_ID.test(value)) this.#id = value;
      else if (field === 'event') name = value;
      else if (field === 'data') data.push(value);
    }
    const id = this.#id;
    return { id, event: data.length === 0 ? undefined : { id, name, data: data.join('\n') } };
  }
}
