/** The first page: the chain as it grows. */

import { useState } from 'preact/hooks';
import { grouped } from '../../shared/amounts.js';
import { Amount } from '../../shared/components/amount.js';
import { Loaded } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { When } from '../../shared/components/when.js';
import { BlocksAhead } from '../blocks-ahead.js';
import type { Block } from '../chain/shapes.js';
import { useChain } from '../chain/use-chain.js';
import { useRecentBlocks } from '../chain/use-recent-blocks.js';
import { ChainCharts } from '../chain-charts.js';
import { duration, expectedHashes, intervals, median, payments, percentIssued, short, throughput } from '../figures.js';
import { LatestTransactions } from '../latest-transactions.js';
import { BlockLink } from '../parts.js';
import { blockPath } from '../paths.js';
import { useMempool } from '../use-mempool.js';

/** Blocks in the plots. */
const WINDOW = 160;
/** Blocks in the list. */
const LISTED = 10;
/** Tiles of blocks to come, and of the last ones. */
const AHEAD = 3;
const LAST = 5;

export function OverviewPage() {
  const [isPaused, setPaused] = useState(false);
  const blocks = useRecentBlocks(WINDOW, isPaused);
  const { value: mempool } = useMempool();
  return (
    <Page title="The chain, live">
      <Loaded resource={blocks} what="blocks">
        {(newest) => (
          <>
            {mempool !== undefined && (
              <BlocksAhead ahead={mempool.blocks.slice(0, AHEAD)} stored={newest.slice(0, LAST)} />
            )}
            <Figures blocks={newest} />
            <section class="panel mosaic-panel" aria-label={`The last ${newest.length} blocks`}>
              <div class="panel-head">
                <h2>Last {grouped(newest.length)} blocks</h2>
                <button type="button" class="button small" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
                  {isPaused ? 'Go on' : 'Pause'}
                </button>
              </div>
              <BlockMosaic blocks={newest} />
            </section>
            <div class="columns">
              <LatestBlocks blocks={newest.slice(0, LISTED)} />
              <LatestTransactions blocks={newest} isPaused={isPaused} />
            </div>
            <ChainCharts blocks={newest} />
            <p>
              <a href="/charts">Charts of all blocks</a>
            </p>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Figures({ blocks }: { readonly blocks: readonly Block[] }) {
  const { height } = useChain();
  const last = blocks[0];
  const speed = throughput(blocks);
  const time = median(intervals(blocks).map(({ y }) => y));
  return (
    <dl class={last?.issued === undefined ? 'figures four' : 'figures'}>
      <div>
        <dt>Height</dt>
        <dd>
          <strong>{grouped(Math.max(0, height ?? 0))}</strong>
          <span>{last === undefined ? 'no block yet' : <When seconds={last.time} hasAge />}</span>
        </dd>
      </div>
      <div>
        <dt>Throughput</dt>
        <dd>
          <strong>{speed === undefined ? '–' : Number(speed.toPrecision(3)).toLocaleString()}</strong>
          <span>transactions in a second</span>
        </dd>
      </div>
      <div>
        <dt>Block time</dt>
        <dd>
          <strong>{time === undefined ? '–' : duration(time)}</strong>
          <span>median</span>
        </dd>
      </div>
      <div>
        <dt>Difficulty</dt>
        <dd>
          <strong>{last === undefined ? '–' : short(expectedHashes(last.difficulty))}</strong>
          <span>hashes for a block</span>
        </dd>
      </div>
      {last?.issued !== undefined && (
        <div class="wide">
          <dt>Supply</dt>
          <dd>
            <strong>
              <Amount raw={last.issued} hasBoth={false} decimals={0} />
            </strong>
            <span>
              {percentIssued(last.issued)} of all, {grouped(last.issued)} raw
            </span>
          </dd>
        </div>
      )}
    </dl>
  );
}

/** Transactions without the coinbase: how full a tile is. */
function fullness(block: Block): string {
  const count = payments(block);
  if (count === 0) return 'empty';
  return count < 3 ? 'few' : count < 20 ? 'some' : count < 200 ? 'many' : 'full';
}

/** A tile for each block, the newest first. The list beside it has the same for keyboards and screen readers. */
function BlockMosaic({ blocks }: { readonly blocks: readonly Block[] }) {
  return (
    <>
      <div class="tiles" aria-hidden="true">
        {blocks.map((block) => (
          <a key={block.hash} class={`tile ${fullness(block)}`} href={blockPath(block.block_num)} tabIndex={-1}>
            <span class="unseen">{grouped(block.block_num)}</span>
          </a>
        ))}
      </div>
      <p class="legend" aria-hidden="true">
        <span class="tile empty" /> empty <span class="tile few" /> 1 <span class="tile some" /> 3{' '}
        <span class="tile many" /> 20 <span class="tile full" /> 200 and more transactions
      </p>
    </>
  );
}

function LatestBlocks({ blocks }: { readonly blocks: readonly Block[] }) {
  // What was there at first has not just arrived.
  const [since] = useState(blocks[0]?.block_num ?? 0n);
  return (
    <section class="panel" aria-labelledby="latest-blocks">
      <div class="panel-head">
        <h2 id="latest-blocks">Blocks</h2>
        <a href="/blocks">All blocks</a>
      </div>
      <ul class="lines">
        {blocks.map((block) => (
          <li key={block.hash} class={block.block_num > since ? 'fresh' : ''}>
            <span class="line-main">
              <BlockLink number={block.block_num} />
            </span>
            <span class="line-part">{count(payments(block))}</span>
            <span class="line-end">
              <When seconds={block.time} hasAge />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function count(transactions: number): string {
  if (transactions === 0) return 'empty';
  return `${grouped(transactions)} ${transactions === 1 ? 'transaction' : 'transactions'}`;
}
