/**
 * A chain that is read from elsewhere: the API of a storage node, by `/v1` or by the older envelope routes, or a folder with answers of
 * such an API. Nothing is believed: answers are bounded in bytes and time, each must be what was asked for, and whoever
 * stores the blocks checks them by every rule.
 */

import { randomUUID } from 'node:crypto';
import { encodeBlock, noteEncoded } from '../../chain/codec.js';
import { blockHash } from '../../chain/hash.js';
import { isObject } from '../../chain/json-fields.js';
import { parseBlock, parseTransaction } from '../../chain/json-read.js';
import { namesOf } from '../../chain/transaction.js';
import type { Block, FullBlock, Transaction } from '../../chain/types.js';
import type { Outgoing } from '../../client/transport.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import type { JsonValue } from '../../lib/json.js';
import { Mutex } from '../../lib/mutex.js';
import { pause } from '../../lib/pause.js';

/** The most blocks and transactions of one question, and the most questions at once. */
const BLOCKS = 50;
const TRANSACTIONS = 200;
const AT_ONCE = 4;
/** The most transactions of blocks that are returned together, and their bytes; a single block may have more. */
const MOST_TOGETHER = 1_000;
const MOST_TOGETHER_BYTES = 8 * 1024 * 1024;
/** The most bytes of the transactions of a block: what a message between nodes holds. */
const MOST_BLOCK_BYTES = 48 * 1024 * 1024;
/** The most bytes of an answer to several keys, and of an answer to a single key, which is alone in memory. */
const MOST_ANSWER = 4 * 1024 * 1024;
export const MOST_ENTRY = 32 * 1024 * 1024;
/** Attempts at a question that cannot be made smaller. */
const ATTEMPTS = 3;

/** Keys, and the JSON under them in the form of the reference. */
export type Entries = readonly (readonly [key: string, data: JsonValue])[];

/**
 * The three questions by which a chain is read. An entry that the source lacks is left out of the answer. An answer with more than
 * `most` bytes, or none at all, is `node_unreachable`.
 */
export interface Answers {
  /** Name of the source in words. */
  readonly name: string;
  latest(): Promise<JsonValue>;
  blocks(heights: readonly number[], most: number): Promise<Entries>;
  transactions(hashes: readonly string[], most: number): Promise<Entries>;
}

/** The last block of a chain. */
export interface ChainEnd {
  readonly height: number;
  readonly hash: string;
}

export interface ChainSourceOptions {
  readonly signal: AbortSignal;
  /** Milliseconds before a question without an answer is asked again. */
  readonly retryMs?: number;
}

export class ChainSource {
  readonly #answers: Answers;
  readonly #signal: AbortSignal;
  readonly #retryMs: number;
  /** Held for a large answer, so that only one is in memory. */
  readonly #alone = new Mutex();

  constructor(answers: Answers, { signal, retryMs = 1_000 }: ChainSourceOptions) {
    this.#answers = answers;
    this.#signal = signal;
    this.#retryMs = retryMs;
  }

  get name(): string {
    return this.#answers.name;
  }

  async latest(): Promise<ChainEnd> {
    const answer = await this.#again(() => this.#answers.latest());
    const { header } = this.#parse('its latest block', () => parseBlock(blockIn(answer)));
    return { height: Number(header.bNum), hash: blockHash(header) };
  }

  /**
   * Whole blocks in order from `from` on, one or more, `to` at most. Throws `data_lost` when the source lacks one, `node_unreachable`
   * when it does not answer, and `other_chain` when it answers something else than was asked for.
   */
  async blocks(from: number, to: number): Promise<readonly FullBlock[]> {
    const heights = Array.from({ length: Math.min(to - from + 1, BLOCKS) }, (_, i) => from + i);
    const blocks: Block[] = [];
    let [together, bytes] = [0, 0];
    for await (const entry of this.#ask(heights, (...asked) => this.#answers.blocks(...asked))) {
      const block = this.#block(entry, from + blocks.length);
      together += block.transactions.length;
      bytes += encodeBlock(block).length;
      const isEnough = together > MOST_TOGETHER || bytes > MOST_TOGETHER_BYTES;
      if (blocks.length > 0 && isEnough) return this.#whole(blocks);
      blocks.push(block);
    }
    if (blocks.length < heights.length) throw this.#lacks(`block ${from + blocks.length}`);
    return this.#whole(blocks);
  }

