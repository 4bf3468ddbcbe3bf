/**
 * Sends queued transactions until the mempool node has admitted or refused each. A refusal is final only if it is about the transaction
 * itself and no block has it; `unknown_input` and `double_spend` may be temporary, so the payment stays queued and is looked up. Each
 * payment has its own retry time. One that spends another's output is sent after that one; one with too many waiting ancestors is sent
 * again with each block (docs/adr/0023-own-change.md).
 */

import { setMaxListeners } from 'node:events';
import { encodeTransactions } from '../chain/decode-in-pieces.js';
import { spentOutPoints } from '../chain/transaction.js';
import type { Clock, Timer } from '../lib/clock.js';
import { errorMessage, isTesseraError } from '../lib/errors.js';
import type { HasClock, HasLogger } from '../observability/modules.js';
import type { MessageBody } from '../peers/messages.js';
import type { Link } from '../peers/network.js';
import type { OwnTransaction } from '../wallet/payments/outgoing.js';
import type { Wallet } from '../wallet/wallet.js';

const PARALLEL = 32;
/** Time limit for an answer of the mempool node, in ms. */
const ANSWER_TIMEOUT = 15_000;
/** Milliseconds before the first retry of a payment, and before its later ones at most. */
const FIRST_RETRY = 250;
const MAX_RETRY = 30_000;

/** Refusals that are about the transaction itself: no later attempt can succeed, if no earlier one has. */
const FINAL_REFUSALS: ReadonlySet<string> = new Set([
  'transaction_rejected',
  'invalid_signature',
  'malformed_transaction',
  'payload_too_large',
]);
/** Refusals about the inputs. Only a block can prove them. */
const CONTESTED: ReadonlySet<string> = new Set(['double_spend', 'unknown_input']);
/** Code of a refusal for too many waiting ancestors. */
const TOO_DEEP = 'too_many_ancestors';

export interface SenderModules extends HasClock, HasLogger {
  readonly wallet: Wallet;
  /** The link to send over; undefined while the wallet is not in step. */
  readonly link: () => Link | undefined;
  readonly admitted: (transaction: OwnTransaction) => void;
  /** Looks a transaction up in the chain whose inputs are unknown, or that is refused for good, with the reason. */
  readonly contested: (hash: string, refusal?: string) => void;
  /** Called when the mempool node at this link answers that it takes no transactions now. */
  readonly unreachable: (link: Link) => void;
}

interface Verdict {
  readonly kind: 'admitted' | 'refused' | 'contested' | 'deep' | 'again';
  readonly reason: string;
  readonly isAnswer?: boolean;
  readonly isUnreachable?: boolean;
}

