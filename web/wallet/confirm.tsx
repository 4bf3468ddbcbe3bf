/**
 * The confirmation step of all that cannot be taken back: what is about to happen, the passphrase where the node asks for it,
 * and one order, which is done once whatever is clicked and whatever answers are lost.
 */

import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Facts } from '../shared/components/facts.js';
import { type Order, OrderSender, type Outcome } from './order.js';
import { useSession } from './session.js';

export interface ConfirmProps<T> {
  readonly order: Order;
  readonly title: string;
  /** The button: `Pay now`. */
  readonly verb: string;
  /** What is about to happen, as facts. */
  readonly children: ComponentChildren;
  readonly asksPassphrase: boolean;
  /** What a refusal means; that nothing was done, unless it is said otherwise. */
  readonly refusal?: string;
  readonly onBack: () => void;
  readonly onDone: (answer: T) => void;
}

type Step = 'ready' | 'sending' | 'repeating' | Exclude<Outcome<unknown>['kind'], 'done'>;

export function Confirm<T>(props: ConfirmProps<T>) {
  const { order, title, verb, children, asksPassphrase, refusal = 'Nothing was done.', onBack, onDone } = props;
  const { submit, step, message } = useOrder<T>(order, onDone);
  const [passphrase, setPassphrase] = useState('');
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => head.current?.focus(), []);
  const isSending = step === 'sending' || step === 'repeating';
  const mayBeDone = step === 'unanswered' || step === 'stale';
  return (
    <section class="panel" aria-labelledby="confirm">
      <h2 id="confirm" tabIndex={-1} ref={head}>
        {title}
      </h2>
      <Facts>{children}</Facts>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void submit(asksPassphrase ? passphrase : undefined);
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
              {mayBeDone ? 'Ask again' : verb}
            </button>
          )}
          <button type="button" class="button" disabled={isSending} onClick={onBack}>
            Back
          </button>
        </div>
      </form>
      <div role="status" class="said">
        <Said step={step} message={message} refusal={refusal} />
      </div>
    </section>
  );
}

interface SaidProps {
  readonly step: Step;
  /** The words of the node. */
  readonly message: string;
  readonly refusal: string;
}

function Said({ step, message, refusal }: SaidProps) {
  if (step === 'sending') return <p>Asking the node…</p>;
  if (step === 'refused') {
    return (
      <p class="bad-news">
        <bdi>{message}</bdi> {refusal}
      </p>
    );
  }
  if (step === 'repeating') {
    return <p>No answer yet. The same request is sent again; however often, it is done once.</p>;
  }
  if (step === 'unanswered') {
    return (
      <p class="bad-news">
        <bdi>{message}</bdi> There is no answer to the first attempt, so it may be done or not. “Ask again” sends the
        same request, which is done once. Before you go back and begin anew, look into the{' '}
        <a href="/wallet/history">history</a>.
      </p>
    );
  }
  if (step === 'stale') {
    return (
      <p class="bad-news">
        This request is too old to be sent again safely. Look into the <a href="/wallet/history">history</a> whether it
        was done.
      </p>
    );
  }
  return null;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** One sender for one order, for as long as it is shown. */
function useOrder<T>(order: Order, onDone: (answer: T) => void) {
  const { call } = useSession();
  const [step, setStep] = useState<Step>('ready');
  const [message, setMessage] = useState('');
  const sender = useMemo(
    () =>
      new OrderSender<T>(order, {
        send: ({ path, body, idempotencyKey }, passphrase) =>
          call<T>(path, {
            method: 'POST',
            body: { ...body, passphrase },
            headers: { 'idempotency-key': idempotencyKey },
          }),
        onRepeat: () => setStep('repeating'),
        pause,
        now: () => Date.now(),
      }),
    [order, call],
  );
  const submit = async (passphrase: string | undefined): Promise<void> => {
    setStep((old) => (old === 'repeating' ? old : 'sending'));
    try {
      const outcome = await sender.submit(passphrase);
      if (outcome.kind === 'done') return onDone(outcome.answer);
      setMessage(outcome.kind === 'stale' ? '' : outcome.message);
      setStep(outcome.kind);
    } catch (error) {
      // A fault of this page, after which nobody can say what the node has done.
      setStep('unanswered');
      throw error;
    }
  };
  return { submit, step, message };
}
