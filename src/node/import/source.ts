/**
 * A chain that is read from elsewhere: the API of a storage node, by `/v1` or by the older envelope routes, or a folder with what such
 * an API has answered. Nothing is believed: answers are bounded in bytes and time, what is asked for must be what comes, and whoever
 * stores the blocks checks them by every rule.
 */

import { encodeTransaction } from '../../chain/codec.js';
import { blockHash } from '../../chain/hash.js';
import { parseBlock, parseTransaction } from '../../chain/json-read.js';
import type { Block, FullBlock, Transaction } from '../../chain/types.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import type { JsonValue } from '../../lib/json.js';
import { pause } from '../../lib/pause.js';

/** Blocks and transactions of one question. */
const BLOCKS = 50;
const TRANSACTIONS = 200;
/** Transactions of the blocks that are handed over together, where it is more than one block. */
const MOST_TOGETHER = 1_000;
/** Blocks whose transactions are asked for at once. */
const AT_ONCE = 8;
/** Bytes of the transactions of a block: what a message between nodes holds. */
const MOST_BLOCK_BYTES = 48 * 1024 * 1024;
/** Attempts at a question that cannot be made smaller. */
const ATTEMPTS = 3;

/** Keys, and the JSON under them in the form of the reference. */
export type Entries = readonly (readonly [key: string, data: JsonValue])[];

/** The three questions by which a chain is read. What is not there is left out of the answer. */
export interface Answers {
  /** The source in words. */
  readonly name: string;
  latest(): Promise<JsonValue>;
  blocks(heights: readonly number[]): Promise<Entries>;
  transactions(hashes: readonly string[]): Promise<Entries>;
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
   * when it does not answer, and `other_chain` when it answers something else than it was asked for.
   */
  async blocks(from: number, to: number): Promise<readonly FullBlock[]> {
    const heights = Array.from({ length: Math.min(to - from + 1, BLOCKS) }, (_, i) => from + i);
    const entries = await this.#ask(heights, (some) => this.#answers.blocks(some));
    const blocks = entries.map((entry, i) => this.#block(entry, from + i));
    if (blocks.length < heights.length) throw this.#lacks(`block ${from + blocks.length}`);
    let together = 0;
    const end = blocks.findIndex(({ transactions }, i) => {
      together += transactions.length;
      return i > 0 && together > MOST_TOGETHER;
    });
    const few = end < 0 ? blocks : blocks.slice(0, end);
    const whole: FullBlock[] = [];
    for (let at = 0; at < few.length; at += AT_ONCE) {
      whole.push(...(await Promise.all(few.slice(at, at + AT_ONCE).map((block) => this.#whole(block)))));
    }
    return whole;
  }

  #block([key, data]: Entries[number], height: number): Block {
    const block = this.#parse(`block ${height}`, () => parseBlock(blockIn(data)));
    const { header } = block;
    if (header.bNum !== BigInt(height)) throw this.#lies(`block ${header.bNum} when it was asked for block ${height}`);
    const hash = blockHash(header);
    if (key !== hash) throw this.#lies(`block ${height} under the hash ${key}, and it has ${hash}`);
    return block;
  }

  async #whole(block: Block): Promise<FullBlock> {
    const { header, transactions: names } = block;
    const found = new Map<string, Transaction>();
    let bytes = 0;
    const wanted = [...new Set([...names, header.miningTxHash])];
    for (let at = 0; at < wanted.length; at += TRANSACTIONS) {
      for (const [key, data] of await this.#ask(wanted.slice(at, at + TRANSACTIONS), (some) =>
        this.#answers.transactions(some),
      )) {
        const transaction = this.#parse(`transaction ${key}`, () => parseTransaction(data));
        found.set(key, transaction);
        bytes += encodeTransaction(transaction).length;
        if (bytes > MOST_BLOCK_BYTES) throw this.#lies(`more than ${MOST_BLOCK_BYTES} bytes for block ${header.bNum}`);
      }
    }
    const take = (name: string): Transaction => {
      const transaction = found.get(name);
      if (transaction === undefined) throw this.#lacks(`transaction ${name} of block ${header.bNum}`);
      return transaction;
    };
    return { block, transactions: names.map(take), miningTransaction: take(header.miningTxHash) };
  }

  /** Asks for all keys, and for fewer at a time where the answer is too large or too slow for all. */
  async #ask<K>(keys: readonly K[], question: (keys: readonly K[]) => Promise<Entries>): Promise<Entries> {
    if (keys.length === 1) return this.#again(() => question(keys));
    try {
      return await question(keys);
    } catch (error) {
      this.#signal.throwIfAborted();
      if (!isTesseraError(error, 'node_unreachable')) throw error;
    }
    const half = Math.ceil(keys.length / 2);
    return [...(await this.#ask(keys.slice(0, half), question)), ...(await this.#ask(keys.slice(half), question))];
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

/** `{"block": {"header": …}}`, once or twice in each other. */
function blockIn(value: JsonValue | undefined): JsonValue | undefined {
  const inner = memberOf(value, 'block');
  return inner === undefined ? value : blockIn(inner);
}

/** A member of an object; undefined where there is none. */
export function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, name) ? value[name] : undefined;
}