export class Sender {
  readonly #modules: SenderModules;
  readonly #exposure: Exposure;
  readonly #withheld = new Set<string>();
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();
  /** Payments whose last attempt failed, by hash. */
  readonly #retries = new Map<string, { failures: number; timer: Timer | undefined; waitsForBlock: boolean }>();
  /** The link in use; its controller ends requests without an answer when the wallet changes to another link. */
  #route: { readonly link: Link; readonly leaving: AbortController } | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(modules: SenderModules) {
    this.#modules = modules;
    this.#exposure = new Exposure(modules.clock);
  }

  start(): void {
    const { wallet } = this.#modules;
    for (const { hash } of wallet.outgoing.inFlight()) this.#exposure.unknown(hash);
    const offQueued = wallet.settlement.queued.on(() => this.#pump());
    const offSettled = wallet.settlement.settled.on((payment) => this.#onSettled(payment));
    this.#unsubscribe = () => {
      offQueued();
      offSettled();
    };
    this.#pump();
  }

  /** Resolves when no submission is pending. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#route?.leaving.abort();
    this.#unsubscribe?.();
    for (const { timer } of this.#retries.values()) timer?.cancel();
    this.#retries.clear();
    await Promise.all(this.#running);
  }

  wake(): void {
    const link = this.#modules.link();
    if (link !== undefined) this.#signalOf(link);
    for (const [hash, { timer }] of this.#retries) {
      timer?.cancel();
      this.#modules.wallet.outgoing.release(hash);
    }
    this.#retries.clear();
    this.#pump();
  }

  /** Sends transactions with too many waiting ancestors again: a block has come. */
  blockCame(): void {
    for (const [hash, { timer, waitsForBlock }] of [...this.#retries]) {
      if (timer === undefined || !waitsForBlock) continue;
      this.#forget(hash);
      this.#modules.wallet.outgoing.release(hash);
    }
    this.#pump();
  }

  /** Sends none of these transactions from now on, until `letGo`. */
  withhold(hashes: Iterable<string>): void {
    for (const hash of hashes) this.#withheld.add(hash);
  }

  letGo(hashes: Iterable<string>): void {
    for (const hash of hashes) {
      if (this.#withheld.delete(hash) && !this.#retries.get(hash)?.timer && !this.#exposure.isUnderWay(hash))
        this.#modules.wallet.outgoing.release(hash);
    }
    this.#pump();
  }

  exposureOf(hash: string): Exposed {
    return this.#exposure.of(hash);
  }

  #pump(): void {
    while (!this.#stopping.signal.aborted && this.#running.size < PARALLEL) {
      const link = this.#modules.link();
      const entry = link && this.#modules.wallet.outgoing.takeQueued();
      if (link === undefined || entry === undefined) return;
      if (this.#withheld.has(entry.hash)) continue;
      const sending = this.#send(link, entry).finally(() => {
        this.#running.delete(sending);
        this.#pump();
      });
      this.#running.add(sending);
    }
  }

  async #send(link: Link, entry: OwnTransaction): Promise<void> {
    const { logger, contested, unreachable } = this.#modules;
    this.#exposure.begin(entry.hash);
    const verdict = await this.#submit(link, entry);
    this.#exposure.end(entry.hash, verdict.isAnswer === true);
    if (verdict.isUnreachable) unreachable(link);
    try {
      if (verdict.kind === 'admitted') await this.#noteAdmitted(entry);
      else {
        this.#tryLater(entry, verdict.reason, verdict.kind === 'deep');
        if (verdict.kind === 'contested') contested(entry.hash);
        if (verdict.kind === 'refused') this.#noteRefused(entry, verdict.reason);
      }
    } catch (error) {
      logger.error({ hash: entry.hash, error: errorMessage(error) }, 'the answer to a payment could not be stored');
      this.#tryLater(entry, errorMessage(error));
    }
  }

  /** Signal that ends requests over this link. Requests over another link end now, and are sent again. */
  #signalOf(link: Link): AbortSignal {
    if (this.#route?.link !== link) {
      this.#route?.leaving.abort();
      this.#route = { link, leaving: new AbortController() };
      // Every pending request listens to this signal.
      setMaxListeners(0, this.#route.leaving.signal);
    }
    return this.#route.leaving.signal;
  }

  async #submit(link: Link, { transaction }: OwnTransaction): Promise<Verdict> {
    try {
      const attachment = encodeTransactions([transaction]);
      const options = { attachment, timeoutMs: ANSWER_TIMEOUT, signal: this.#signalOf(link) };
      const answer = await link.request('transactions.submit', {}, options);
      if (answer.type !== 'transactions.result') return { kind: 'again', reason: `unexpected answer ${answer.type}` };
      const { accepted, code, detail } = answer.body as MessageBody<'transactions.result'>;
      return accepted ? { kind: 'admitted', reason: '' } : { ...verdictOf(code, detail), isAnswer: true };
    } catch (error) {
      return isTesseraError(error)
        ? verdictOf(error.code, error.message)
        : { kind: 'again', reason: errorMessage(error) };
    }
  }

  async #noteAdmitted(entry: OwnTransaction): Promise<void> {
    this.#forget(entry.hash);
    const stored = this.#modules.wallet.settlement.markSent(entry.hash);
    // Payments that spend from this one go out meanwhile: after a crash, statuses tell again that it was admitted.
    this.#pump();
    await stored;
    this.#modules.admitted(entry);
  }

  /** Lets the chain decide on a refused transaction: the node may have admitted it before, and forgotten that it is in a block. */
  #noteRefused({ hash }: OwnTransaction, reason: string): void {
    const { logger, contested } = this.#modules;
    logger.warn({ hash, reason }, 'the mempool node has refused a transaction of this wallet');
    contested(hash, reason);
  }

  #tryLater({ hash }: OwnTransaction, reason: string, waitsForBlock = false): void {
    const { wallet, clock, logger } = this.#modules;
    if (this.#stopping.signal.aborted || wallet.outgoing.get(hash) === undefined) return;
    const retry = this.#retries.get(hash) ?? { failures: 0, timer: undefined, waitsForBlock };
    const delay = Math.min(FIRST_RETRY * 2 ** retry.failures, MAX_RETRY);
    logger.info({ hash, reason, delay }, 'a payment will be sent again');
    retry.failures += 1;
    retry.waitsForBlock = waitsForBlock;
    retry.timer?.cancel();
    retry.timer = clock.after(delay, () => {
      retry.timer = undefined;
      wallet.outgoing.release(hash);
      this.#pump();
    });
    this.#retries.set(hash, retry);
  }

  /** Forgets a settled transaction. If it is confirmed, those that were refused for want of its outputs are sent again. */
  #onSettled({ hash, state }: OwnTransaction): void {
    this.#forget(hash);
    this.#withheld.delete(hash);
    this.#exposure.forget(hash);
    if (state !== 'confirmed') return;
    const { outgoing } = this.#modules.wallet;
    for (const [waiting, { timer }] of [...this.#retries]) {
      const entry = timer && outgoing.get(waiting);
      if (entry === undefined || !spentOutPoints(entry.transaction).some(({ tHash }) => tHash === hash)) continue;
      this.#forget(waiting);
      outgoing.release(waiting);
    }
    this.#pump();
  }

  #forget(hash: string): void {
    this.#retries.get(hash)?.timer?.cancel();
    this.#retries.delete(hash);
  }
}

