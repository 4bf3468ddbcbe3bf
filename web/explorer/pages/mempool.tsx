/** The mempool: what waits, as the blocks to come. */

import type { MempoolResponse } from '../../../src/sdk/client.js';
import { grouped } from '../../shared/amounts.js';
import { Loaded, Notice } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { type Column, Table } from '../../shared/components/table.js';
import { When } from '../../shared/components/when.js';
import { usePlace } from '../../shared/router.js';
import { useServes } from '../../shared/use-node.js';
import { BlocksAhead } from '../blocks-ahead.js';
import { useRecentBlocks } from '../chain/use-recent-blocks.js';
import { byteSize } from '../figures.js';
import { TransactionLink } from '../parts.js';
import { MEMPOOL, useMempool } from '../use-mempool.js';

type Waiting = MempoolResponse['blocks'][number]['first'][number];

const STORED = 4;

const COLUMNS: readonly Column<Waiting>[] = [
  { head: 'Transaction', width: 'minmax(11rem, 1.4fr)', cell: ({ tx_hash }) => <TransactionLink hash={tx_hash} /> },
  { head: 'First seen', width: 'minmax(8rem, 1fr)', cell: ({ time }) => <When seconds={time} hasAge /> },
  { head: 'Size', width: '8rem', isNumber: true, cell: ({ bytes }) => byteSize(bytes) },
];

export function MempoolPage() {
  const mempool = useMempool();
  const isServed = useServes(MEMPOOL);
  const { value: stored = [] } = useRecentBlocks(STORED, false);
  return (
    <Page title="Mempool">
      {isServed === false ? (
        <Notice title="This node has no mempool">
          <p>A mempool node shows what waits for a block.</p>
        </Notice>
      ) : (
        <Loaded resource={mempool} what="what waits">
          {(value) => <MempoolView mempool={value} stored={stored} />}
        </Loaded>
      )}
    </Page>
  );
}

function MempoolView({
  mempool: { transactions, bytes, blocks },
  stored,
}: {
  readonly mempool: MempoolResponse;
  readonly stored: Parameters<typeof BlocksAhead>[0]['stored'];
}) {
  const { query } = usePlace();
  const chosen = blocks.find(({ block_num }) => String(block_num) === query.get('block')) ?? blocks[0];
  return (
    <>
      <p class="mempool-sum" role="status">
        {transactions === 0n ? 'Nothing waits.' : `${grouped(transactions)} wait, ${byteSize(bytes)}.`}
      </p>
      <BlocksAhead ahead={blocks} stored={stored} chosen={chosen?.block_num} />
      {chosen !== undefined && (
        <>
          <h2 class="list-head">
            Block {grouped(chosen.block_num)}, {chosen.being_made ? 'which is being made' : 'as it is likely to be'}
          </h2>
          {chosen.first.length === 0 ? (
            <p class="none">It has no transactions but the coinbase.</p>
          ) : (
            <Table
              label="Transactions that wait"
              columns={COLUMNS}
              count={chosen.first.length}
              rowAt={(index) => chosen.first[index]}
              keyOf={({ tx_hash }) => tx_hash}
            />
          )}
          <p class="hint">
            {chosen.transactions > BigInt(chosen.first.length) &&
              `The first ${grouped(chosen.first.length)} of ${grouped(chosen.transactions)}. `}
            Transactions are served in the order in which they came. Blocks that are not being made yet are a guess.
          </p>
        </>
      )}
    </>
  );
}
