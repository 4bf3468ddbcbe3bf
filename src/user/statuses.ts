/** Asks a mempool node what became of transactions. */

import { TesseraError } from '../lib/errors.js';
import { MAX_LIST, type MessageBody } from '../peers/messages.js';
import type { Link, RequestOptions } from '../peers/network.js';
import type { TransactionStatus } from './evidence.js';

/** Statuses by hash; those of which the node knows nothing are not there. */
export async function fetchStatuses(
  link: Link,
  wanted: readonly string[],
  options: RequestOptions,
): Promise<ReadonlyMap<string, TransactionStatus>> {
  const found = new Map<string, TransactionStatus>();
  for (let at = 0; at < wanted.length; at += MAX_LIST) {
    const hashes = wanted.slice(at, at + MAX_LIST);
    const answer = await link.request('statuses.get', { hashes }, options);
    if (answer.type !== 'statuses') throw unexpected(link, answer.type);
    for (const status of (answer.body as MessageBody<'statuses'>).statuses) found.set(status.hash, status);
  }
  return found;
}

export function unexpected(link: Link, type: string): TesseraError {
  return new TesseraError('protocol_violation', `${link.address} answered ${type}, which was not asked for`);
}
