/** Paying: the form, its confirmation, and what becomes of the payment. */

import { useState } from 'preact/hooks';
import { grouped } from '../../shared/amounts.js';
import { Amount } from '../../shared/components/amount.js';
import { Fact } from '../../shared/components/facts.js';
import { Hash } from '../../shared/components/hash.js';
import { Notice } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { AmountField, type AmountInput, NO_AMOUNT, rawOf } from '../amount-field.js';
import { type Payee, parsePayee } from '../amounts-typed.js';
import { Confirm } from '../confirm.js';
import { newOrder, type Order } from '../order.js';
import { PayeeField } from '../payee-field.js';
import { PaymentProgress } from '../payment-progress.js';
import { useTotals } from '../use-wallet.js';
import type { PaymentAccepted } from '../views.js';

interface Payment {
  readonly order: Order;
  readonly payee: Payee;
  readonly raw: bigint;
}

export function PayPage() {
  const [payee, setPayee] = useState('');
  const [amount, setAmount] = useState<AmountInput>(NO_AMOUNT);
  const [payment, setPayment] = useState<Payment>();
  const [accepted, setAccepted] = useState<PaymentAccepted>();
  if (accepted !== undefined) {
    const again = (): void => {
      setPayee('');
      setAmount(NO_AMOUNT);
      setPayment(undefined);
      setAccepted(undefined);
    };
    return <Paid title="Pay" next="Another payment" accepted={accepted} onNext={again} />;
  }
  if (payment !== undefined) {
    return (
      <Page title="Pay">
        <ConfirmPayment payment={payment} onBack={() => setPayment(undefined)} onDone={setAccepted} />
      </Page>
    );
  }
  const found = parsePayee(payee);
  const raw = rawOf(amount);
  return (
    <Page title="Pay">
      <section class="panel" aria-label="Payment">
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            if (found === undefined || raw === undefined) return;
            const order = newOrder('/v1/payments', { ...found, amount: raw });
            setPayment({ order, payee: found, raw });
          }}
        >
          <PayeeField value={payee} onChange={setPayee} />
          <AmountField value={amount} onChange={setAmount} />
          <Funds raw={raw} />
          <div class="buttons">
            <button type="submit" class="button main" disabled={found === undefined || raw === undefined}>
              Review
            </button>
          </div>
        </form>
      </section>
    </Page>
  );
}

/** What there is to spend, and whether that is less than the amount. */
function Funds({ raw }: { readonly raw: bigint | undefined }) {
  const { value } = useTotals();
  if (value === undefined) return null;
  const available = BigInt(value.available_total_tokens);
  return (
    <p class={raw !== undefined && raw > available ? 'hint bad-news' : 'hint'}>
      Available: <Amount raw={available} />
    </p>
  );
}

interface ConfirmPaymentProps {
  readonly payment: Payment;
  readonly onBack: () => void;
  readonly onDone: (accepted: PaymentAccepted) => void;
}

function ConfirmPayment({ payment, onBack, onDone }: ConfirmPaymentProps) {
  const { order, payee, raw } = payment;
  return (
    <Confirm<PaymentAccepted>
      order={order}
      title="Is this right?"
      verb="Pay now"
      asksPassphrase
      onBack={onBack}
      onDone={onDone}
    >
      <PayeeFact payee={payee} />
      <Fact name="Amount">
        <Amount raw={raw} /> <span class="unseen">{grouped(raw)} raw units</span>
      </Fact>
      <Fact name="Fee">none</Fact>
    </Confirm>
  );
}

export function PayeeFact({ payee }: { readonly payee: Payee }) {
  return payee.kind === 'address' ? (
    <Fact name="To the address">
      <Hash value={payee.address} isWhole />
    </Fact>
  ) : (
    <Fact name="To the node">
      <code>{payee.address}</code>, which names the address
    </Fact>
  );
}

export interface PaidProps {
  readonly title: string;
  /** The button that leads on. */
  readonly next: string;
  readonly accepted: PaymentAccepted;
  readonly onNext: () => void;
}

export function Paid({ title, next, accepted, onNext }: PaidProps) {
  const { tx_hash: hash } = accepted;
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
      <button type="button" class="button" onClick={onNext}>
        {next}
      </button>
    </Page>
  );
}
