/**
 * The last transactions: those of the last blocks, and, where the node tells of them (mempool nodes, dev networks), those that
 * wait for one.
 */

import { useEffect, useState } from 'preact/hooks';
import { Amount } from '../shared/components/amount.js';
import { useResource } from '../shared/use-resource.js';
import { useEvents } from '../shared/use-stream.js';
import { readerOf } from './chain/reader.js';
import type { Block, TransactionSummary } from './chain/shapes.js';
import { useChain } from './chain/use-chain.js';
import { BlockLink, Kind, TransactionLink } from './parts.js';

const LISTED = 10;

export function LatestTransactions({
  blocks,
  isPaused,
}: {
  readonly blocks: readonly Block[];
  readonly isPaused: boolean;
}) {
  const { source } = useChain();
  const waiting = useWaiting(isPaused);
  const { value = [] } = useResource(
    source && `latest-transactions/${source}`,
    async (signal) => {
      const found: TransactionSummary[] = [];
      for (const block of blocks) {
        if (found.length >= LISTED) break;
        if (block.transactions <= 1n) continue;
        const { entries } = await readerOf(source).readBlockTransactions(String(block.block_num), undefined, signal);
        const others = entries.filter(({ kind }) => kind !== 'coinbase');
        found.push(...others.reverse().slice(0, LISTED - found.length));
      }
      return found;
    },
    blocks[0]?.hash,
  );
  const shown = waiting.filter((hash) => !value.some(({ tx_hash }) => tx_hash === hash)).slice(0, LISTED);
  return (
    <section class="panel" aria-labelledby="latest-transactions">
      <div class="panel-head">
        <h2 id="latest-transactions">Transactions</h2>
      </div>
      {shown.length + value.length === 0 && <p class="none">Only coinbases in the last blocks.</p>}
      <ul class="lines">
        {shown.map((hash) => (
          <li key={hash} class="fresh">
            <span class="line-main">
              <TransactionLink hash={hash} />
            </span>
            <span class="line-end">
              <span class="tag wait">waiting</span>
            </span>
          </li>
        ))}
        {value.slice(0, Math.max(0, LISTED - shown.length)).map(({ tx_hash, kind, tokens, block_num }) => (
          <li key={tx_hash}>
            <span class="line-main">
              <TransactionLink hash={tx_hash} />
            </span>
            <span class="line-part">
              {kind === 'creation' ? <Kind kind={kind} /> : <Amount raw={tokens} hasBoth={false} decimals={2} />}
            </span>
            <span class="line-end">
              block <BlockLink number={block_num} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Number of waiting transactions that are remembered. */
const REMEMBERED = 100;
/** Events are taken together for so long, in ms: thousands may come in a second. */
const GATHER_MS = 250;

/** The hashes of transactions that were admitted and are in no block yet, newest first. */
function useWaiting(isPaused: boolean): readonly string[] {
  const [waiting, setWaiting] = useState<readonly string[]>([]);
  const [news] = useState(() => new Map<string, 'admitted' | 'confirmed' | 'rejected'>());
  useEvents('transaction', ({ hash, status }) => {
    news.delete(hash);
    news.set(hash, status);
    if (news.size > 10 * REMEMBERED) news.delete(news.keys().next().value ?? '');
  });
  useEffect(() => {
    const timer = setInterval(() => {
      if (news.size === 0 || isPaused) return;
      const admitted = [...news].flatMap(([hash, status]) => (status === 'admitted' ? [hash] : [])).reverse();
      const settled = new Set(news.keys());
      news.clear();
      setWaiting((old) => [...admitted, ...old.filter((hash) => !settled.has(hash))].slice(0, REMEMBERED));
    }, GATHER_MS);
    return () => clearInterval(timer);
  }, [news, isPaused]);
  return waiting;
}
