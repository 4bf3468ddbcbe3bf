/** Paying: the form, its confirmation, and what becomes of the payment. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { readPaymentUri } from '../../../src/client/payment-uri.js';
import type { PaymentAcceptedResponse } from '../../../src/sdk/client.js';
import { readAmount } from '../../shared/amounts.js';
import { Notice } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { useKeptFocus } from '../../shared/use-kept-focus.js';
import { AmountField, type AmountInput, NO_AMOUNT } from '../amount-field.js';
import { Confirm } from '../confirm.js';
import type { Order } from '../order.js';
import { parsePayee } from '../payee.js';
import { PayeeField } from '../payee-field.js';
import { AddressBook, usePayees } from '../payees.js';
import { KeepNames, NameFields, type Names, NO_NAMES } from '../payment-names.js';
import { PaymentProgress } from '../payment-progress.js';
import { useOrders } from '../use-orders.js';
import { useTotals } from '../use-wallet.js';

export function PayPage() {
  const [payee, setPayee] = useState('');
  const [amount, setAmount] = useState<AmountInput>(NO_AMOUNT);
  const [names, setNames] = useState<Names>(NO_NAMES);
  const available = useTotals().value?.available_total_tokens;
  const book = usePayees();
  const desk = useOrders();
  const [order, setOrder] = useState<Order>();
  const [accepted, setAccepted] = useState<PaymentAcceptedResponse>();
  if (accepted !== undefined) {
    const again = (): void => {
      setPayee('');
      setAmount(NO_AMOUNT);
      setNames(NO_NAMES);
      setOrder(undefined);
      setAccepted(undefined);
    };
    return (
      <Paid title="Pay" next="Another payment" accepted={accepted} onNext={again}>
        <KeepNames names={names} address={parsePayee(payee)?.address} hash={accepted.tx_hash} />
      </Paid>
    );
  }
  if (order !== undefined) {
    return (
      <Page title="Pay">
        <Confirm<PaymentAcceptedResponse> order={order} onBack={() => setOrder(undefined)} onDone={setAccepted} />
      </Page>
    );
  }
  const choose = (text: string): void => {
    const request = readPaymentUri(text);
    setPayee(request?.address ?? text);
    if (request?.amount !== undefined) setAmount({ text: String(request.amount), unit: 'raw' });
    if (request !== undefined && request.label !== '') setNames({ ...names, note: request.label });
  };
  const found = parsePayee(payee);
  const { value: raw } = readAmount(amount.text, amount.unit, available);
  return (
    <Page title="Pay">
      <section class="panel" aria-label="Payment">
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            if (found === undefined || raw === undefined) return;
            setOrder(desk.take('/v1/payments', { ...found, amount: raw }));
          }}
        >
          <PayeeField value={payee} payees={book.payees} onChange={choose} />
          <AmountField value={amount} onChange={setAmount} available={available} />
          <NameFields names={names} onChange={setNames} />
          <div class="buttons">
            <button type="submit" class="button main" disabled={found === undefined || raw === undefined}>
              Review
            </button>
          </div>
        </form>
      </section>
      <AddressBook
        {...book}
        onPay={(address) => {
          setPayee(address);
          document.getElementById('amount')?.focus();
        }}
      />
    </Page>
  );
}

export interface PaidProps {
  readonly title: string;
  /** The button that leads on. */
  readonly next: string;
  readonly accepted: PaymentAcceptedResponse;
  readonly onNext: () => void;
  readonly children?: ComponentChildren;
}

export function Paid({ title, next, accepted, onNext, children }: PaidProps) {
  const { tx_hash: hash } = accepted;
  useKeptFocus();
  return (
    <Page title={title}>
      {hash === null ? (
        <Notice title="The node is paid">
          <p>
            The <a href="/wallet/history">history</a> has the payment.
          </p>
        </Notice>
      ) : (
        <PaymentProgress hash={hash} />
      )}
      {children}
      <button type="button" class="button" onClick={onNext}>
        {next}
      </button>
    </Page>
  );
}
