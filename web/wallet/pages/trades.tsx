/** Trades: offering, looking at what somebody else has passed on, and how all of them stand (docs/wallet.md#trades). */

import { useEffect, useState } from 'preact/hooks';
import type { TradeResponse } from '../../../src/sdk/client.js';
import { Copy } from '../../shared/components/hash.js';
import { Metadata } from '../../shared/components/item-card.js';
import { Loaded } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { useAction } from '../../shared/use-action.js';
import { TransactionName } from '../parts.js';
import { useSession } from '../session.js';
import { DocumentForm } from '../trades/document-form.js';
import { linkOf, readDocument, type TradeDocument } from '../trades/documents.js';
import { OfferForm } from '../trades/offer-form.js';
import { Sides } from '../trades/sides.js';
import { useWallet } from '../use-wallet.js';

/** Number of trades that are shown: the open ones, and the latest of the others. */
const SHOWN = 100;

const STATES: Readonly<Record<TradeResponse['state'], readonly [kind: string, text: string]>> = {
  received: ['wait', 'Received'],
  open: ['wait', 'Open'],
  accepted: ['wait', 'Accepted'],
  agreed: ['wait', 'Agreed'],
  cancelling: ['wait', 'Being taken back'],
  done: ['good', 'Done'],
  cancelled: ['bad', 'Taken back'],
  expired: ['bad', 'Expired'],
  failed: ['bad', 'Failed'],
};
const TAKEN_BACK: ReadonlySet<string> = new Set(['open', 'accepted', 'agreed']);

/** No event tells of the steps of a trade: while one goes on, the node is asked again. */
const AGAIN_MS = 2_000;

export function TradesPage() {
  const found = useWallet('trades', (node, signal) => node.getTrades({}, { signal }));
  const [offers, setOffers] = useState(0);
  const [looked, setLooked] = useState(() => (readDocument(location.hash) === undefined ? '' : location.href));
  const goesOn = (found.value?.trades ?? []).some(({ state }) => STATES[state]?.[0] === 'wait');
  useEffect(() => {
    if (!goesOn) return;
    const timer = setInterval(found.reload, AGAIN_MS);
    return () => clearInterval(timer);
  }, [goesOn, found.reload]);
  const stamp = (found.value?.trades ?? []).map(({ trade_id, state }) => `${trade_id}/${state}`).join();
  const offered = (): void => {
    setOffers(offers + 1);
    found.reload();
  };
  return (
    <Page title="Trades">
      <div class="columns">
        <section class="panel" aria-labelledby="offer">
          <h2 id="offer">Offer a trade</h2>
          <OfferForm key={offers} stamp={stamp} onOffered={offered} />
        </section>
        <section class="panel" aria-labelledby="look">
          <h2 id="look">Look at what you were sent</h2>
          <DocumentForm key={looked} text={looked} onDone={found.reload} />
        </section>
      </div>
      <Loaded resource={found} what="trades">
        {({ trades }) =>
          trades.length === 0 ? (
            <p class="none">There are no trades yet.</p>
          ) : (
            <ul class="cards" aria-label="Trades">
              {trades.slice(0, SHOWN).map((trade) => (
                <li key={trade.trade_id} class="card">
                  <TradeCard trade={trade} onChange={found.reload} onLook={setLooked} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </Page>
  );
}

interface TradeCardProps {
  readonly trade: TradeResponse;
  readonly onChange: () => void;
  readonly onLook: (text: string) => void;
}

function TradeCard({ trade, onChange, onLook }: TradeCardProps) {
  const { trade_id, state, side, give, get, expires_at, reason, metadata, tx_hash } = trade;
  const { ask } = useSession();
  const { said, isBusy, run } = useAction();
  const [kind, text] = STATES[state] ?? ['', state];
  const next = toPassOn(trade);
  return (
    <>
      <div class="card-head">
        <span class={`tag ${kind}`}>{text}</span>
        <span>{side === 'maker' ? 'Own offer' : 'Offer of another'}</span>
        {state === 'received' && (
          <button type="button" class="button small card-button" onClick={() => onLook(JSON.stringify(trade.offer))}>
            Look at it
          </button>
        )}
        {TAKEN_BACK.has(state) && (
          <button
            type="button"
            class="button small card-button"
            disabled={isBusy}
            onClick={() =>
              void run(async () => {
                await ask((node) => node.cancelTrade({ trade_id }));
                onChange();
                return 'It is taken back.';
              })
            }
          >
            Take back
          </button>
        )}
      </div>
      <Sides give={give} get={get} until={expires_at} />
      {tx_hash !== null && (
        <p>
          Own half: <TransactionName value={tx_hash} />
        </p>
      )}
      {reason !== null && (
        <p>
          <bdi>{reason}</bdi>
        </p>
      )}
      {metadata !== null && <Metadata text={metadata} />}
      {next !== undefined && (
        <div class="pass-on">
          <p>{next.words}</p>
          <p class="buttons">
            <Copy text={linkOf(next.document)} label="Copy the link" />
            <Copy text={JSON.stringify(next.document)} label="Copy the text" />
            <a
              download={`${next.name}-${trade_id.slice(0, 8)}.json`}
              href={`data:application/json,${encodeURIComponent(JSON.stringify(next.document))}`}
            >
              Save as a file
            </a>
          </p>
        </div>
      )}
      {said}
    </>
  );
}

interface PassedOn {
  readonly document: TradeDocument;
  readonly name: string;
  readonly words: string;
}

/** The document that the other party needs now, if the nodes do not bring it. */
function toPassOn({ state, side, offer, acceptance, confirmation }: TradeResponse): PassedOn | undefined {
  if (side === 'maker' && state === 'open') {
    return { document: offer, name: 'offer', words: 'Pass the offer on to whoever may accept it.' };
  }
  if (side === 'taker' && state === 'accepted' && acceptance !== null) {
    return { document: acceptance, name: 'acceptance', words: 'Pass the acceptance back to the other party.' };
  }
  if (side === 'maker' && state === 'agreed' && confirmation !== null) {
    return { document: confirmation, name: 'confirmation', words: 'Pass the confirmation on to the other party.' };
  }
  return undefined;
}
