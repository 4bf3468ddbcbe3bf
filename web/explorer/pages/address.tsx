/** One address: what it has, and what has happened to it. */

import type {
  AddressItemsResponse,
  AddressOutputsResponse,
  AddressTransactionsResponse,
  ChainAddress,
} from '../../../src/sdk/client.js';
import { grouped } from '../../shared/amounts.js';
import { Amount } from '../../shared/components/amount.js';
import { Fact, Facts } from '../../shared/components/facts.js';
import { Hash } from '../../shared/components/hash.js';
import { Loaded } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import type { Column } from '../../shared/components/table.js';
import { When } from '../../shared/components/when.js';
import { usePlace } from '../../shared/router.js';
import { useResource } from '../../shared/use-resource.js';
import * as indexed from '../chain/indexed-chain.js';
import { useChain, useThrottled } from '../chain/use-chain.js';
import { BalanceChart } from '../chain-charts.js';
import { PagedTable } from '../paged-table.js';
import { Asset, BlockLink, ItemLink, Kind, NeedsIndex, TransactionLink } from '../parts.js';
import { addressPath } from '../paths.js';
import { useFreshList } from '../use-fresh-list.js';

type HeldItem = AddressItemsResponse['items'][number];
type UnspentOutput = AddressOutputsResponse['outputs'][number];
type Movement = AddressTransactionsResponse['transactions'][number];

const LISTS = ['history', 'outputs', 'items'] as const;
type List = (typeof LISTS)[number];

const AT_MOST_EVERY_MS = 2_000;

export function AddressPage({ address }: { readonly address: string }) {
  const { source, height } = useChain();
  const tip = useThrottled(height, AT_MOST_EVERY_MS);
  const found = useResource(
    source === 'index' ? `address/${address}` : undefined,
    (signal) => indexed.readAddress(address, signal),
    tip,
  );
  return (
    <Page title={`Address ${address}`} kind="Address" heading={<Hash value={address} isWhole />}>
      {source === 'stored' ? (
        <NeedsIndex what="Balance and history of an address" />
      ) : (
        <Loaded resource={found} what="the address">
          {(value) => <AddressView address={value} />}
        </Loaded>
      )}
    </Page>
  );
}

function AddressView({ address: found }: { readonly address: ChainAddress }) {
  const { address, tokens, received, sent, transaction_count, unspent_count, item_count, first_seen, last_seen } =
    found;
  const { query } = usePlace();
  const list: List = LISTS.find((name) => name === query.get('show')) ?? 'history';
  const counts: Readonly<Record<List, number>> = {
    history: Number(transaction_count),
    outputs: Number(unspent_count),
    items: Number(item_count),
  };
  return (
    <>
      <section class="panel" aria-label="About the address">
        <Facts>
          <Fact name="Balance">
            <Amount raw={tokens} />
          </Fact>
          <Fact name="Received in all">
            <Amount raw={BigInt(received)} />
          </Fact>
          <Fact name="Sent in all">
            <Amount raw={BigInt(sent)} />
          </Fact>
          <Fact name="First seen">
            {first_seen === null ? <span class="none">never</span> : <Seen place={first_seen} />}
          </Fact>
          <Fact name="Last seen">
            {last_seen === null ? <span class="none">never</span> : <Seen place={last_seen} />}
          </Fact>
        </Facts>
      </section>
      {transaction_count > 1n && <Balance address={address} tokens={BigInt(tokens)} stamp={last_seen?.tx_hash} />}
      <nav class="tabs" aria-label="Lists of the address">
        {LISTS.map((name) => (
          <a
            key={name}
            href={name === 'history' ? addressPath(address) : `${addressPath(address)}?show=${name}`}
            aria-current={name === list ? 'page' : undefined}
          >
            {NAMES[name]} ({grouped(counts[name])})
          </a>
        ))}
      </nav>
      {list === 'history' && <History address={address} count={counts.history} />}
      {list === 'outputs' && <Outputs address={address} count={counts.outputs} stamp={last_seen?.tx_hash} />}
      {list === 'items' && <Items address={address} count={counts.items} stamp={last_seen?.tx_hash} />}
    </>
  );
}

const NAMES: Readonly<Record<List, string>> = { history: 'History', outputs: 'Unspent outputs', items: 'Items' };

/** Pages of the history that the chart is made from, at most. */
const CHART_PAGES = 10;

function Balance({
  address,
  tokens,
  stamp,
}: {
  readonly address: string;
  readonly tokens: bigint;
  readonly stamp: string | undefined;
}) {
  const { value } = useResource(
    `balance/${address}`,
    async (signal) => {
      const movements: Movement[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < CHART_PAGES; page++) {
        const { entries, next } = await indexed.readAddressTransactions(address, cursor, signal);
        movements.push(...entries);
        if (next === null) break;
        cursor = next;
      }
      return { tokens, movements };
    },
    stamp,
  );
  if (value === undefined) return null;
  return (
    <section class="balance-chart" aria-label="Balance over time">
      <BalanceChart {...value} />
      {value.movements.length >= CHART_PAGES * 100 && <p class="hint">Of its last 1,000 transactions.</p>}
    </section>
  );
}

