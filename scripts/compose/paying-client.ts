/** A program that pays through a load balancer, as one would be written with the client library: one payment after the other. */

import { setTimeout as pause } from 'node:timers/promises';
import { type DevAccount, devAccounts } from '../../src/config/dev-accounts.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { createClient } from '../../src/sdk/client.js';
import { buildPayment, submitTransactions, type UnspentOutput, unspentOutputs } from '../../src/sdk/wallet.js';

/** How long one payment is sent again, in ms. */
const PATIENCE_MS = 120_000;
/** Between two payments, in ms. */
const PAUSE_MS = 50;
const AMOUNT = 1_000n;

export class PayingClient {
  readonly #client: ReturnType<typeof createClient>;
  /** All but the first, which the README pays, and the last, for single attempts. */
  readonly #payers: readonly DevAccount[];
  readonly #single: DevAccount;
  readonly #funds = new Map<string, readonly UnspentOutput[]>();
  readonly #accepted: string[] = [];
  readonly #refused: string[] = [];
  #running: Promise<void> | undefined;
  #stopped = false;
  #lastMs = performance.now();
  #gapMs = 0;

  constructor(url: string) {
    this.#client = createClient({ url });
    const [, ...others] = devAccounts().accounts;
    this.#single = others.pop() as DevAccount;
    this.#payers = others;
  }

  /** Hashes of the payments that were accepted. */
  get accepted(): readonly string[] {
    return this.#accepted;
  }

  /** Why payments were given up. */
  get refused(): readonly string[] {
    return this.#refused;
  }

  get addresses(): readonly string[] {
    return this.#payers.map(({ address }) => address);
  }

  /** The longest time between two accepted payments since `resetGap`. */
  get longestGapMs(): number {
    return Math.max(this.#gapMs, performance.now() - this.#lastMs);
  }

  resetGap(): void {
    this.#gapMs = 0;
  }

  async start(): Promise<void> {
    for (const { address } of this.#payers) this.#funds.set(address, await this.#fundsOf(address));
    this.#lastMs = performance.now();
    this.#running = this.#payOn();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  /** Resolves when so many more were accepted. */
  async paid(count: number): Promise<void> {
    const target = this.#accepted.length + count;
    while (this.#accepted.length < target) {
      if (this.#refused.length > 0) throw new Error(`a payment was refused: ${this.#refused.join('; ')}`);
      await pause(PAUSE_MS);
    }
  }

  /** One new payment, sent once: what the answer says. */
  async tryOnce(): Promise<string> {
    const { address, keyPair } = this.#single;
    try {
      const unspent = await this.#fundsOf(address);
      const { transaction } = buildPayment({ unspent, keys: [keyPair], to: address, amount: AMOUNT });
      await submitTransactions(this.#client, [transaction], { retryForMs: 0 });
      return 'accepted';
    } catch (error) {
      return textOf(error);
    }
  }

  async #payOn(): Promise<void> {
    for (let n = 0; !this.#stopped; n++) {
      const payer = this.#payers[n % this.#payers.length] as DevAccount;
      await this.#pay(payer).catch((error: unknown) => this.#refused.push(textOf(error)));
      await pause(PAUSE_MS);
    }
  }

  /** From its change, before a block has it. */
  async #pay({ address, keyPair }: DevAccount): Promise<void> {
    const unspent = this.#funds.get(address) ?? [];
    const { transaction, hash, change } = buildPayment({ unspent, keys: [keyPair], to: address, amount: AMOUNT });
    await submitTransactions(this.#client, [transaction], { retryForMs: PATIENCE_MS });
    this.#funds.set(address, change === null ? [] : [change]);
    this.#accepted.push(hash);
    const now = performance.now();
    this.#gapMs = Math.max(this.#gapMs, now - this.#lastMs);
    this.#lastMs = now;
  }

  async #fundsOf(address: string): Promise<readonly UnspentOutput[]> {
    return unspentOutputs(await this.#client.getBalances({ address: [address] }));
  }
}

function textOf(error: unknown): string {
  if (isTesseraError(error)) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}
