/** The faucet of a dev network: tokens for any address, blocks on request, and the accounts whose keys everyone knows. */

import { useState } from 'preact/hooks';
import { grouped, readAmount } from '../../shared/amounts.js';
import { Amount } from '../../shared/components/amount.js';
import { Loaded, Notice } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { node } from '../../shared/node.js';
import { useAction } from '../../shared/use-action.js';
import { useServes } from '../../shared/use-node.js';
import { useResource } from '../../shared/use-resource.js';
import { AddressLink, BlockLink, TransactionLink } from '../parts.js';

/** Served by dev networks only. */
export const FAUCET = '/v1/dev/faucet';

export function FaucetPage() {
  const isServed = useServes(FAUCET);
  return (
    <Page title="Faucet">
      {isServed === false ? (
        <Notice title="This network has no faucet" kind="warning">
          <p>
            Development networks have one: <code>tessera dev</code>.
          </p>
        </Notice>
      ) : (
        <>
          <Pay />
          <MakeBlock />
          <Accounts />
        </>
      )}
    </Page>
  );
}

function Pay() {
  const [address, setAddress] = useState('');
  const [tokens, setTokens] = useState('1000');
  const { said, isBusy, run } = useAction();
  const { value: amount, fault = '' } = readAmount(tokens, 'tokens');
  const pay = async () => {
    const request = { address: address.trim(), ...(amount === undefined ? {} : { amount }) };
    const { tx_hash, block_num, amount: paid } = await node.payFromFaucet(request);
    return (
      <>
        Paid <Amount raw={paid} hasBoth={false} />
        {tx_hash !== null && (
          <>
            {' '}
            in <TransactionLink hash={tx_hash} />
          </>
        )}
        {block_num !== null && (
          <>
            , block <BlockLink number={block_num} />
          </>
        )}
        .
      </>
    );
  };
  return (
    <section class="panel" aria-labelledby="pay">
      <h2 id="pay">Tokens for any address</h2>
      <form
        class="faucet"
        onSubmit={(event) => {
          event.preventDefault();
          void run(pay);
        }}
      >
        <label>
          Address
          <input
            class="field"
            required
            maxLength={256}
            autocomplete="off"
            spellcheck={false}
            value={address}
            onInput={({ currentTarget }) => setAddress(currentTarget.value)}
          />
        </label>
        <label>
          Tokens
          <input
            class="field"
            required
            inputMode="decimal"
            value={tokens}
            aria-describedby="raw-units"
            onInput={({ currentTarget }) => setTokens(currentTarget.value)}
          />
        </label>
        <p id="raw-units" class="hint">
          {amount === undefined ? fault : `${grouped(amount)} raw`}
        </p>
        <button type="submit" class="button main" disabled={isBusy || amount === undefined}>
          Pay
        </button>
      </form>
      {said}
    </section>
  );
}

function MakeBlock() {
  const { said, isBusy, run } = useAction();
  const make = async () => {
    const { block_nums } = await node.makeBlocks();
    return (
      <>
        Made block{' '}
        {block_nums.map((number) => (
          <BlockLink key={number} number={number} />
        ))}
        .
      </>
    );
  };
  return (
    <section class="panel" aria-labelledby="make">
      <h2 id="make">Blocks on request</h2>
      <button type="button" class="button" disabled={isBusy} onClick={() => void run(make)}>
        Make a block
      </button>
      {said}
    </section>
  );
}

function Accounts() {
  const facts = useResource('dev', (signal) => node.getDevFacts({}, { signal }));
  return (
    <section class="panel" aria-labelledby="accounts">
      <h2 id="accounts">Accounts with public keys</h2>
      <Loaded resource={facts} what="accounts">
        {({ accounts }) => (
          <ul class="lines">
            {accounts.map(({ account, address, tokens }) => (
              <li key={address}>
                <span>{account}</span>
                <span class="line-main">
                  <AddressLink address={address} />
                </span>
                <span class="line-end">
                  <Amount raw={tokens} hasBoth={false} /> in block 0
                </span>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </section>
  );
}
