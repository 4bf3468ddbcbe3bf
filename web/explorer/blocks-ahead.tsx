/** Blocks to come beside the last ones, as tiles: how many transactions, how large, and when. */

import type { MempoolResponse } from '../../src/sdk/client.js';
import { grouped } from '../shared/amounts.js';
import { When } from '../shared/components/when.js';
import type { Block } from './chain/shapes.js';
import { byteSize, payments } from './figures.js';
import { blockPath } from './paths.js';

type Ahead = MempoolResponse['blocks'][number];

export interface BlocksAheadProps {
  readonly ahead: readonly Ahead[];
  readonly stored: readonly Block[];
  /** The block whose transactions are listed. */
  readonly chosen?: bigint | undefined;
}

export function BlocksAhead({ ahead, stored, chosen }: BlocksAheadProps) {
  return (
    <ol class="ahead" aria-label="Blocks to come, and the last ones">
      {[...ahead].reverse().map(({ block_num, being_made, transactions, bytes }) => (
        <li key={block_num}>
          <a
            class={being_made ? 'ahead-block made' : 'ahead-block'}
            href={`/mempool?block=${block_num}`}
            aria-current={chosen === block_num ? 'true' : undefined}
          >
            <span class="ahead-number">{grouped(block_num)}</span>
            <Contents count={Number(transactions)} bytes={bytes} />
            <span>{being_made ? 'is being made' : 'to come'}</span>
          </a>
        </li>
      ))}
      {stored.map((block) => (
        <li key={block.block_num}>
          <a class="ahead-block stored" href={blockPath(block.block_num)}>
            <span class="ahead-number">{grouped(block.block_num)}</span>
            <Contents count={payments(block)} bytes={block.bytes} />
            <When seconds={block.time} hasAge />
          </a>
        </li>
      ))}
    </ol>
  );
}

function Contents({ count, bytes }: { readonly count: number; readonly bytes: bigint | undefined }) {
  return (
    <>
      <strong>{count === 0 ? 'empty' : grouped(count)}</strong>
      <span>{count === 1 ? 'transaction' : 'transactions'}</span>
      <span>{bytes === undefined ? '' : byteSize(bytes)}</span>
    </>
  );
}
