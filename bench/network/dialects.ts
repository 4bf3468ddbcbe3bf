/** How a load generator speaks with a network: with one of ours, and with one of the node that it replaces. */

import { randomBytes } from 'node:crypto';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import type { Transaction } from '../../src/chain/types.js';
import { NodeClient } from '../../src/client/client.js';
import { followEvents } from '../../src/client/events.js';
import { stringifyExact } from '../../src/lib/json.js';
import { requestBytes } from '../load.js';
import type { Place } from './orders.js';

export interface Dialect {
  /** The bytes of a post. */
  post(payments: readonly Transaction[]): Buffer;
  /** The status that says that a post is admitted. */
  readonly admitted: number;
  /** Milliseconds without a block after which the network has dropped what is left; absent where it drops nothing. */
  readonly dropsAfterMs?: number;
  /** Tells what transactions each block confirms that comes from now on, but for the coinbase. */
  watch(onBlock: (transactions: readonly string[]) => void): Promise<void>;
}

/** Milliseconds between two questions for the original's next block: it has no events. */
const ASK_MS = 100;
/** The original makes a block each half second. */
const DROPS_AFTER_MS = 5_000;

const listOf = (payments: readonly Transaction[]): string =>
  payments.map((payment) => stringifyExact(transactionToCreateJson(payment))).join(',');

export const dialectOf = (place: Place): Dialect => (place.isOriginal ? original(place) : tessera(place));

/** Of each block the mempool node tells, and storage what is in it. */
function tessera({ mempool, storage }: Place): Dialect {
  return {
    admitted: 201,
    post: (payments) => requestBytes(`${mempool}/v1/transactions`, 'POST', `{"transactions":[${listOf(payments)}]}`),
    watch: async (onBlock) => {
      const { api } = new NodeClient({ url: storage });
      const request = { url: `${mempool}/v1/events?topics=blocks`, signal: new AbortController().signal };
      for await (const { name, data } of followEvents(request, () => undefined)) {
        if (name !== 'block') continue;
        const { block_num: num } = JSON.parse(data) as { block_num: number };
        const { data: stored } = await api.getBlock({ params: { num } });
        onBlock((stored as StoredBlock).block.transactions);
      }
    },
  };
}

/** Answers are remembered by `x-cache-id`, so each request has its own. */
export const originalHeaders = (): Record<string, string> => ({ 'x-cache-id': randomBytes(16).toString('hex') });

export const originalPost = (url: string, payments: readonly Transaction[]): Buffer =>
  requestBytes(`${url}/create_transactions`, 'POST', `[${listOf(payments)}]`, originalHeaders());

function original({ mempool, storage }: Place): Dialect {
  const blocksFrom = async (height: number): Promise<readonly StoredBlock[]> => {
    const headers = { ...originalHeaders(), 'content-type': 'application/json' };
    const answer = await fetch(`${storage}/block_by_num`, { method: 'POST', headers, body: `[${height}]` });
    const { content } = (await answer.json()) as { readonly content: readonly (readonly [string, StoredBlock])[] };
    // It answers for a block that is not there, too.
    return answer.ok ? content.flatMap(([hash, block]) => (hash === '' ? [] : [block])) : [];
  };
  return {
    admitted: 200,
    dropsAfterMs: DROPS_AFTER_MS,
    post: (payments) => originalPost(mempool, payments),
    watch: async (onBlock) => {
      for (let height = 1; ; await new Promise((resolve) => setTimeout(resolve, ASK_MS))) {
        for (const { block } of await blocksFrom(height)) {
          onBlock(block.transactions);
          height++;
        }
      }
    },
  };
}

type StoredBlock = { readonly block: { readonly transactions: readonly string[] } };
