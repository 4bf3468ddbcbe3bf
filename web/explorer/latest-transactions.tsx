/**
 * The last transactions: those of the last blocks, and, where the node tells of them (mempool nodes, dev networks), those that
 * wait for one.
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import { grouped } from '../shared/amounts.js';
import { useResource } from '../shared/use-resource.js';
import { useEvents } from '../shared/use-stream.js';
import { type ChainReader, readerOf } from './chain/reader.js';
import type { Block, TransactionSummary } from './chain/shapes.js';
import { useChain } from './chain/use-chain.js';
import { payments } from './figures.js';
import { BlockLink, Paid, TransactionLink } from './parts.js';

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
  const known = useRef<{ readonly top?: string | undefined; readonly found: readonly TransactionSummary[] }>({
    found: [],
  });
  const { value = [] } = useResource(
    source && `latest-transactions/${source}`,
    async (signal) => {
      const { top, found } = known.current;
      const at = blocks.findIndex(({ hash }) => hash === top);
      const reader = readerOf(source);
      // Of a chain that has grown only what is new is read.
      const fresh = await lastIn(at < 0 ? backwards(reader, blocks, signal) : blocks.slice(0, at), reader, signal);
      const all = [...fresh, ...(at < 0 ? [] : found)].slice(0, LISTED);
      known.current = { top: blocks[0]?.hash, found: all };
      return all;
    },
    blocks[0]?.hash,
  );
  const shown = waiting.filter((hash) => !value.some(({ tx_hash }) => tx_hash === hash)).slice(0, LISTED);
  return (
    <section class="panel" aria-labelledby="latest-transactions">
      <div class="panel-head">
        <h2 id="latest-transactions">Transactions</h2>
      </div>
      {shown.length + value.length === 0 && <p class="none">None in the last {grouped(LOOKED_BACK)} blocks.</p>}
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
        {value.slice(0, Math.max(0, LISTED - shown.length)).map((transaction) => (
          <li key={transaction.tx_hash}>
            <span class="line-main">
              <TransactionLink hash={transaction.tx_hash} />
            </span>
            <span class="line-part">
              <Paid value={transaction} />
            </span>
            <span class="line-end">
              block <BlockLink number={transaction.block_num} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Blocks that are looked through, in so many at once, when the last ones have few transactions. */
const LOOKED_BACK = 5_000;
const AT_ONCE = 100;

/** The last transactions in the blocks, newest first, without coinbases. */
async function lastIn(
  blocks: AsyncIterable<Block> | Iterable<Block>,
  reader: ChainReader,
  signal: AbortSignal,
): Promise<readonly TransactionSummary[]> {
  const found: TransactionSummary[] = [];
  for await (const block of blocks) {
    if (found.length >= LISTED) break;
    if (payments(block) === 0) continue;
    const { entries } = await reader.readBlockTransactions(String(block.block_num), undefined, signal);
    found.push(...entries.filter(({ kind }) => kind !== 'coinbase').reverse());
  }
  return found.slice(0, LISTED);
}

/** Shows these blocks, and those before them. */
async function* backwards(
  reader: Pick<ChainReader, 'readBlocks'>,
  newest: readonly Block[],
  signal: AbortSignal,
): AsyncGenerator<Block> {
  let [blocks, left] = [newest, LOOKED_BACK];
  while (blocks.length > 0 && left > 0) {
    yield* blocks;
    left -= blocks.length;
    const before = Number(blocks.at(-1)?.block_num ?? 0);
    blocks = before > 0 ? await reader.readBlocks(AT_ONCE, before, signal) : [];
  }
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
