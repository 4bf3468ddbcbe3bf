/**
 * The confirmation step of all that cannot be taken back: what is about to happen, the passphrase where the node asks for it,
 * and one order, which is done once whatever is clicked and whatever answers are lost.
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import { grouped } from '../shared/amounts.js';
import { Facts } from '../shared/components/facts.js';
import { useKeptFocus } from '../shared/use-kept-focus.js';
import type { Order } from './order.js';
import type { OrderState } from './order-desk.js';
import { ORDER_WORDS, OrderFacts } from './order-facts.js';
import { TemporaryAddresses, TransactionName } from './parts.js';
import { useOrders } from './use-orders.js';
import { useTotals } from './use-wallet.js';

export interface ConfirmProps<T> {
  readonly order: Order;
  readonly onBack: () => void;
  readonly onDone: (answer: T) => void;
}

export function Confirm<T>({ order, onBack, onDone }: ConfirmProps<T>) {
  const desk = useOrders();
  const state = desk.stateOf(order);
  const totals = useTotals();
  const { verb, asksPassphrase } = ORDER_WORDS[order.path];
  const [passphrase, setPassphrase] = useState('');
  const head = useRef<HTMLHeadingElement>(null);
  const step = state?.step ?? 'ready';
  const isSending = step === 'sending' || step === 'repeating' || step === 'done';
  useKeptFocus();
  useEffect(() => head.current?.focus(), []);
  useEffect(() => {
    // A button that is switched off loses the focus.
    if (!isSending && document.activeElement === document.body) head.current?.focus();
  }, [isSending]);
  useEffect(() => desk.show(order), [desk, order]);
  useEffect(() => {
    if (state?.step === 'done') onDone(state.answer as T);
  }, [state?.step]);
  return (
    <section class="panel" aria-labelledby="confirm">
      <h2 id="confirm" tabIndex={-1} ref={head}>
        Is this right?
      </h2>
      <Facts>
        <OrderFacts order={order} />
      </Facts>
      <TemporaryAddresses addresses={totals.value?.temporary_addresses?.filter((one) => one === order.body.address)} />
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void desk.submit(order, asksPassphrase ? passphrase : undefined);
        }}
      >
        {asksPassphrase && (
          <div class="form-field">
            <label htmlFor="passphrase">Passphrase of the wallet</label>
            <input
              id="passphrase"
              class="field"
              type="password"
              autocomplete="off"
              maxLength={1_024}
              disabled={isSending}
              value={passphrase}
              onInput={({ currentTarget }) => setPassphrase(currentTarget.value)}
            />
          </div>
        )}
        <div class="buttons">
          {step !== 'stale' && (
            <button type="submit" class="button main" disabled={isSending}>
              {step === 'unanswered' ? 'Ask again' : verb}
            </button>
          )}
          <button type="button" class="button" disabled={isSending} onClick={onBack}>
            Back
          </button>
        </div>
      </form>
      <div role="status" class="said">
        {state !== undefined && <Said state={state} />}
      </div>
    </section>
  );
}

/** Text about an order that was sent. */
export function Said({ state: { order, step, message, code, answer } }: { readonly state: OrderState }) {
  const { refusal, permission } = ORDER_WORDS[order.path];
  if (step === 'sending') return <p>Asking the node…</p>;
  if (step === 'refused') {
    return (
      <p class="bad-news">
        <bdi>{code === 'insufficient_funds' ? message.replaceAll(/\b\d+\b/g, grouped) : message}</bdi> {refusal}
        {code === 'invalid_api_key' && (
          <>
            {' '}
            The API key of this page needs the permission <code>{permission}</code> for it.
          </>
        )}
      </p>
    );
  }
  if (step === 'repeating') {
    return <p>No answer yet. The same request is sent again; it is done only once.</p>;
  }
  if (step === 'unanswered') {
    return (
      <p class="bad-news">
        <bdi>{message}</bdi> There is no answer, so it may be done or not.{' '}
        {order.path !== '/v1/donation-requests' && 'The history of this node does not have it so far. '}
        The same request can be sent again without harm: it is done only once.
      </p>
    );
  }
  if (step === 'stale') {
    return (
      <p class="bad-news">
        This request is too old to be sent again safely. Check the <a href="/wallet/history">history</a> whether it was
        done.
      </p>
    );
  }
  const hash = (answer as { readonly tx_hash?: string | null } | undefined)?.tx_hash;
  return hash ? (
    <p>
      The history of this node has it: <TransactionName value={hash} isWhole />
    </p>
  ) : null;
}
