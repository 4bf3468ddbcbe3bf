/**
 * `mempool.pass_on`: transactions for a network whose blocks original nodes make go on to one of its mempool nodes, when every rule that
 * can be checked here holds. A transaction that the other node refuses is refused here too.
 */

import { transactionJson } from '../../chain/json.js';
import type { Transaction } from '../../chain/types.js';
import { nodeFetch } from '../../client/node-fetch.js';
import { type Exchanged, exchange, NoAnswer } from '../../client/transport.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import { memberOf, requestTo } from './source.js';

const TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
/** HTTP statuses of nodes without the route. */
const NO_ROUTE: ReadonlySet<number> = new Set([404, 405]);

/**
 * Sends transactions to the first of the mempool nodes that answers, by `/v1` or by the envelope routes. Throws `transaction_rejected`
 * when it refuses them, and `mempool_unreachable` when none answers; `details.mayBeTaken` where one may have taken them.
 */
export function createPassOn(urls: readonly string[], signal: AbortSignal) {
  const fetch = nodeFetch();
  const post = (url: string, path: string, body: string): Promise<Exchanged> => {
    const limits = { timeoutMs: TIMEOUT_MS, maxAnswerBytes: MAX_ANSWER_BYTES };
    return exchange(requestTo(url, path, body), { fetch, signal, ...limits }, (status) => !NO_ROUTE.has(status));
  };
  return async (transactions: readonly Transaction[]): Promise<void> => {
    const list = `[${transactions.map(transactionJson).join(',')}]`;
    let last: unknown;
    for (const url of urls) {
      try {
        const { answer } = await post(url, 'v1/transactions', `{"transactions":${list}}`).catch((error: unknown) => {
          if (!isWithoutRoute(error)) throw error;
          return post(url, 'create_transactions', list);
        });
        const status = memberOf(answer, 'status');
        if (status === undefined || status === 'Success') return;
        throw refused(url, String(memberOf(answer, 'reason')));
      } catch (error) {
        if (error instanceof NoAnswer && error.sent) throw unreachable(error, { mayBeTaken: true });
        if (!isTesseraError(error, 'node_unreachable')) throw asRefused(url, error);
        last = error;
      }
    }
    throw unreachable(last, {});
  };
}

function isWithoutRoute(error: unknown): boolean {
  return isTesseraError(error) && NO_ROUTE.has(Number(error.details.status));
}

function asRefused(url: string, error: unknown): unknown {
  return isTesseraError(error) && error.details.status !== undefined ? refused(url, error.message, error) : error;
}

function refused(url: string, reason: string, cause?: unknown): TesseraError {
  return new TesseraError('transaction_rejected', `the network's mempool node ${url} refuses it: ${reason}`, { cause });
}

function unreachable(cause: unknown, details: { readonly mayBeTaken?: true }): TesseraError {
  const message = `no mempool node of the network has answered: ${errorMessage(cause)}`;
  return new TesseraError('mempool_unreachable', message, { cause, details });
}
