/** Orders that no page shows: those without an answer, and what has come of others since the owner went on. */

import { useState } from 'preact/hooks';
import { Facts } from '../shared/components/facts.js';
import { Notice } from '../shared/components/notice.js';
import { Confirm, Said } from './confirm.js';
import type { Order } from './order.js';
import type { OrderState, Step } from './order-desk.js';
import { ORDER_WORDS, OrderFacts } from './order-facts.js';
import { useOrders } from './use-orders.js';

const TITLES: Readonly<Record<Exclude<Step, 'ready' | 'done'>, string>> = {
  sending: 'is on its way to the node',
  repeating: 'is on its way to the node',
  unanswered: 'has no answer',
  stale: 'has no answer',
  refused: 'was refused',
};

export function OpenOrders() {
  const desk = useOrders();
  const [asked, setAsked] = useState<Order>();
  const [said, say] = useState('');
  const back = (): void => setAsked(undefined);
  return (
    <>
      {asked !== undefined && (
        <Confirm
          key={asked.idempotencyKey}
          order={asked}
          onBack={back}
          onDone={() => {
            setAsked(undefined);
            say(`${ORDER_WORDS[asked.path].what} was accepted by the node.`);
          }}
        />
      )}
      <p role="status" class="said">
        {said}
      </p>
      {desk.orders
        .filter(({ isShown, step }) => !isShown && step !== 'ready')
        .map((state) => (
          <OpenOrder
            key={state.order.idempotencyKey}
            state={state}
            onAsk={() => {
              say('');
              setAsked(state.order);
            }}
            onForget={() => desk.forget(state.order)}
          />
        ))}
    </>
  );
}

interface OpenOrderProps {
  readonly state: OrderState;
  readonly onAsk: () => void;
  readonly onForget: () => void;
}

function OpenOrder({ state, onAsk, onForget }: OpenOrderProps) {
  const { order, step } = state;
  if (step === 'ready') return null;
  const { what, done } = ORDER_WORDS[order.path];
  const isSending = step === 'sending' || step === 'repeating';
  const isKnown = step === 'done' || step === 'refused';
  return (
    <Notice
      title={step === 'done' ? done : `${what} ${TITLES[step]}`}
      kind={isSending || step === 'done' ? 'plain' : 'warning'}
    >
      <Facts>
        <OrderFacts order={order} />
      </Facts>
      <Said state={state} />
      {!isSending && (
        <p class="buttons">
          {step === 'unanswered' && (
            <button type="button" class="button" onClick={onAsk}>
              Check it again
            </button>
          )}
          <button type="button" class="button" onClick={onForget}>
            {isKnown ? 'Close' : 'I have checked: dismiss it'}
          </button>
        </p>
      )}
    </Notice>
  );
}
