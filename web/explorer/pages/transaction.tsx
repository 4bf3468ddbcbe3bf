/** One transaction: what it spends, what it makes, its scripts, and the trade that it is part of. */

import { useState } from 'preact/hooks';
import { grouped } from '../../shared/amounts.js';
import { Amount } from '../../shared/components/amount.js';
import { Fact, Facts } from '../../shared/components/facts.js';
import { Hash } from '../../shared/components/hash.js';
import { Loaded } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { SafeLine } from '../../shared/components/safe-text.js';
import { When } from '../../shared/components/when.js';
import { node } from '../../shared/node.js';
import { useServes } from '../../shared/use-node.js';
import { useResource } from '../../shared/use-resource.js';
import { readerOf } from '../chain/reader.js';
import type { Transaction } from '../chain/shapes.js';
import { useChain, useThrottled } from '../chain/use-chain.js';
import { byteSize, nextPart, paidIn } from '../figures.js';
import { InputView, OutputView } from '../in-out.js';
import { Missing } from '../missing.js';
import { AddressLink, Asset, BlockLink, ItemLink, Kind, NeedsIndex, PAID_RULE, TransactionLink } from '../parts.js';
import { useWaiting, WaitingView } from '../waiting.js';

/** Inputs or outputs that one answer has at most. */
const LISTED = 500;
/** Outputs may be spent with every block; nobody reads faster. */
const AT_MOST_EVERY_MS = 2_000;

export function TransactionPage({ hash }: { readonly hash: string }) {
  const { source, height } = useChain();
  const [first, setFirst] = useState(0);
  const tip = useThrottled(height, AT_MOST_EVERY_MS);
  const { value: waiting, error: gone } = useWaiting(hash);
  const transaction = useResource(
    source && `transaction/${source}/${hash}/${first}`,
    (signal) => readerOf(source).readTransaction(hash, { first_input: first, first_output: first }, signal),
    tip,
  );
  return (
    <Page title={`Transaction ${hash}`} kind="Transaction" heading={<Hash value={hash} isWhole />}>
      {transaction.value === undefined && waiting !== undefined && gone === undefined ? (
        <WaitingView waiting={waiting} />
      ) : (
        <Missing
          resource={transaction}
          code="entry_not_found"
          what="such transaction in the chain"
          more={<Status hash={hash} />}
        >
          <Loaded resource={transaction} what="the transaction">
            {(value) => <TransactionView transaction={value} height={height} first={first} onPart={setFirst} />}
          </Loaded>
        </Missing>
      )}
    </Page>
  );
}

const STATUS = '/v1/transactions/status';

/** Status at a mempool node of a transaction that is in no block. */
function Status({ hash }: { readonly hash: string }) {
  const isServed = useServes(STATUS);
  const { height } = useChain();
  const { value } = useResource(
    isServed ? `status/${hash}` : undefined,
    (signal) => node.getTransactionStatus({ hash: [hash] }, { signal }),
    height,
  );
  const known = value?.[hash];
  if (known === undefined) return null;
  return (
    <p>
      The mempool node says: <strong>{known.status}</strong>. <SafeLine text={known.additional_info} limit={300} />
    </p>
  );
}

interface TransactionViewProps {
  readonly transaction: Transaction;
  readonly height: number | undefined;
  readonly first: number;
  readonly onPart: (first: number) => void;
}

function TransactionView({ transaction, height, first, onPart }: TransactionViewProps) {
  const { tx_hash, block_num, kind, time, tokens, bytes, version, inputs, outputs, trade } = transaction;
  const { source } = useChain();
  const number = Number(block_num);
  const confirmations = Math.max(Number(transaction.confirmations ?? 1), (height ?? number) - number + 1);
  const [firstInput, firstOutput] = [Number(transaction.first_input), Number(transaction.first_output)];
  const next = nextPart(transaction);
  const paid = paidIn(transaction);
  return (
    <>
      {source === 'stored' && <NeedsIndex what="What the inputs were worth, and by what the outputs are spent," />}
      <section class="panel" aria-label="About the transaction">
        <Facts>
          <Fact name="Kind">
            <Kind kind={kind} />
          </Fact>
          <Fact name="Block">
            <BlockLink number={block_num} />
          </Fact>
          <Fact name="Confirmations">{grouped(confirmations)}</Fact>
          {time !== undefined && (
            <Fact name="Time">
              <When seconds={time} />
            </Fact>
          )}
          {paid !== undefined && paid !== tokens && (
            <Fact name="Paid, without change">
              ≈ <Amount raw={paid} />
              <p class="hint">{PAID_RULE}</p>
            </Fact>
          )}
          <Fact name="Tokens in its outputs">
            <Amount raw={tokens} />
          </Fact>
          {kind === 'creation' && (
            <Fact name="Items created">
              <ItemLink hash={outputs.find(({ genesis_hash }) => genesis_hash !== null)?.genesis_hash ?? tx_hash} />
            </Fact>
          )}
          {bytes !== undefined && <Fact name="Size">{byteSize(bytes)}</Fact>}
          <Fact name="Version">{String(version)}</Fact>
        </Facts>
      </section>
      {trade !== null && <TradeView transaction={transaction} />}
      <div class="flow">
        <section aria-labelledby="inputs">
          <h2 id="inputs">Inputs ({grouped(transaction.input_count)})</h2>
          <ol class="cards" start={firstInput}>
            {inputs.map((input, at) => (
              <InputView key={firstInput + at} index={firstInput + at} input={input} />
            ))}
          </ol>
        </section>
        <section aria-labelledby="outputs">
          <h2 id="outputs">Outputs ({grouped(transaction.output_count)})</h2>
          <ol class="cards" start={firstOutput}>
            {outputs.map((output) => (
              <OutputView key={output.n} output={output} creator={tx_hash} />
            ))}
          </ol>
        </section>
      </div>
      {(first > 0 || next !== undefined) && (
        <nav class="neighbours" aria-label="Parts of the transaction">
          {first > 0 && (
            <button type="button" class="button" onClick={() => onPart(Math.max(0, first - LISTED))}>
              ← Previous
            </button>
          )}
          {next !== undefined && (
            <button type="button" class="button" onClick={() => onPart(next)}>
              Next →
            </button>
          )}
        </nav>
      )}
    </>
  );
}

function TradeView({ transaction: { trade, tx_hash } }: { readonly transaction: Transaction }) {
  if (trade === null) return null;
  const { druid, participants, partners, expectations } = trade;
  return (
    <section class="panel" aria-labelledby="trade">
      <h2 id="trade">Trade</h2>
      <Facts>
        <Fact name="DRUID">
          <SafeLine text={druid} limit={300} />
        </Fact>
        <Fact name="Transactions in it">{grouped(participants)}; all of them happen, or none</Fact>
        {partners !== undefined && (
          <Fact name={partners.length === 1 ? 'Partner' : 'Partners'}>
            {partners.length === 0 ? (
              <span class="none">none</span>
            ) : (
              <ul class="plain-list">
                {partners
                  .filter((hash) => hash !== tx_hash)
                  .map((hash) => (
                    <li key={hash}>
                      <TransactionLink hash={hash} isWhole />
                    </li>
                  ))}
              </ul>
            )}
          </Fact>
        )}
        <Fact name="Asks of the others">
          {expectations.length === 0 && <span class="none">nothing</span>}
          <ul class="plain-list">
            {expectations.map((wanted, at) => (
              <li key={`${at}/${wanted.to}`}>
                <Asset value={wanted} /> to <AddressLink address={wanted.to} />
              </li>
            ))}
          </ul>
        </Fact>
      </Facts>
    </section>
  );
}
