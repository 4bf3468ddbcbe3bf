/** One class of items: what its creator wrote, who holds it, and where it went. */

import type { ItemHoldersResponse, ItemTransfersResponse } from '../../../src/sdk/client.js';
import { grouped } from '../../shared/amounts.js';
import { Fact, Facts } from '../../shared/components/facts.js';
import { Hash } from '../../shared/components/hash.js';
import { Metadata } from '../../shared/components/item-card.js';
import { Loaded } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import type { Column } from '../../shared/components/table.js';
import { When } from '../../shared/components/when.js';
import { usePlace } from '../../shared/router.js';
import { useResource } from '../../shared/use-resource.js';
import * as indexed from '../chain/indexed-chain.js';
import { readerOf } from '../chain/reader.js';
import type { Item } from '../chain/shapes.js';
import { useChain, useThrottled } from '../chain/use-chain.js';
import { Missing } from '../missing.js';
import { PagedTable } from '../paged-table.js';
import { AddressLink, BlockLink, Kind, NeedsIndex, TransactionLink } from '../parts.js';
import { itemPath } from '../paths.js';
import { useFreshList } from '../use-fresh-list.js';

type Holder = ItemHoldersResponse['holders'][number];
type Transfer = ItemTransfersResponse['transfers'][number];

const AT_MOST_EVERY_MS = 2_000;

export function ItemPage({ genesis }: { readonly genesis: string }) {
  const { source, height } = useChain();
  const tip = useThrottled(height, AT_MOST_EVERY_MS);
  const item = useResource(
    source && `item/${source}/${genesis}`,
    (signal) => readerOf(source).readItem(genesis, signal),
    tip,
  );
  return (
    <Page title={`Item ${genesis}`} kind="Item" heading={<Hash value={genesis} isWhole />}>
      <Missing resource={item} code="item_not_found" what="such item">
        <Loaded resource={item} what="the item">
          {(value) => <ItemView item={value} />}
        </Loaded>
      </Missing>
    </Page>
  );
}

function ItemView({ item }: { readonly item: Item }) {
  const { genesis_hash, metadata, creator, issued, created, holder_count, transfer_count } = item;
  const { query } = usePlace();
  const { source } = useChain();
  const list = query.get('show') === 'transfers' ? 'transfers' : 'holders';
  return (
    <>
      <section class="panel" aria-label="About the item">
        <Facts>
          <Fact name="Created">
            {grouped(BigInt(issued))} {issued === '1' ? 'item' : 'items'}
          </Fact>
          <Fact name="First in">
            <TransactionLink hash={created.tx_hash} />, block <BlockLink number={created.block_num} />
            {created.time !== undefined && (
              <>
                , <When seconds={created.time} />
              </>
            )}
          </Fact>
          <Fact name="Creator">
            <AddressLink address={creator} isWhole={creator !== null} />
          </Fact>
          <Fact name="Metadata">
            {metadata === null || metadata === '' ? (
              <span class="none">none</span>
            ) : (
              <>
                <Metadata text={metadata} />
                <p class="hint">Written by the creator, and not verified.</p>
              </>
            )}
          </Fact>
        </Facts>
      </section>
      {source === 'stored' ? (
        <NeedsIndex what="Holders and transfers of an item" />
      ) : (
        <>
          <nav class="tabs" aria-label="Lists of the item">
            <a href={itemPath(genesis_hash)} aria-current={list === 'holders' ? 'page' : undefined}>
              Holders ({grouped(holder_count ?? 0)})
            </a>
            <a
              href={`${itemPath(genesis_hash)}?show=transfers`}
              aria-current={list === 'transfers' ? 'page' : undefined}
            >
              Transfers ({grouped(transfer_count ?? 0)})
            </a>
          </nav>
          <ItemList item={item} list={list} />
        </>
      )}
    </>
  );
}

function ItemList({ item, list }: { readonly item: Item; readonly list: 'holders' | 'transfers' }) {
  const { genesis_hash, holder_count, transfer_count } = item;
  const { stamp, button } = useFreshList(transfer_count === undefined ? undefined : Number(transfer_count), 'changes');
  return (
    <>
      {button}
      {list === 'holders' ? (
        <PagedTable
          label="Holders of the item"
          source={`${genesis_hash}/holders/${stamp}`}
          read={(cursor, signal) => indexed.readItemHolders(genesis_hash, cursor, signal)}
          columns={HOLDERS}
          keyOf={({ address }) => address}
          total={Number(holder_count ?? 0)}
          nothing="Nobody holds it now."
        />
      ) : (
        <PagedTable
          label="Transfers of the item"
          source={`${genesis_hash}/transfers/${stamp}`}
          read={(cursor, signal) => indexed.readItemTransfers(genesis_hash, cursor, signal)}
          columns={TRANSFERS}
          keyOf={({ tx_hash }) => tx_hash}
          total={Number(transfer_count ?? 0)}
          nothing="It has not been transferred."
        />
      )}
    </>
  );
}

const HOLDERS: readonly Column<Holder>[] = [
  { head: 'Address', width: 'minmax(12rem, 1fr)', cell: ({ address }) => <AddressLink address={address} /> },
  { head: 'Number', width: 'minmax(8rem, 1fr)', isNumber: true, cell: ({ amount }) => grouped(amount) },
];

/** The first of some addresses, and how many there are besides. */
function Parties({ parties, count }: { readonly parties: readonly Holder[]; readonly count: bigint }) {
  const [first] = parties;
  if (first === undefined) return <span class="none">nobody</span>;
  return (
    <>
      <AddressLink address={first.address} />
      {count > 1n && <span class="none"> +{grouped(count - 1n)}</span>}
    </>
  );
}

const TRANSFERS: readonly Column<Transfer>[] = [
  { head: 'Transaction', width: 'minmax(11rem, 1.2fr)', cell: ({ tx_hash }) => <TransactionLink hash={tx_hash} /> },
  { head: 'Kind', width: '9rem', cell: ({ kind }) => <Kind kind={kind} /> },
  { head: 'Age', width: 'minmax(7rem, 0.8fr)', cell: ({ time }) => <When seconds={time} hasAge /> },
  {
    head: 'From',
    width: 'minmax(11rem, 1.2fr)',
    cell: ({ from, from_count }) => <Parties parties={from} count={from_count} />,
  },
  { head: 'To', width: 'minmax(11rem, 1.2fr)', cell: ({ to, to_count }) => <Parties parties={to} count={to_count} /> },
  { head: 'Number', width: '7rem', isNumber: true, cell: ({ amount }) => grouped(amount) },
];