function Seen({ place }: { readonly place: NonNullable<ChainAddress['last_seen']> }) {
  return (
    <>
      <When seconds={place.time} />, block <BlockLink number={place.block_num} />
    </>
  );
}

function History({ address, count }: { readonly address: string; readonly count: number }) {
  const { stamp, button } = useFreshList(count, 'new transactions');
  return (
    <>
      {button}
      <PagedTable
        label="History of the address"
        source={`${address}/history/${stamp}`}
        read={(cursor, signal) => indexed.readAddressTransactions(address, cursor, signal)}
        columns={HISTORY}
        keyOf={({ tx_hash }) => tx_hash}
        total={count}
        nothing="The chain has not seen this address."
      />
    </>
  );
}

interface ListProps {
  readonly address: string;
  readonly count: number;
  /** Changes when the list has. */
  readonly stamp: string | undefined;
}

function Outputs({ address, count, stamp: changed }: ListProps) {
  const { stamp, button } = useFreshList(changed, 'changes');
  return (
    <>
      {button}
      <PagedTable
        label="Unspent outputs of the address"
        source={`${address}/outputs/${stamp}`}
        read={(cursor, signal) => indexed.readAddressOutputs(address, cursor, signal)}
        columns={OUTPUTS}
        keyOf={({ out_point }) => `${out_point.t_hash}/${out_point.n}`}
        total={count}
        nothing="This address has no unspent outputs."
      />
    </>
  );
}

function Items({ address, count, stamp: changed }: ListProps) {
  const { stamp, button } = useFreshList(changed, 'changes');
  return (
    <>
      {button}
      <PagedTable
        label="Items of the address"
        source={`${address}/items/${stamp}`}
        read={(cursor, signal) => indexed.readAddressItems(address, cursor, signal)}
        columns={ITEMS}
        keyOf={({ genesis_hash }) => genesis_hash}
        total={count}
        nothing="This address has no items."
      />
    </>
  );
}

/** Signed sums of what came and went. */
function Change({ movement: { received, sent, items, item_count } }: { readonly movement: Movement }) {
  const change = received - sent;
  const [item] = items;
  if (change === 0n && item !== undefined) {
    const moved = item.received - item.sent;
    return (
      <span class={moved < 0n ? 'change out' : 'change in'}>
        {moved < 0n ? '−' : '+'}
        {grouped(moved < 0n ? -moved : moved)} × <ItemLink hash={item.genesis_hash} />
        {item_count > 1n && <span class="none"> and {grouped(item_count - 1n)} more</span>}
      </span>
    );
  }
  return (
    <span class={change < 0n ? 'change out' : 'change in'}>
      {change < 0n ? '−' : '+'}
      <Amount raw={change < 0n ? -change : change} hasBoth={false} />
    </span>
  );
}

const HISTORY: readonly Column<Movement>[] = [
  { head: 'Transaction', width: 'minmax(11rem, 1.2fr)', cell: ({ tx_hash }) => <TransactionLink hash={tx_hash} /> },
  { head: 'Kind', width: '9rem', cell: ({ kind }) => <Kind kind={kind} /> },
  { head: 'Age', width: 'minmax(8rem, 1fr)', cell: ({ time }) => <When seconds={time} hasAge /> },
  { head: 'Block', width: '7rem', isNumber: true, cell: ({ block_num }) => <BlockLink number={block_num} /> },
  { head: 'Change', width: 'minmax(13rem, 1.3fr)', isNumber: true, cell: (movement) => <Change movement={movement} /> },
];

const OUTPUTS: readonly Column<UnspentOutput>[] = [
  {
    head: 'Output',
    width: 'minmax(13rem, 1.2fr)',
    cell: ({ out_point }) => (
      <>
        <TransactionLink hash={out_point.t_hash} /> <span class="none">: {out_point.n}</span>
      </>
    ),
  },
  { head: 'Block', width: '7rem', isNumber: true, cell: ({ block_num }) => <BlockLink number={block_num} /> },
  {
    head: 'Locked until',
    width: '8rem',
    isNumber: true,
    cell: ({ locktime }) => (locktime === 0n ? '–' : grouped(locktime)),
  },
  {
    head: 'Holds',
    width: 'minmax(14rem, 1.4fr)',
    isNumber: true,
    cell: (output) => <Asset value={output} creator={output.out_point.t_hash} />,
  },
];

const ITEMS: readonly Column<HeldItem>[] = [
  { head: 'Item', width: 'minmax(12rem, 1fr)', cell: ({ genesis_hash }) => <ItemLink hash={genesis_hash} /> },
  { head: 'Number', width: 'minmax(8rem, 1fr)', isNumber: true, cell: ({ amount }) => grouped(amount) },
];
