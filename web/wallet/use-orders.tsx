/** The orders of this page, for all of its parts. */

import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useMemo, useState } from 'preact/hooks';
import { sendOrder } from './order.js';
import { OrderDesk } from './order-desk.js';
import { useSession } from './session.js';

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
  return <DeskContext.Provider value={desk}>{children}</DeskContext.Provider>;
}

/** The desk; who uses it is drawn again whenever something of it changes. */
export function useOrders(): OrderDesk {
  const desk = useContext(DeskContext);
  if (desk === undefined) throw new Error('outside of OrdersProvider');
  const [, setCount] = useState(0);
  useEffect(() => desk.subscribe(() => setCount((count) => count + 1)), [desk]);
  return desk;
}
