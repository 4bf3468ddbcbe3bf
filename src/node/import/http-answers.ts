/** The API of a storage node as the source of a chain: `/v1`, or the envelope routes of the original nodes, whichever it has. */

import { nodeFetch } from '../../client/node-fetch.js';
import { exchange } from '../../client/transport.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import { type JsonValue, stringifyExact } from '../../lib/json.js';
import { Mutex } from '../../lib/mutex.js';
import { pause } from '../../lib/pause.js';
import { type Answers, type Entries, MOST_ENTRY, memberOf, requestTo } from './source.js';

export interface HttpOptions {
  readonly signal: AbortSignal;
  /** Milliseconds that one answer may take. */
  readonly timeoutMs?: number;
  /** Bytes that one answer may have. */
  readonly maxAnswerBytes?: number;
  /** Milliseconds from one question to the next, asked one at a time; without it questions do not wait for one another. */
  readonly paceMs?: number;
}

type Ask = (path: string, body?: unknown, most?: number) => Promise<JsonValue | undefined>;

/** Finds out which routes the node has. Throws `node_unreachable` when it has neither. */
export async function httpAnswers(url: string, options: HttpOptions): Promise<Answers> {
  const { signal, timeoutMs = 30_000, maxAnswerBytes = MOST_ENTRY, paceMs } = options;
  const fetch = nodeFetch();
  const turns = new Mutex();
  const inTurn = <T>(question: () => Promise<T>): Promise<T> => {
    if (paceMs === undefined) return question();
    const answer = turns.run(question);
    turns.run(() => pause(paceMs, signal)).catch(() => undefined);
    return answer;
  };
  const asking =
    (isNamed: boolean): Ask =>
    async (path, body, most = maxAnswerBytes) => {
      const text = body === undefined ? undefined : stringifyExact(body);
      const outgoing = requestTo(url, path.slice(1), text, isNamed);
      const limits = { timeoutMs, maxAnswerBytes: Math.min(most, maxAnswerBytes) };
      const { answer } = await inTurn(() => exchange(outgoing, { fetch, signal, ...limits }, () => false));
      return answer;
    };
  const ask = asking(false);
  // Some nodes insist on a name for each question, and keep the answer under it for an hour; the others get none.
  const kinds = [versioned(url, ask), enveloped(url, ask), enveloped(url, asking(true))];
  const refused: unknown[] = [];
  for (const answers of kinds) {
    try {
      if (memberOf(await answers.latest(), 'block') !== undefined) return answers;
    } catch (error) {
      signal.throwIfAborted();
      // A node that does not answer at all is not asked for its other routes.
      if (!isRefusal(error)) throw error;
      refused.push(error);
    }
  }
  const message = `${url} is no storage node with blocks: it answers neither GET /v1/blocks/latest nor GET /latest_block`;
  throw new TesseraError('node_unreachable', message, { cause: refused[0] });
}

function isRefusal(error: unknown): boolean {
  return isTesseraError(error) && (error.code !== 'node_unreachable' || error.details.status !== undefined);
}

function versioned(url: string, ask: Ask): Answers {
  const entries = (answer: JsonValue | undefined): Entries =>
    listOf(url, answer).map((entry) => [textOf(memberOf(entry, 'key')), memberOf(entry, 'data') ?? null]);
  return {
    name: `${url} (/v1)`,
    latest: async () => (await ask('/v1/blocks/latest')) ?? null,
    blocks: async (heights, most) =>
      entries(await ask(`/v1/blocks?${heights.map((num) => `num=${num}`).join('&')}`, undefined, most)),
    transactions: async (keys, most) => entries(await ask('/v1/blockchain-entries/query', { keys }, most)),
  };
}

function enveloped(url: string, ask: Ask): Answers {
  const content = async (...asked: Parameters<Ask>) => memberOf(await ask(...asked), 'content');
  const entries = (answer: JsonValue | undefined): Entries =>
    listOf(url, memberOf(answer, 'blocks') ?? answer).flatMap((entry) => {
      const [key, data] = Array.isArray(entry) ? entry : [];
      // A missing entry has an empty key.
      return typeof key !== 'string' || key === '' || data === undefined ? [] : [[key, data]];
    });
  return {
    name: `${url} (envelope)`,
    latest: async () => (await content('/latest_block')) ?? null,
    blocks: async (heights, most) => entries(await content('/block_by_num', heights, most)),
    transactions: async (hashes, most) => entries(await content('/blockchain_entry', hashes, most)),
  };
}

function listOf(url: string, value: JsonValue | undefined): readonly JsonValue[] {
  if (Array.isArray(value)) return value;
  throw new TesseraError('other_chain', `${url} gives no list of entries where it was asked for one`);
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}
