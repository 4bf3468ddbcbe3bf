/** A transaction that is in no block yet: its place, what it waits behind, and the block that it is likely to be in. */

import type { WaitingResponse } from '../../src/sdk/client.js';
import { grouped } from '../shared/amounts.js';
import { Amount } from '../shared/components/amount.js';
import { Fact, Facts } from '../shared/components/facts.js';
import { SafeLine } from '../shared/components/safe-text.js';
import { When } from '../shared/components/when.js';
import { node } from '../shared/node.js';
import { useServes } from '../shared/use-node.js';
import { type Resource, useResource } from '../shared/use-resource.js';
import { byteSize } from './figures.js';
import { AddressLink, ItemLink, TransactionLink } from './parts.js';
import { MEMPOOL, useMempoolNews } from './use-mempool.js';

export function useWaiting(hash: string): Resource<WaitingResponse> {
  const isServed = useServes(MEMPOOL);
  const news = useMempoolNews();
  return useResource(
    isServed ? `waiting/${hash}` : undefined,
    (signal) => node.getWaitingTransaction({ tx_hash: hash }, { signal }),
    news,
  );
}

export function WaitingView({ waiting }: { readonly waiting: WaitingResponse }) {
  const { time, bytes, info, place, behind, outputs, output_count, tx_hash } = waiting;
  return (
    <>
      <section class="panel" aria-label="About the transaction">
        <Facts>
          <Fact name="State">
            <span class="tag wait">waiting</span> <SafeLine text={info} limit={200} />
          </Fact>
          <Fact name="Likely block">
            {place === null ? (
              <span class="none">not known yet</span>
            ) : (
              <>
                <a href={`/mempool?block=${place.block_num}`}>{grouped(place.block_num)}</a>
                {place.being_made && ', which is being made'}
              </>
            )}
          </Fact>
          {place !== null && (
            <Fact name="Place">
              {grouped(place.ahead + 1n)}
              <span class="none">
                {place.ahead === 0n ? ': nothing is before it' : `: ${grouped(place.ahead)} before it`}
              </span>
            </Fact>
          )}
          <Fact name="Waits behind">
            {behind.length === 0 && <span class="none">nothing that it depends on</span>}
            <ul class="plain-list">
              {behind.map((hash) => (
                <li key={hash}>
                  <TransactionLink hash={hash} isWhole />
                </li>
              ))}
            </ul>
          </Fact>
          <Fact name="First seen">
            <When seconds={time} hasAge />
          </Fact>
          <Fact name="Size">{byteSize(bytes)}</Fact>
        </Facts>
      </section>
      <section aria-labelledby="outputs">
        <h2 id="outputs">Outputs ({grouped(output_count)})</h2>
        <ol class="cards" start={0}>
          {outputs.map(({ address, asset }, at) => (
            // Outputs of a transaction never change.
            <li key={at} class="card">
              <p>
                {asset.kind === 'token' ? (
                  <Amount raw={asset.amount} />
                ) : (
                  <>
                    {grouped(asset.amount)} × <ItemLink hash={asset.genesis_hash ?? tx_hash} />
                  </>
                )}
              </p>
              <p>
                to <AddressLink address={address} />
              </p>
            </li>
          ))}
        </ol>
      </section>
    </>
  );
}
