/** Charts of the chain: made from blocks of the index, each so many after the one before it. */

import { grouped, tokenText } from '../shared/amounts.js';
import { Chart, type Point } from '../shared/components/chart.js';
import type { Block } from './chain/shapes.js';
import { duration, expectedHashes, payments, short } from './figures.js';

const RAW_IN_TOKEN = 72_072_000n;

/** Changes between each block and the one before it in the list; blocks have whole seconds. */
function steps(newestFirst: readonly Block[], value: (from: Block, to: Block, seconds: number) => number): Point[] {
  return newestFirst
    .slice(0, -1)
    .map((to, at) => {
      const from = newestFirst[at + 1] ?? to;
      const isTimed = Number(from.time) > 0;
      const seconds = Number(to.time) - Number(from.time);
      return { x: Number(to.block_num), y: isTimed ? value(from, to, Math.max(0, seconds)) : null };
    })
    .reverse();
}

/** Amounts that differ little from each other. */
const precise = (y: number): string =>
  new Intl.NumberFormat(undefined, { notation: 'compact', maximumSignificantDigits: 8 }).format(y);

const count = (from: Block, to: Block): number =>
  to.transactions_so_far === undefined || from.transactions_so_far === undefined
    ? payments(to)
    : Number(to.transactions_so_far - from.transactions_so_far);

export function ChainCharts({ blocks }: { readonly blocks: readonly Block[] }) {
  const oldestFirst = [...blocks].reverse();
  const supply = oldestFirst.flatMap(({ block_num, issued }) =>
    issued === undefined ? [] : [{ x: Number(block_num), y: Number(BigInt(issued) / RAW_IN_TOKEN) }],
  );
  return (
    <section class="plots" aria-label="Charts">
      <Chart
        title="Throughput"
        kind="bars"
        color="sea"
        points={steps(blocks, (from, to, seconds) => count(from, to) / Math.max(1, seconds))}
        show={(y) => `${Number(y.toPrecision(3)).toLocaleString()} a second`}
        showShort={short}
      />
      <Chart
        title="Block time"
        kind="bars"
        color="gold"
        points={steps(blocks, (from, to, seconds) => seconds / Number(BigInt(to.block_num) - BigInt(from.block_num)))}
        show={duration}
        showShort={(y) => `${short(y)} s`}
      />
      <Chart
        title="Difficulty"
        kind="steps"
        color="clay"
        points={oldestFirst.map(({ block_num, difficulty }) => ({
          x: Number(block_num),
          y: expectedHashes(difficulty),
        }))}
        show={(y) => `${short(y)} hashes`}
        showShort={short}
      />
      {supply.length > 0 && (
        <Chart
          title="Supply"
          kind="steps"
          color="lapis"
          points={supply}
          show={(y) => `${grouped(y)} tokens`}
          showShort={precise}
          isRelative
        />
      )}
    </section>
  );
}

/** Balance after each of the last transactions of an address, newest first, from what it has now. */
export function BalanceChart({ tokens, movements }: { readonly tokens: bigint; readonly movements: readonly Moved[] }) {
  let balance = tokens;
  const byBlock = new Map<number, bigint>();
  for (const { block_num, received, sent } of movements) {
    // The newest of a block comes first: what it leaves is what the block leaves.
    if (!byBlock.has(Number(block_num))) byBlock.set(Number(block_num), balance);
    balance -= BigInt(received) - BigInt(sent);
  }
  const points = [...byBlock].map(([x, raw]) => ({ x, y: Number(raw) / Number(RAW_IN_TOKEN) })).reverse();
  return (
    <Chart
      title="Balance"
      kind="steps"
      color="lapis"
      points={points}
      show={(y) => `${tokenText(BigInt(Math.round(y * Number(RAW_IN_TOKEN))), 2).text} tokens`}
      showShort={precise}
      isRelative
    />
  );
}

export interface Moved {
  readonly block_num: number | bigint;
  readonly received: number | bigint;
  readonly sent: number | bigint;
}
