/** The trades of the wallet, as they stand. They are made by the command line and by programs (docs/wallet.md#trades). */

import type { ApiAsset, TradeResponse } from '../../../src/sdk/client.js';
import { Amount } from '../../shared/components/amount.js';
import { Loaded } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { SafeText } from '../../shared/components/safe-text.js';
import { When } from '../../shared/components/when.js';
import { ItemCount } from '../parts.js';
import { useWallet } from '../use-wallet.js';

/** Number of trades that are shown: the open ones, and the latest of the others. */
const SHOWN = 100;

const KINDS: Readonly<Record<string, string>> = {
  done: 'good',
  cancelled: 'bad',
  expired: 'bad',
  failed: 'bad',
};

export function TradesPage() {
  const found = useWallet('trades', (node, signal) => node.getTrades({}, { signal }));
  return (
    <Page title="Trades">
      <Loaded resource={found} what="trades">
        {({ trades }) =>
          trades.length === 0 ? (
            <p class="none">
              There are none. <code>tessera trade offer</code> makes one.
            </p>
          ) : (
            <ul class="cards" aria-label="Trades">
              {trades.slice(0, SHOWN).map((trade) => (
                <li key={trade.trade_id} class="card">
                  <TradeCard trade={trade} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Page>
  );
}

function TradeCard({ trade }: { readonly trade: TradeResponse }) {
  const { state, side, give, get, expires_at, reason, metadata } = trade;
  return (
    <>
      <div class="card-head">
        <span class={`tag ${KINDS[state] ?? 'wait'}`}>{state}</span>
        <span>{side === 'maker' ? 'Own offer' : 'Offer of another'}</span>
        <span class="none">
          until <When seconds={expires_at} />
        </span>
      </div>
      <p>
        Give <Asset asset={give} />, get <Asset asset={get} />
      </p>
      {reason !== null && (
        <p>
          <bdi>{reason}</bdi>
        </p>
      )}
      {metadata !== null && <SafeText text={metadata} />}
    </>
  );
}

function Asset({ asset }: { readonly asset: ApiAsset }) {
  return asset.kind === 'token' ? (
    <Amount raw={asset.amount} />
  ) : (
    <ItemCount count={asset.amount} genesis={asset.genesis_hash ?? ''} />
  );
}
