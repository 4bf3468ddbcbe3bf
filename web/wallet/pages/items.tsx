/** The items of the wallet: what there is, sending some, creating others. */

import { useState } from 'preact/hooks';
import type { PaymentAcceptedResponse, WalletItemsResponse } from '../../../src/sdk/client.js';
import { grouped, readAmount } from '../../shared/amounts.js';
import { Metadata } from '../../shared/components/item-card.js';
import { Loaded } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { useKeptFocus } from '../../shared/use-kept-focus.js';
import { Confirm } from '../confirm.js';
import type { Order } from '../order.js';
import { Field, ItemName } from '../parts.js';
import { parsePayee } from '../payee.js';
import { PayeeField } from '../payee-field.js';
import { usePayees } from '../payees.js';
import { useOrders } from '../use-orders.js';
import { useWallet } from '../use-wallet.js';
import { CreateItems } from './create-items.js';
import { Paid } from './pay.js';

type WalletItem = WalletItemsResponse['items'][number];

type View =
  | { readonly kind: 'list' }
  | { readonly kind: 'send'; readonly item: WalletItem }
  | { readonly kind: 'create' }
  | { readonly kind: 'sent'; readonly accepted: PaymentAcceptedResponse };

export function ItemsPage() {
  const [view, setView] = useState<View>({ kind: 'list' });
  const toList = (): void => setView({ kind: 'list' });
  if (view.kind === 'sent') return <Paid title="Items" next="To the items" accepted={view.accepted} onNext={toList} />;
  return (
    <Page title="Items">
      {view.kind === 'create' && <CreateItems onEnd={toList} />}
      {view.kind === 'send' && (
        <SendItems item={view.item} onBack={toList} onDone={(accepted) => setView({ kind: 'sent', accepted })} />
      )}
      {view.kind === 'list' && (
        <>
          <p class="buttons shortcuts">
            <button type="button" class="button main" onClick={() => setView({ kind: 'create' })}>
              Create items
            </button>
          </p>
          <Items onSend={(item) => setView({ kind: 'send', item })} />
        </>
      )}
    </Page>
  );
}

/** Number of classes that are shown at first, and as many again for each request. */
const SHOWN = 50;

function Items({ onSend }: { readonly onSend: (item: WalletItem) => void }) {
  const found = useWallet('items', (node, signal) => node.getWalletItems({}, { signal }));
  const [shown, setShown] = useState(SHOWN);
  useKeptFocus();
  return (
    <Loaded resource={found} what="items">
      {({ items }) => (
        <>
          {items.length === 0 && <p class="none">This wallet holds no items.</p>}
          <ul class="cards gallery" aria-label="Items">
            {items.slice(0, shown).map((item) => (
              <li key={item.genesis_hash} class="card">
                <ItemCard item={item} onSend={() => onSend(item)} />
              </li>
            ))}
          </ul>
          {items.length > shown && (
            <button type="button" class="button" onClick={() => setShown(shown + SHOWN)}>
              Show more of {grouped(items.length)}
            </button>
          )}
        </>
      )}
    </Loaded>
  );
}

function ItemCard({ item, onSend }: { readonly item: WalletItem; readonly onSend: () => void }) {
  const { genesis_hash, amount, available, metadata } = item;
  return (
    <>
      <div class="card-head">
        <strong>{grouped(amount)} ×</strong>
        <ItemName value={genesis_hash} />
        {available !== amount && <span class="tag wait">{grouped(available)} available</span>}
        <button type="button" class="button small card-button" disabled={available === 0n} onClick={onSend}>
          Send<span class="unseen"> items of {genesis_hash}</span>
        </button>
      </div>
      {metadata !== null && <Metadata text={metadata} />}
    </>
  );
}

interface SendItemsProps {
  readonly item: WalletItem;
  readonly onBack: () => void;
  readonly onDone: (accepted: PaymentAcceptedResponse) => void;
}

function SendItems({ item, onBack, onDone }: SendItemsProps) {
  const { payees } = usePayees();
  useKeptFocus();
  const [payee, setPayee] = useState('');
  const [text, setText] = useState('1');
  const desk = useOrders();
  const [order, setOrder] = useState<Order>();
  if (order !== undefined) {
    return <Confirm<PaymentAcceptedResponse> order={order} onBack={() => setOrder(undefined)} onDone={onDone} />;
  }
  const found = parsePayee(payee);
  const { value: count, fault } = readAmount(text, 'items', item.available);
  return (
    <section class="panel" aria-labelledby="send">
      <h2 id="send">Send items</h2>
      <p>
        <ItemName value={item.genesis_hash} />
      </p>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (found === undefined || count === undefined) return;
          setOrder(desk.take('/v1/item-payments', { ...found, genesis_hash: item.genesis_hash, amount: count }));
        }}
      >
        <PayeeField value={payee} payees={payees} onChange={setPayee} />
        <Field label="How many" id="count" hint={`${grouped(item.available)} can be sent now.`} fault={fault}>
          <input
            id="count"
            class="field"
            required
            inputMode="numeric"
            autocomplete="off"
            aria-describedby="count-hint"
            aria-invalid={fault !== undefined}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </Field>
        <div class="buttons">
          <button type="submit" class="button main" disabled={found === undefined || count === undefined}>
            Review
          </button>
          <button type="button" class="button" onClick={onBack}>
            Back
          </button>
        </div>
      </form>
    </section>
  );
}