function verdictOf(code: string, detail: string): Verdict {
  const reason = detail === '' ? code : `${code}: ${detail}`;
  if (FINAL_REFUSALS.has(code)) return { kind: 'refused', reason };
  if (code === TOO_DEEP) return { kind: 'deep', reason };
  return { kind: CONTESTED.has(code) ? 'contested' : 'again', reason, isUnreachable: code === 'mempool_unreachable' };
}

/** Milliseconds in which a mempool node may still be working on a transaction that it has not answered. */
const STILL_WORKING = 60_000;

/** `fresh`: no node was given it. `refused`: not admitted, and every attempt was answered. `out`: a mempool node may have it. */
type Exposed = 'fresh' | 'refused' | 'out';

interface Attempts {
  exposed: Exclude<Exposed, 'fresh'>;
  underWay: number;
  /** Time when the last attempt ended without an answer, by the monotonic clock. */
  lostAt: number;
}

export class Exposure {
  readonly #clock: Clock;
  readonly #attempts = new Map<string, Attempts>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(hash: string): Exposed {
    const attempts = this.#attempts.get(hash);
    if (attempts === undefined) return 'fresh';
    return attempts.underWay > 0 ? 'out' : attempts.exposed;
  }

  isUnderWay(hash: string): boolean {
    return (this.#attempts.get(hash)?.underWay ?? 0) > 0;
  }

  /** Notes a transaction that was queued before this run, and may have been sent just before that one ended. */
  unknown(hash: string): void {
    this.#of(hash).lostAt = this.#clock.monotonic();
  }

  begin(hash: string): void {
    this.#of(hash).underWay += 1;
  }

  /** Ends an attempt. `isRefused`: the answer was that the transaction is not admitted. */
  end(hash: string, isRefused: boolean): void {
    const attempts = this.#attempts.get(hash);
    // The payment was settled while the answer was on its way.
    if (attempts === undefined) return;
    attempts.underWay -= 1;
    const now = this.#clock.monotonic();
    if (!isRefused) attempts.lostAt = now;
    attempts.exposed = isRefused && now - attempts.lostAt > STILL_WORKING ? 'refused' : 'out';
  }

  forget(hash: string): void {
    this.#attempts.delete(hash);
  }

  #of(hash: string): Attempts {
    const known = this.#attempts.get(hash);
    if (known !== undefined) return known;
    const attempts: Attempts = { exposed: 'out', underWay: 0, lostAt: Number.NEGATIVE_INFINITY };
    this.#attempts.set(hash, attempts);
    return attempts;
  }
}
