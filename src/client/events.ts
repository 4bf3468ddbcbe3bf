/** Reads server-sent events, from one connection or from one after the other, and parses their text. */

import { TesseraError } from '../lib/errors.js';
import { pause } from '../lib/pause.js';
import { TimeLimit } from '../lib/time-limit.js';
import { chunksOf, type Fetch, NoAnswer, platformFetch, readText, refusal } from './transport.js';

/** Characters of the largest event; events of nodes have some hundred. */
const MAX_EVENT_LENGTH = 1024 * 1024;
const MAX_REFUSAL_BYTES = 64 * 1024;
/** Milliseconds before the first and the longest wait for another connection. */
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 10_000;
/** Milliseconds of silence after which a connection is given up; a node sends something every 15 s. */
const SILENCE_MS = 45_000;
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
  readonly fetch?: Fetch | undefined;
  /** Id of the event to resume after. */
  readonly lastEventId?: string | undefined;
  readonly signal: AbortSignal;
  /** Called when the node answers with events. */
  readonly onOpen?: (() => void) | undefined;
}

/** Yield of a connection: an event, or a sign of life (`undefined`). Both carry the id to resume after. */
export interface EventNews {
  readonly id: string;
  readonly event: ReceivedEvent | undefined;
}

/** The events of one connection, until it ends. Throws `NoAnswer` when it cannot be opened or breaks, and the node's own refusal. */
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
    request.onOpen?.();
    const parser = new EventParser(lastEventId ?? '');
    const decoder = new TextDecoder();
    for await (const chunk of chunksOf(response.body, signal))
      yield* parser.take(decoder.decode(chunk, { stream: true }));
  } catch (error) {
    if (error instanceof TesseraError) throw error;
    throw new NoAnswer(new URL(url).origin, error);
  }
}

/** The events of a node over many connections, until the signal. `onLost` is told of failures. Throws refusals that would repeat. */
export async function* followEvents(
  request: EventRequest,
  onLost: (error: unknown) => void,
): AsyncGenerator<ReceivedEvent> {
  const { signal } = request;
  let { lastEventId } = request;
  for (let failures = 0; !signal.aborted; failures++) {
    const from = lastEventId;
    try {
      const news = withWatchdog(signal, (watched) => readEvents({ ...request, lastEventId: from, signal: watched }));
      for await (const { id, event } of news) {
        failures = 0;
        if (id !== '') lastEventId = id;
        if (event !== undefined) yield event;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!mayPass(error)) throw error;
      onLost(error);
    }
    const delay = Math.min(FIRST_RETRY_MS * 2 ** failures, MAX_RETRY_MS);
    await pause(delay, signal).catch(() => undefined);
  }
}

/** True for an error that another attempt may not meet: the node is away, has too much to do, or is broken for now. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof TesseraError)) return false;
  const { status } = error.details;
  return typeof status === 'number' ? status >= 500 || status === 429 : error.code === 'node_unreachable';
}

/** Stops reading when nothing comes for too long: a broken network gives no error. */
async function* withWatchdog<T>(
  outer: AbortSignal,
  read: (signal: AbortSignal) => AsyncGenerator<T>,
): AsyncGenerator<T> {
  const limit = new TimeLimit(SILENCE_MS, outer, () => new Error(`nothing came for ${SILENCE_MS / 1_000} s`));
  try {
    for await (const value of read(limit.signal)) {
      limit.restart();
      yield value;
    }
  } finally {
    limit.end();
  }
}

function checkIsStream({ headers }: Response, url: string): void {
  const type = headers.get('content-type') ?? '';
  if (/^text\/event-stream(;|$)/.test(type)) return;
  throw new TesseraError('invalid_request', `${url} answers, and not with events as a node does`);
}

/** Parses `text/event-stream` (HTML standard, 9.2.6) as nodes write it. */
export class EventParser {
  #pieces: string[] = [];
  #length = 0;
  #id: string;

  constructor(lastId = '') {
    this.#id = lastId;
  }

  /** The events that the text completes. Throws `node_unreachable` for an event that is too long. */
  take(text: string): EventNews[] {
    // Pieces are joined at the end of an event only: joining each one with all before it would be slow for an event in a million pieces.
    const isEnd = text.includes('\n\n') || (text.startsWith('\n') && this.#pieces.at(-1)?.endsWith('\n') === true);
    if (text !== '') this.#pieces.push(text);
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
