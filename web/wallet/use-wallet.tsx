/** What the pages read of the wallet: through the session, and again whenever an event says that it has changed. */

import { type ComponentChildren, createContext } from 'preact';
import { useContext, useState } from 'preact/hooks';
import { type Resource, useResource } from '../shared/use-resource.js';
import { useEvents } from '../shared/use-stream.js';
import { useSession } from './session.js';
import type { WalletTotals } from './views.js';

const ChangesContext = createContext(0);

/** Counts changes of the wallet, for all pages. */
export function ChangesProvider({ children }: { readonly children: ComponentChildren }) {
  const [count, setCount] = useState(0);
  const changed = (): void => setCount((old) => old + 1);
  useEvents('payment', changed);
  useEvents('balance', changed);
  useEvents('block', changed);
  return <ChangesContext.Provider value={count}>{children}</ChangesContext.Provider>;
}

/** Grows with every change of the wallet that the node has told. */
export function useChanges(): number {
  return useContext(ChangesContext);
}

/** Reads a route of the wallet now and after each change. */
export function useWalletResource<T>(path: string, query: Readonly<Record<string, string | number>> = {}): Resource<T> {
  const { call } = useSession();
  const key = `${path}?${JSON.stringify(query)}`;
  return useWalletReading<T>(key, (signal) => call<T>(path, { query, signal }));
}

/** The same for what is not always read by the same request. */
export function useWalletReading<T>(key: string, read: (signal: AbortSignal) => Promise<T>): Resource<T> {
  const { apiKey } = useSession();
  return useResource<T>(key, read, `${useChanges()}/${apiKey === '' ? 0 : 1}`);
}

/** Balance and items. The first page of outputs comes with it: without a page the node sends all of them. */
export function useTotals(): Resource<WalletTotals> {
  return useWalletResource<WalletTotals>('/v1/wallet', { page: 0 });
}
