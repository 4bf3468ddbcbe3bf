/** Page with the funds of the wallet, and its latest movements. */

import type { WalletInfoResponse } from '../../../src/sdk/client.js';
import { Amount } from '../../shared/components/amount.js';
import { Failed, Loaded } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { MovementLine, movementKey } from '../movement-rows.js';
import { TemporaryAddresses } from '../parts.js';
import { usePayeeNames } from '../payees.js';
import { useLatest, useTotals } from '../use-wallet.js';

const SHOWN = 8;

export function OverviewPage() {
  const totals = useTotals();
  const { value, error, reload } = totals;
  return (
    <Page title="Wallet">
      <Loaded resource={totals} what="the balance">
        {(found) => (
          <>
            <TemporaryAddresses addresses={found.temporary_addresses} />
            <Balance totals={found} />
          </>
        )}
      </Loaded>
      {value !== undefined && error !== undefined && <Failed error={error} retry={reload} />}
      <p class="buttons shortcuts">
        <a class="button main" href="/wallet/pay">
          Pay
        </a>
        <a class="button" href="/wallet/receive">
          Receive
        </a>
      </p>
      <Latest />
    </Page>
  );
}

function Balance({ totals }: { readonly totals: WalletInfoResponse }) {
  const items = Object.keys(totals.item_total).length;
  return (
    <dl class="balance" aria-label="Balance">
      <div class="balance-all">
        <dt>Balance</dt>
        <dd>
          <Amount raw={totals.running_total_tokens} />
        </dd>
      </div>
      <div>
        <dt>Available</dt>
        <dd>
          <Amount raw={totals.available_total_tokens} />
        </dd>
      </div>
      <div>
        <dt>Locked</dt>
        <dd>
          <Amount raw={totals.locked_total_tokens} />
        </dd>
      </div>
      <div>
        <dt>Items</dt>
        <dd>
          <a href="/wallet/items">
            {items} {items === 1 ? 'kind' : 'kinds'}
          </a>
        </dd>
      </div>
    </dl>
  );
}

function Latest() {
  const latest = useLatest(SHOWN);
  const names = usePayeeNames();
  return (
    <section class="panel" aria-labelledby="latest">
      <div class="panel-head">
        <h2 id="latest">Latest payments</h2>
        <a href="/wallet/history">History</a>
      </div>
      <Loaded resource={latest} what="movements">
        {({ movements }) =>
          movements.length === 0 ? (
            <p class="none">No payments yet.</p>
          ) : (
            <ul class="lines">
              {movements.map((movement) => (
                <li key={movementKey(movement)}>
                  <MovementLine movement={movement} names={names} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}
