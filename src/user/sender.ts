/**
 * Sends the wallet's queued transactions to the mempool node until it has answered each of them: admitted, or refused for
 * good. Anything else (no link, no room, no answer) is no answer, and the same bytes are sent again later.
 */

import { setMaxListeners } from 'node:events';
import type { Clock, Timer } from '../lib/clock.js';
import { errorMessage, isTesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import type { MessageBody } from '../peers/messages.js';
import type { Link } from '../peers/network.js';
import { encodeTransactions } from '../peers/payloads.js';
import type { OwnTransaction } from '../wallet/payments/outgoing.js';
import type { Wallet } from '../wallet/wallet.js';

/** Submissions that wait for their answer at once. */
const PARALLEL = 32;
/** Milliseconds that the mempool node has to answer. */
const ANSWER_TIMEOUT = 15_000;
/** Milliseconds before the first and the longest retry. */
const FIRST_RETRY = 250;
const MAX_RETRY = 30_000;

/** Answers that no later attempt can change. All others are about the mempool node, not about the transaction. */
const REFUSALS: ReadonlySet<string> = new Set([
  'transaction_rejected',
  'double_spend',
  'unknown_input',
  'invalid_signature',
  'malformed_transaction',
  'payload_too_large',
]);

export interface Sender {
  start(): void;
  /** Resolves when nothing is on its way any more. */
  stop(): Promise<void>;
  /** Sends what is queued, at once. */
  wake(): void;
}

export interface SenderModules {
  readonly wallet: Wallet;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where to send; undefined while the wallet is not in step. */
  readonly link: () => Link | undefined;
  readonly admitted: (transaction: OwnTransaction) => void;
  /** Inputs of these addresses came back after a refusal: the chain knows whether they are really there. */
  readonly returned: (addresses: readonly string[]) => void;
}

type Verdict = { readonly kind: 'admitted' } | { readonly kind: 'refused' | 'again'; readonly reason: string };

export function createSender(modules: SenderModules): Sender {
  const { wallet, clock, logger } = modules;
  const stopping = new AbortController();
  // Every request under way listens to it.
  setMaxListeners(0, stopping.signal);
  const running = new Set<Promise<void>>();
  let failures = 0;
  let pause: Timer | undefined;
  let off: (() => void) | undefined;

  function pump(): void {
    while (!stopping.signal.aborted && pause === undefined && running.size < PARALLEL) {
      const link = modules.link();
      const entry = link && wallet.takeQueued();
      if (link === undefined || entry === undefined) return;
      const sending = send(link, entry).finally(() => {
        running.delete(sending);
        pump();
      });
      running.add(sending);
    }
  }

  async function send(link: Link, entry: OwnTransaction): Promise<void> {
    const verdict = await submit(link, entry);
    try {
      if (verdict.kind === 'again') {
        tryAgain(entry, verdict.reason);
        return;
      }
      failures = 0;
      if (verdict.kind === 'admitted') {
        await wallet.markSent(entry.hash);
        modules.admitted(entry);
      } else {
        logger.warn({ hash: entry.hash, reason: verdict.reason }, 'the mempool has refused an own transaction');
        modules.returned(await wallet.markRejected(entry.hash, verdict.reason));
      }
    } catch (error) {
      logger.error({ hash: entry.hash, error: errorMessage(error) }, 'the answer to a payment could not be kept');
      tryAgain(entry, errorMessage(error));
    }
  }

  async function submit(link: Link, { transaction }: OwnTransaction): Promise<Verdict> {
    try {
      const attachment = encodeTransactions([transaction]);
      const options = { attachment, timeoutMs: ANSWER_TIMEOUT, signal: stopping.signal };
      const answer = await link.request('transactions.submit', {}, options);
      if (answer.type !== 'transactions.result') return { kind: 'again', reason: `unexpected answer ${answer.type}` };
      const { accepted, code, detail } = answer.body as MessageBody<'transactions.result'>;
      return accepted ? { kind: 'admitted' } : verdictOf(code, detail);
    } catch (error) {
      return isTesseraError(error)
        ? verdictOf(error.code, error.message)
        : { kind: 'again', reason: errorMessage(error) };
    }
  }

  function tryAgain(entry: OwnTransaction, reason: string): void {
    wallet.putBack(entry.hash);
    if (stopping.signal.aborted || pause !== undefined) return;
    const delay = Math.min(FIRST_RETRY * 2 ** failures, MAX_RETRY);
    failures += 1;
    logger.info({ hash: entry.hash, reason, delay }, 'a payment waits for the mempool node');
    pause = clock.after(delay, () => {
      pause = undefined;
      pump();
    });
  }

  return {
    start() {
      off = wallet.queued.on(pump);
      pump();
    },
    async stop() {
      stopping.abort();
      pause?.cancel();
      off?.();
      await Promise.all(running);
    },
    wake() {
      pause?.cancel();
      pause = undefined;
      pump();
    },
  };
}

function verdictOf(code: string, detail: string): Verdict {
  return { kind: REFUSALS.has(code) ? 'refused' : 'again', reason: detail === '' ? code : `${code}: ${detail}` };
}
