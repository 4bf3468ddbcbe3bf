/** Transactions that wait at the mempool of this node, read again as transactions and blocks come. */

import { useEffect, useState } from 'preact/hooks';
import type { MempoolResponse } from '../../src/sdk/client.js';
import { node } from '../shared/node.js';
import { useServes } from '../shared/use-node.js';
import { type Resource, useResource } from '../shared/use-resource.js';
import { useEvents } from '../shared/use-stream.js';
import { useThrottled } from './chain/use-chain.js';

export const MEMPOOL = '/v1/mempool';
const AT_MOST_EVERY_MS = 1_000;
/** Who looks while nothing is told may have missed something: the next block is cut without a word. */
const AGAIN_MS = 5_000;

/** Counts news of blocks and transactions, and seconds. */
export function useMempoolNews(): number {
  const [news, setNews] = useState(0);
  const more = (): void => setNews((count) => count + 1);
  useEvents('transaction', more);
  useEvents('block', more);
  useEffect(() => {
    const timer = setInterval(more, AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  return useThrottled(news, AT_MOST_EVERY_MS);
}

export function useMempool(): Resource<MempoolResponse> {
  const isServed = useServes(MEMPOOL);
  const news = useMempoolNews();
  return useResource(isServed ? 'mempool' : undefined, (signal) => node.getMempool({}, { signal }), news);
}
