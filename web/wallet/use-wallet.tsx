/** Resources of the wallet that the pages read: through the session, and again whenever an event says that it has changed. */

import { type ComponentChildren, createContext } from 'preact';
import { useContext, useState } from 'preact/hooks';
import type { MovementsResponse, TesseraClient, WalletInfoResponse } from '../../src/sdk/client.js';
import { type Resource, useResource } from '../shared/use-resource.js';
import { useEvents } from '../shared/use-stream.js';
import { useSession } from './session.js';

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

/** Asks the node now and after each change. Another key names another question. */
export function useWallet<T>(
  key: string | undefined,
  read: (node: TesseraClient, signal: AbortSignal) => Promise<T>,
): Resource<T> {
  const { apiKey, ask } = useSession();
  const version = `${useChanges()}/${apiKey === '' ? 0 : 1}`;
  return useResource<T>(key, (signal) => ask((node) => read(node, signal)), version);
}

/** The newest movements. */
export function useLatest(limit: number): Resource<MovementsResponse> {
  return useWallet(`movements/${limit}`, (node, signal) => node.getWalletMovements({ limit }, { signal }));
}

/** Balance and items. The first page of outputs comes with it: without a page the node sends all of them. */
export function useTotals(): Resource<WalletInfoResponse> {
  return useWallet('wallet', (node, signal) => node.getWallet({ page: 0 }, { signal }));
}
