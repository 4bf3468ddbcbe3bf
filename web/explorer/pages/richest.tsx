/** Addresses by their tokens, the largest amount first. */

import { grouped } from '../../shared/amounts.js';
import { Amount } from '../../shared/components/amount.js';
import { Page } from '../../shared/components/page.js';
import type { Column } from '../../shared/components/table.js';
import { node } from '../../shared/node.js';
import type { PageOf } from '../../shared/use-pages.js';
import { useChain } from '../chain/use-chain.js';
import { percentIssued } from '../figures.js';
import { PagedTable } from '../paged-table.js';
import { AddressLink, NeedsIndex } from '../parts.js';

interface Holder {
  readonly address: string;
  readonly amount: bigint;
}

const COLUMNS: readonly Column<Holder>[] = [
  { head: 'Address', width: 'minmax(11rem, 1fr)', cell: ({ address }) => <AddressLink address={address} /> },
  {
    head: 'Tokens',
    width: 'minmax(11rem, 1fr)',
    isNumber: true,
    cell: ({ amount }) => <Amount raw={amount} hasBoth={false} />,
  },
  { head: 'Raw units', width: 'minmax(12rem, 1fr)', isNumber: true, cell: ({ amount }) => grouped(amount) },
  { head: 'Of all tokens', width: '8rem', isNumber: true, cell: ({ amount }) => percentIssued(amount) },
];

async function readHolders(cursor: string | undefined, signal: AbortSignal): Promise<PageOf<Holder>> {
  const page = cursor === undefined ? { limit: 100 } : { limit: 100, cursor };
  const { holders, next } = await node.getTokenHolders(page, { signal });
  return { entries: holders, next };
}

export function RichestPage() {
  const { source } = useChain();
  return (
    <Page title="Richest addresses">
      {source === 'stored' ? (
        <NeedsIndex what="The richest addresses" />
      ) : (
        <PagedTable
          label="Addresses by their tokens"
          source={source ?? 'unknown'}
          read={readHolders}
          columns={COLUMNS}
          keyOf={({ address }) => address}
          nothing="No address holds tokens."
        />
      )}
    </Page>
  );
}
