/**
 * Session of this page with the wallet: with the API key that was typed, or without one where the node asks for none. The key
 * is in memory only, tried at once, and forgotten when the node refuses it, when the owner says so, and with the page.
 */

import { type ComponentChildren, createContext } from 'preact';
import { useCallback, useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isTesseraError, type TesseraClient } from '../../src/sdk/client.js';
import { nodeWith } from '../shared/node.js';

export type Access = 'checking' | 'closed' | 'open';

export interface Session {
  readonly access: Access;
  /** Empty when the node asks for none. */
  readonly apiKey: string;
  /** Why the page is closed, or cannot tell; undefined when there is nothing to say. */
  readonly problem: string | undefined;
  /** Tries a key. */
  readonly enter: (apiKey: string) => void;
  /** Forgets the key. */
  readonly leave: () => void;
  /** Asks the node again whether it takes the key. */
  readonly check: () => void;
  /** The node, asked with the key. */
  readonly node: TesseraClient;
  /** Asks it, and checks the key when the node refuses that. */
  readonly ask: <T>(request: (node: TesseraClient) => Promise<T>) => Promise<T>;
}

const AGAIN_MS = 2_000;
const MS_PER_SECOND = 1_000;

const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error('outside of SessionProvider');
  return session;
}

interface State {
  readonly access: Access;
  readonly apiKey: string;
  readonly problem?: string | undefined;
}

export function SessionProvider({ children }: { readonly children: (session: Session) => ComponentChildren }) {
  const [state, setState] = useState<State>(() => ({ access: 'checking', apiKey: '' }));
  const [attempt, setAttempt] = useState(0);
  const { apiKey } = state;
  const node = useMemo(() => nodeWith(apiKey), [apiKey]);
  const current = useRef(node);
  current.current = node;

  useEffect(() => {
    const ending = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const probe = async (): Promise<void> => {
      const { waitMs, ...next } = await tryKey(node, apiKey, ending.signal);
      if (ending.signal.aborted) return;
      setState((old) => {
        // A page in use stays while the node is away.
        if (next.access === 'checking' && old.access === 'open') return old;
        // Why a key was refused stands until another is typed.
        return next.access === 'closed' && old.access === 'closed' ? old : next;
      });
      if (next.access === 'checking') timer = setTimeout(() => void probe(), waitMs);
    };
    void probe();
    return () => {
      ending.abort();
      clearTimeout(timer);
    };
  }, [node, apiKey, attempt]);

  const enter = useCallback((key: string) => {
    setState({ access: 'checking', apiKey: key });
    setAttempt((count) => count + 1);
  }, []);
  const leave = useCallback(() => {
    setState({ access: 'checking', apiKey: '' });
    setAttempt((count) => count + 1);
  }, []);
  const check = useCallback(() => setAttempt((count) => count + 1), []);
  const ask = useCallback(
    async <T,>(request: (node: TesseraClient) => Promise<T>): Promise<T> => {
      try {
        return await request(current.current);
      } catch (error) {
        // The key may cover other routes only: whether it is one at all is asked.
        if (isRefusedKey(error)) check();
        throw error;
      }
    },
    [check],
  );
  const { access, problem } = state;
  const session = useMemo<Session>(
    () => ({ access, apiKey, problem, enter, leave, check, node, ask }),
    [access, apiKey, problem, enter, leave, check, node, ask],
  );
  return <SessionContext.Provider value={session}>{children(session)}</SessionContext.Provider>;
}

function isRefusedKey(error: unknown): error is Error {
  return isTesseraError(error, 'missing_api_key') || isTesseraError(error, 'invalid_api_key');
}

interface Tried extends State {
  /** Time until the next attempt, while nobody can tell. */
  readonly waitMs?: number;
}

/** Reading the history needs what every page of the wallet needs. */
async function tryKey(node: TesseraClient, apiKey: string, signal: AbortSignal): Promise<Tried> {
  try {
    await node.getWalletMovements({ limit: 1 }, { signal });
    return { access: 'open', apiKey };
  } catch (error) {
    if (isRefusedKey(error))
      return { access: 'closed', apiKey: '', problem: apiKey === '' ? undefined : error.message };
    const problem = isTesseraError(error) ? error.message : 'The page has failed.';
    const seconds = isTesseraError(error) ? Number(error.details.retryAfter ?? 0) : 0;
    return { access: 'checking', apiKey, problem, waitMs: Math.max(AGAIN_MS, seconds * MS_PER_SECOND) };
  }
}
