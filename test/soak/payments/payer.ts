/**
 * Clients of a wallet that lose answers: each takes one intent after the other, asks for it until it has an answer, and now
 * and then again behind that.
 */

import { createPayment } from '../../../src/api/routes/wallet/operations.js';
import { NodeClient } from '../../../src/client/client.js';
import { isTesseraError } from '../../../src/lib/errors.js';
import type { Chance } from '../../reliability/chance.js';
import type { NodeProcess } from '../../support/processes.js';
import type { Intent } from './books.js';

export const PASSPHRASE = 'a passphrase';
/** Milliseconds until a client gives up an answer, when it is to lose one: before, while and after the node acts. */
const LOSING_MS = 150;
const ANSWER_MS = 20_000;
/** Milliseconds between two attempts. */
const AGAIN_MS = 150;

/** An intent that collects its answers. */
export interface OpenIntent extends Intent {
  readonly answers: Set<string>;
}

export class Payer {
  readonly #node: NodeProcess;
  readonly #chance: Chance;
  readonly #begun: OpenIntent[] = [];
  /** What was said instead of an answer, and how often. */
  readonly refusals = new Map<string, number>();
  readonly faults: string[] = [];
  attempts = 0;
  done = 0;

  constructor(node: NodeProcess, chance: Chance) {
    this.#node = node;
    this.#chance = chance;
  }

  /** Those that were asked for at least once. */
  get intents(): readonly OpenIntent[] {
    return this.#begun;
  }

  /** Resolves when the intent is answered; the client may ask once more. */
  async fulfil(intent: OpenIntent): Promise<void> {
    const chance = this.#chance;
    this.#begun.push(intent);
    while (!(await this.#attempt(intent))) await pause(AGAIN_MS * chance.next());
    this.done += 1;
    // A repetition of what is done, and the same key for something else.
    if (chance.below(10) === 0) await this.#ask(intent, ANSWER_MS);
    if (chance.below(20) === 0) await this.#askForAnother(intent);
  }

  /** True when an answer came, and the client has not lost it. */
  async #attempt(intent: OpenIntent): Promise<boolean> {
    const chance = this.#chance;
    switch (chance.below(6)) {
      case 0:
        await this.#ask(intent, 1 + chance.below(LOSING_MS));
        return false;
      case 1:
        // The answer came, and the client ended over it.
        await this.#ask(intent, ANSWER_MS);
        return false;
      case 2: {
        const both = await Promise.all([this.#ask(intent, ANSWER_MS), this.#ask(intent, ANSWER_MS)]);
        return both.includes(true);
      }
      default:
        return this.#ask(intent, ANSWER_MS);
    }
  }

  /** True for a 202. */
  async #ask(intent: OpenIntent, timeoutMs: number): Promise<boolean> {
    const hash = await this.#call(intent.amount, intent, timeoutMs);
    if (hash === undefined) return false;
    intent.answers.add(hash);
    return true;
  }

  async #askForAnother(intent: OpenIntent): Promise<void> {
    const hash = await this.#call(intent.amount + 1n, intent, ANSWER_MS, true);
    if (hash !== undefined) this.faults.push(`${intent.key} was answered with ${hash} for another request`);
  }

  async #call(
    amount: bigint,
    { key, address }: Intent,
    timeoutMs: number,
    isAnother = false,
  ): Promise<string | undefined> {
    this.attempts += 1;
    const client = new NodeClient({ url: this.#node.apiUrl, timeoutMs });
    const body = { kind: 'address' as const, address, amount, passphrase: PASSPHRASE };
    try {
      const { tx_hash: hash } = await client.call(createPayment, { body }, { idempotencyKey: key });
      if (hash === null) throw new Error('a payment without a hash');
      return hash;
    } catch (error) {
      if (!isTesseraError(error)) throw error;
      this.refusals.set(error.code, (this.refusals.get(error.code) ?? 0) + 1);
      if (error.code === 'idempotency_key_reused' && !isAnother) this.faults.push(`${key}: ${error.message}`);
      return undefined;
    }
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
