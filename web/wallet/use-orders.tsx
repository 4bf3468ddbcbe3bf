/** The orders of this page, for all of its parts. */

import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { findMade, sendOrder } from './order.js';
import { isSilent, OrderDesk } from './order-desk.js';
import { useSession } from './session.js';
import { useWallet } from './use-wallet.js';

/** No event says that a request whose answer was lost has come to the node after all. */
const AGAIN_MS = 2_000;

const DeskContext = createContext<OrderDesk | undefined>(undefined);

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export function OrdersProvider({ children }: { readonly children: ComponentChildren }) {
  const { ask } = useSession();
  const desk = useMemo(
    () =>
      new OrderDesk({
        send: (order, passphrase) => ask((node) => sendOrder(node, order, passphrase)),
        pause,
        now: () => Date.now(),
      }),
    [ask],
  );
  return (
    <DeskContext.Provider value={desk}>
      <Looking />
      {children}
    </DeskContext.Provider>
  );
}

/** Looks in the history of the node for orders whose answer was lost, for as long as there are any. */
function Looking() {
  const desk = useOrders();
  const { access } = useSession();
  const lost = desk.orders.filter(isSilent).map(({ order }) => order.idempotencyKey);
  const isLooking = access === 'open' && lost.length > 0;
  const { reload } = useWallet(isLooking ? `orders/${lost.join()}` : undefined, (node, signal) =>
    desk.look((order) => findMade(node, order, signal)),
  );
  useEffect(() => {
    if (!isLooking) return;
    const timer = setInterval(reload, AGAIN_MS);
    return () => clearInterval(timer);
  }, [isLooking, reload]);
  return null;
}

/** The desk; who uses it is drawn again whenever something of it changes. */
export function useOrders(): OrderDesk {
  const desk = useContext(DeskContext);
  if (desk === undefined) throw new Error('outside of OrdersProvider');
  const [, setCount] = useState(0);
  useEffect(() => desk.subscribe(() => setCount((count) => count + 1)), [desk]);
  return desk;
}
