/** Donations: asking a node for one, and what nodes have answered. */

import { useState } from 'preact/hooks';
import type { DonationRequestsResponse } from '../../../src/sdk/client.js';
import { Loaded } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { SafeLine } from '../../shared/components/safe-text.js';
import { When } from '../../shared/components/when.js';
import { Confirm } from '../confirm.js';
import type { Order } from '../order.js';
import { Field } from '../parts.js';
import { isNodeAddress } from '../payee.js';
import { useOrders } from '../use-orders.js';
import { useWallet } from '../use-wallet.js';

/** Served by user nodes only. */
export const DONATIONS = '/v1/donation-requests';

type Request = DonationRequestsResponse['requests'][number];

const OUTCOMES: Readonly<Record<Request['outcome'], readonly [kind: string, text: string]>> = {
  accepted: ['good', 'Accepted'],
  declined: ['bad', 'Declined'],
  unanswered: ['wait', 'Unanswered'],
};

export function DonationsPage() {
  const requests = useWallet('donations', (node, signal) => node.getDonationRequests({ limit: 100 }, { signal }));
  const [order, setOrder] = useState<Order>();
  const [said, say] = useState('');
  const done = (): void => {
    setOrder(undefined);
    say('The node has answered.');
    requests.reload();
  };
  const back = (): void => {
    setOrder(undefined);
    requests.reload();
  };
  return (
    <Page title="Donations">
      {order === undefined ? (
        <>
          <Ask
            onOrder={(made) => {
              say('');
              setOrder(made);
            }}
          />
          <p role="status" class="said">
            {said}
          </p>
        </>
      ) : (
        <Confirm order={order} onBack={back} onDone={done} />
      )}
      <section class="panel" aria-labelledby="answers">
        <h2 id="answers">What nodes have answered</h2>
        <Loaded resource={requests} what="answers">
          {({ requests: found }) => <Answers requests={found} />}
        </Loaded>
      </section>
    </Page>
  );
}

function Ask({ onOrder }: { readonly onOrder: (order: Order) => void }) {
  const desk = useOrders();
  const [text, setText] = useState('');
  const address = text.trim();
  return (
    <section class="panel" aria-label="Ask for a donation">
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          onOrder(desk.take(DONATIONS, { address }));
        }}
      >
        <Field label="Node to ask" id="node" hint="ip:port, such as 127.0.0.1:12360. It decides by itself.">
          <input
            id="node"
            class="field mono"
            required
            maxLength={256}
            autocomplete="off"
            spellcheck={false}
            aria-describedby="node-hint"
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </Field>
        <div class="buttons">
          <button type="submit" class="button main" disabled={!isNodeAddress(address)}>
            Review
          </button>
        </div>
      </form>
    </section>
  );
}

function Answers({ requests }: DonationRequestsResponse) {
  if (requests.length === 0) return <p class="none">No node was asked yet.</p>;
  return (
    <ul class="lines">
      {requests.map(({ number, peer, asked_at, outcome, reason }) => {
        const [kind, text] = OUTCOMES[outcome] ?? ['', outcome];
        return (
          <li key={number}>
            <span class={`tag ${kind}`}>{text}</span>
            <span class="line-main">
              <SafeLine text={peer} />
            </span>
            {/* In the words of the other node, which may be anything. */}
            {reason !== null && (
              <span class="line-part">
                <SafeLine text={reason} limit={200} />
              </span>
            )}
            <span class="line-end">
              <When seconds={asked_at} />
            </span>
          </li>
        );
      })}
    </ul>
  );
}
