/** All blocks, newest first: a list that scrolls from the last to the first, of which only what is in sight is read. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { grouped } from '../../shared/amounts.js';
import { Amount } from '../../shared/components/amount.js';
import { Hash } from '../../shared/components/hash.js';
import { Failed, Loaded, Notice } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { type Column, Table } from '../../shared/components/table.js';
import { When } from '../../shared/components/when.js';
import { navigate, usePlace } from '../../shared/router.js';
import { useStream } from '../../shared/use-stream.js';
import { readerOf } from '../chain/reader.js';
import type { Block } from '../chain/shapes.js';
import { type Chain, useChain } from '../chain/use-chain.js';
import { byteSize, payments } from '../figures.js';
import { AddressLink, BlockLink } from '../parts.js';
import { blockPath } from '../paths.js';

/** Blocks that are read at once. */
const CHUNK = 100;
/** Chunks that are remembered. */
const MAX_CHUNKS = 100;
/** Rows of one list: browsers bound the height of what they draw. */
const MAX_ROWS = 100_000;
/** The list follows the chain while the reader is at its top. */
const AT_TOP_PX = 120;

export function BlocksPage() {
  const { query } = usePlace();
  const { source, height, error } = useChain();
  const { version } = useStream();
  const from = /^\d{1,15}$/.test(query.get('from') ?? '') ? Number(query.get('from')) : undefined;
  const isKnown = source !== undefined && height !== undefined;
  return (
    <Page title="Blocks">
      <GoTo />
      <Loaded
        resource={{ value: isKnown || undefined, error, isLoading: !isKnown, reload: () => location.reload() }}
        what="blocks"
      >
        {() =>
          height === undefined || height < 0 ? (
            <Notice title="No block is stored yet">
              <p>They appear here as they come.</p>
            </Notice>
          ) : (
            <BlockList key={`${source}/${from}/${version}`} source={source} height={height} from={from} />
          )
        }
      </Loaded>
    </Page>
  );
}

function GoTo() {
  const [number, setNumber] = useState('');
  return (
    <form
      class="go-to"
      onSubmit={(event) => {
        event.preventDefault();
        if (/^\d+$/.test(number)) navigate(`/blocks?from=${number}`);
      }}
    >
      <label>
        From block{' '}
        <input
          class="field"
          inputMode="numeric"
          pattern="[0-9]*"
          value={number}
          onInput={({ currentTarget }) => setNumber(currentTarget.value.trim())}
        />
      </label>
      <button type="submit" class="button">
        Show
      </button>
    </form>
  );
}

interface BlockListProps {
  readonly source: Chain['source'];
  readonly height: number;
  readonly from: number | undefined;
}

function BlockList({ source, height, from }: BlockListProps) {
  const [top, setTop] = useState(Math.min(height, from ?? height));
  const follows = from === undefined;
  useEffect(() => {
    // After a restart the chain may be shorter.
    if (top > height || (follows && scrollY < AT_TOP_PX)) setTop(Math.min(height, follows ? height : top));
  }, [height, follows, top]);
  const { blockAt, need, error, retry } = useChunks(source, height);
  const rowAt = useCallback((index: number) => blockAt(top - index), [blockAt, top]);
  const onRange = useCallback((first: number, last: number) => need(top - last, top - first), [need, top]);
  const news = height - top;
  return (
    <>
      {follows && news > 0 && (
        <p class="news" role="status">
          <button
            type="button"
            class="button main"
            onClick={() => {
              setTop(height);
              scrollTo(0, 0);
            }}
          >
            {grouped(news)} new {news === 1 ? 'block' : 'blocks'}
          </button>
        </p>
      )}
      {error !== undefined && <Failed error={error} retry={retry} />}
      <Table
        label="Blocks"
        columns={source === 'index' ? INDEX_COLUMNS : COLUMNS}
        count={Math.min(top + 1, MAX_ROWS)}
        total={top + 1}
        rowAt={rowAt}
        keyOf={({ hash }) => hash}
        onRange={onRange}
      />
      {top + 1 > MAX_ROWS && (
        <p>
          <a href={`/blocks?from=${top - MAX_ROWS}`}>Older blocks</a>
        </p>
      )}
    </>
  );
}

