/** One block: what its header says, and its transactions. */

import { grouped } from '../../shared/amounts.js';
import { Amount } from '../../shared/components/amount.js';
import { Fact, Facts } from '../../shared/components/facts.js';
import { Hash } from '../../shared/components/hash.js';
import { Loaded } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import type { Column } from '../../shared/components/table.js';
import { When } from '../../shared/components/when.js';
import { useResource } from '../../shared/use-resource.js';
import { readerOf } from '../chain/reader.js';
import type { Block, TransactionSummary } from '../chain/shapes.js';
import { readHeader } from '../chain/stored-chain.js';
import { useChain } from '../chain/use-chain.js';
import { byteSize, expectedHashes, payments, short } from '../figures.js';
import { Missing } from '../missing.js';
import { PagedTable } from '../paged-table.js';
import { AddressLink, Kind, PAID_RULE, Paid, TransactionLink } from '../parts.js';
import { blockPath } from '../paths.js';

export function BlockPage({ name }: { readonly name: string }) {
  const { source, height } = useChain();
  const block = useResource(source && `block/${source}/${name}`, (signal) => readerOf(source).readBlock(name, signal));
  const isNumber = /^\d{1,15}$/.test(name);
  return (
    <Page
      title={isNumber ? `Block ${grouped(Number(name))}` : 'Block'}
      kind="Block"
      heading={<Heading name={name} value={block.value} />}
    >
      <Missing
        resource={block}
        code="block_not_found"
        what={isNumber ? `block ${grouped(Number(name))}` : 'block with this hash'}
      >
        <Loaded resource={block} what="the block">
          {(value) => <BlockView block={value} height={height ?? Number(value.block_num)} />}
        </Loaded>
      </Missing>
    </Page>
  );
}

function Heading({ name, value }: { readonly name: string; readonly value: Block | undefined }) {
  const number = value?.block_num ?? (/^\d{1,15}$/.test(name) ? Number(name) : undefined);
  return <>{number === undefined ? 'Block' : grouped(number)}</>;
}

function BlockView({ block, height }: { readonly block: Block; readonly height: number }) {
  const { hash, previous_hash, time, transactions, difficulty, miner, coinbase, reward } = block;
  const number = Number(block.block_num);
  const { source } = useChain();
  const header = useResource(`header/${hash}`, (signal) => readHeader(hash, signal));
  return (
    <>
      <nav class="neighbours" aria-label="Blocks beside this one">
        {number > 0 && (
          <a rel="prev" href={blockPath(number - 1)}>
            ← {grouped(number - 1)}
          </a>
        )}
        {number < height && (
          <a rel="next" href={blockPath(number + 1)}>
            {grouped(number + 1)} →
          </a>
        )}
      </nav>
      <section class="panel" aria-label="About the block">
        <Facts>
          <Fact name="Hash">
            <Hash value={hash} isWhole />
          </Fact>
          <Fact name="Previous block">
            {previous_hash === null ? (
              <span class="none">none: this is the first</span>
            ) : (
              <Hash value={previous_hash} href={blockPath(previous_hash)} isWhole />
            )}
          </Fact>
          <Fact name="Time">
            <When seconds={time} />
          </Fact>
          <Fact name="Confirmations">{grouped(Math.max(1, height - number + 1))}</Fact>
          <Fact name="Transactions">{grouped(payments(block))}, and the coinbase</Fact>
          {block.bytes !== undefined && <Fact name="Size">{byteSize(block.bytes)}</Fact>}
          {reward !== undefined && (
            <Fact name="Reward">
              <Amount raw={reward} />
            </Fact>
          )}
          {miner !== undefined && (
            <Fact name="Miner">
              <AddressLink address={miner} isWhole />
            </Fact>
          )}
          <Fact name="Coinbase">
            <TransactionLink hash={coinbase} isWhole />
          </Fact>
          <Fact name="Difficulty">
            {short(expectedHashes(difficulty))} hashes for a block{' '}
            {difficulty === '' ? <span class="none">(fixed)</span> : <code>{difficulty}</code>}
          </Fact>
          {block.issued !== undefined && (
            <Fact name="Issued so far">
              <Amount raw={block.issued} />
            </Fact>
          )}
          {header.value !== undefined && <HeaderFacts header={header.value} />}
        </Facts>
      </section>
      <h2 class="list-head">Transactions</h2>
      <PagedTable
        label="Transactions of the block"
        source={`block-transactions/${source}/${hash}`}
        read={(cursor, signal) => readerOf(source).readBlockTransactions(hash, cursor, signal)}
        columns={COLUMNS}
        keyOf={({ tx_hash }) => tx_hash}
        total={Number(transactions)}
        nothing="This block has no transactions."
      />
      <p class="hint">{PAID_RULE}</p>
    </>
  );
}

function HeaderFacts({ header }: { readonly header: Awaited<ReturnType<typeof readHeader>> }) {
  const [root, list] = header.txs_merkle_root_and_hash;
  const [seed = '', witness = ''] = String.fromCharCode(...header.seed_value).split('-');
  return (
    <>
      <Fact name="Nonce">
        <code>{header.nonce_and_mining_tx_hash[0].map((byte) => byte.toString(16).padStart(2, '0')).join('')}</code>
      </Fact>
      <Fact name="Merkle root">
        <code>{root === '' ? 'none' : root}</code>
      </Fact>
      <Fact name="Hash of the list">
        <code>{list}</code>
      </Fact>
      <Fact name="Unicorn seed">
        <code>{seed === '' ? 'none' : seed}</code>
      </Fact>
      {witness !== '' && (
        <Fact name="Unicorn witness">
          <code>{witness}</code>
        </Fact>
      )}
      <Fact name="Version">{String(header.version)}</Fact>
    </>
  );
}

const COLUMNS: readonly Column<TransactionSummary>[] = [
  { head: 'Transaction', width: 'minmax(11rem, 1.4fr)', cell: ({ tx_hash }) => <TransactionLink hash={tx_hash} /> },
  { head: 'Kind', width: '9rem', cell: ({ kind }) => <Kind kind={kind} /> },
  { head: 'Inputs', width: '5rem', isNumber: true, cell: ({ input_count }) => grouped(input_count) },
  { head: 'Outputs', width: '5rem', isNumber: true, cell: ({ output_count }) => grouped(output_count) },
  {
    head: 'Paid',
    width: 'minmax(11rem, 1fr)',
    isNumber: true,
    cell: (transaction) => <Paid value={transaction} />,
  },
];