  #block([key, data]: Entries[number], height: number): Block {
    const block = this.#parse(`block ${height}`, () => parseBlock(blockIn(data)));
    const { header } = block;
    if (header.bNum !== BigInt(height)) throw this.#lies(`block ${header.bNum} when it was asked for block ${height}`);
    const hash = blockHash(header);
    if (key !== hash) throw this.#lies(`block ${height} under the hash ${key}, and it has ${hash}`);
    return block;
  }

  /** The blocks with their transactions; only the first of them when all together are too large. */
  async #whole(blocks: readonly Block[]): Promise<readonly FullBlock[]> {
    const names = new Set(blocks.flatMap(namesOf));
    const most = blocks.length > 1 ? MOST_TOGETHER_BYTES : MOST_BLOCK_BYTES;
    const found = await this.#transactions([...names], most);
    const wholeOf = (block: Block, of: ReadonlyMap<string, Transaction>): FullBlock => {
      const take = (name: string): Transaction => {
        const transaction = of.get(name);
        if (transaction === undefined) throw this.#lacks(`transaction ${name} of block ${block.header.bNum}`);
        return transaction;
      };
      return { block, transactions: block.transactions.map(take), miningTransaction: take(block.header.miningTxHash) };
    };
    if (found !== undefined) return blocks.map((block) => wholeOf(block, found));
    const [first] = blocks;
    if (blocks.length === 1) throw this.#lies(`more than ${most} bytes for block ${first?.header.bNum}`);
    return this.#whole(blocks.slice(0, Math.ceil(blocks.length / 2)));
  }

  /** The named transactions; undefined when they have more than `most` bytes. */
  async #transactions(names: readonly string[], most: number): Promise<Map<string, Transaction> | undefined> {
    const found = new Map<string, Transaction>();
    let bytes = 0;
    const read = async (from: number): Promise<void> => {
      const some = names.slice(from, from + TRANSACTIONS);
      for await (const [key, data] of this.#ask(some, (...asked) => this.#answers.transactions(...asked))) {
        const transaction = this.#parse(`transaction ${key}`, () => parseTransaction(data));
        bytes += noteEncoded(transaction).length;
        if (bytes > most) return;
        found.set(key, transaction);
      }
    };
    for (let at = 0; at < names.length && bytes <= most; at += AT_ONCE * TRANSACTIONS) {
      await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => read(at + i * TRANSACTIONS)));
    }
    return bytes > most ? undefined : found;
  }

  /** Entries of all keys, asked for fewer at a time where the answer is too large or too slow for all. */
  async *#ask<K>(
    keys: readonly K[],
    question: (keys: readonly K[], most: number) => Promise<Entries>,
  ): AsyncGenerator<Entries[number]> {
    if (keys.length === 0) return;
    let entries: Entries | undefined;
    try {
      if (keys.length > 1) entries = await question(keys, MOST_ANSWER);
      else entries = await this.#alone.run(() => this.#again(() => question(keys, MOST_ENTRY)));
    } catch (error) {
      this.#signal.throwIfAborted();
      if (keys.length === 1 || !isTesseraError(error, 'node_unreachable')) throw error;
    }
    if (entries !== undefined && entries.length > keys.length) throw this.#lies('more than it was asked for');
    if (entries !== undefined) return yield* entries;
    const half = Math.ceil(keys.length / 2);
    yield* this.#ask(keys.slice(0, half), question);
    yield* this.#ask(keys.slice(half), question);
  }

  async #again<T>(question: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await question();
      } catch (error) {
        this.#signal.throwIfAborted();
        if (attempt === ATTEMPTS || !isTesseraError(error, 'node_unreachable')) throw error;
        await pause(this.#retryMs, this.#signal);
      }
    }
  }

  #parse<T>(what: string, parse: () => T): T {
    try {
      return parse();
    } catch (cause) {
      throw this.#lies(`something else for ${what}: ${errorMessage(cause)}`, cause);
    }
  }

  #lacks(what: string): TesseraError {
    return new TesseraError('data_lost', `${this.name} does not have ${what}`);
  }

  #lies(what: string, cause?: unknown): TesseraError {
    return new TesseraError('other_chain', `${this.name} gives ${what}`, { cause });
  }
}

/** The block in `{"block": {"header": …}}`, where `block` may be nested twice. */
function blockIn(value: JsonValue | undefined): JsonValue | undefined {
  const inner = memberOf(value, 'block');
  return inner === undefined ? value : blockIn(inner);
}

/** A request to an original node. Some releases want a name for each, and answer requests of one name alike for an hour. */
export function requestTo(url: string, path: string, body: string | undefined, isNamed = true): Outgoing {
  const headers = isNamed ? { 'x-cache-id': randomUUID().replaceAll('-', '') } : {};
  const method = body === undefined ? 'GET' : 'POST';
  return { method, url: new URL(path, url.endsWith('/') ? url : `${url}/`), headers, body };
}

/** A member of an object; undefined where there is none. */
export function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