/** Blocks by number, read in chunks when rows are about to be seen. */
function useChunks(source: Chain['source'], height: number) {
  const chunks = useRef(new Map<number, readonly Block[]>());
  const pending = useRef(new Map<number, AbortController>());
  const [, redraw] = useState(0);
  const [attempt, setAttempt] = useState(0);
  const [error, setError] = useState<Error>();
  const tip = useRef(height);
  tip.current = height;

  const load = useCallback(
    async (chunk: number): Promise<void> => {
      const ending = new AbortController();
      pending.current.set(chunk, ending);
      try {
        const before = Math.min((chunk + 1) * CHUNK, tip.current + 1);
        const blocks = await readerOf(source).readBlocks(before - chunk * CHUNK, before, ending.signal);
        chunks.current.delete(chunk);
        chunks.current.set(chunk, blocks);
        const [oldest] = chunks.current.keys();
        if (chunks.current.size > MAX_CHUNKS && oldest !== undefined) chunks.current.delete(oldest);
        setError(undefined);
      } catch (failure) {
        if (!ending.signal.aborted) setError(failure instanceof Error ? failure : new Error(String(failure)));
      } finally {
        if (pending.current.get(chunk) === ending) pending.current.delete(chunk);
        if (!ending.signal.aborted) redraw((count) => count + 1);
      }
    },
    [source],
  );

  useEffect(() => {
    const open = pending.current;
    return () => {
      for (const ending of open.values()) ending.abort();
    };
  }, []);

  const blockAt = useCallback((number: number): Block | undefined => {
    const chunk = chunks.current.get(Math.floor(number / CHUNK));
    return chunk?.find(({ block_num }) => Number(block_num) === number);
  }, []);

  const need = useCallback(
    (low: number, high: number): void => {
      const wanted = new Set([Math.floor(Math.max(0, low) / CHUNK), Math.floor(Math.max(0, high) / CHUNK)]);
      // A reader who scrolls fast leaves the chunks between behind.
      for (const [chunk, ending] of pending.current) if (!wanted.has(chunk)) ending.abort();
      for (const chunk of wanted) {
        const isWhole = blockAt(Math.min(high, (chunk + 1) * CHUNK - 1)) && blockAt(Math.max(low, chunk * CHUNK));
        const open = pending.current.get(chunk);
        if (!isWhole && (open === undefined || open.signal.aborted)) void load(chunk);
      }
    },
    [blockAt, load, attempt],
  );
  const retry = useCallback(() => {
    setError(undefined);
    // Another function: the table then says again what it needs.
    setAttempt((count) => count + 1);
  }, []);
  return { blockAt, need, error, retry };
}

const NUMBER: Column<Block> = {
  head: 'Block',
  width: '7rem',
  cell: ({ block_num }) => <BlockLink number={block_num} />,
};
const AGE: Column<Block> = {
  head: 'Age',
  width: 'minmax(8rem, 1fr)',
  cell: ({ time }) => <When seconds={time} hasAge />,
};
const COUNT: Column<Block> = {
  head: 'Transactions',
  width: '7rem',
  isNumber: true,
  cell: (block) => grouped(payments(block)),
};
const HASH: Column<Block> = {
  head: 'Hash',
  width: 'minmax(10rem, 1.3fr)',
  cell: ({ hash }) => <Hash value={hash} href={blockPath(hash)} />,
};

const COLUMNS: readonly Column<Block>[] = [NUMBER, AGE, COUNT, HASH];
const INDEX_COLUMNS: readonly Column<Block>[] = [
  NUMBER,
  AGE,
  COUNT,
  { head: 'Size', width: '7rem', isNumber: true, cell: ({ bytes = 0n }) => byteSize(bytes) },
  HASH,
  { head: 'Miner', width: 'minmax(10rem, 1.3fr)', cell: ({ miner = null }) => <AddressLink address={miner} /> },
  {
    head: 'Reward',
    width: 'minmax(9rem, 1fr)',
    isNumber: true,
    cell: ({ reward = 0 }) => <Amount raw={reward} hasBoth={false} decimals={2} />,
  },
];
