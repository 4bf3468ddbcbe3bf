/** The event stream of the node, opened once for a whole site: its state, and its events for whoever listens. */

import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { NodeEvent } from '../../src/sdk/client.js';
import { node as anonymous } from './node.js';
import { followStream, type StreamState, type Topics } from './stream.js';

type Name = NodeEvent['name'];
type Data<N extends Name> = Extract<NodeEvent, { readonly name: N }>['data'];
type Listener = (data: NodeEvent['data']) => void;

export interface Stream {
  readonly state: StreamState;
  /** Grows whenever something may have been missed: what is shown must be read anew. */
  readonly version: number;
  /** Calls the listener with the data of each event of that name; the returned function ends it. */
  readonly on: (name: Name, listener: Listener) => () => void;
}

const StreamContext = createContext<Stream>({ state: 'connecting', version: 0, on: () => () => undefined });

export function useStream(): Stream {
  return useContext(StreamContext);
}

/** Calls the newest listener with the data of each event of that name. */
export function useEvents<N extends Name>(name: N, listener: (data: Data<N>) => void): void {
  const { on } = useStream();
  const current = useRef(listener);
  current.current = listener;
  useEffect(() => on(name, (data) => current.current(data as Data<N>)), [on, name]);
}

export interface StreamProviderProps {
  /** Undefined until it is known which the node has: then nothing is opened yet. Another list opens it anew. */
  readonly topics: Topics | undefined;
  /** The node with the API key of the page; another one opens it anew. */
  readonly node?: Parameters<typeof followStream>[0];
  /** The node does not take that key any more. */
  readonly onRefused?: () => void;
  readonly children: ComponentChildren;
}

/** Opens the stream for all that is inside. */
export function StreamProvider({ topics, node = anonymous, onRefused, children }: StreamProviderProps) {
  const [state, setState] = useState<StreamState>('connecting');
  const [version, setVersion] = useState(0);
  const listeners = useMemo(() => new Map<Name, Set<Listener>>(), []);
  const wasLost = useRef(false);

  useEffect(() => {
    if (topics === undefined) return;
    const ending = new AbortController();
    void followStream(node, topics, ending.signal, {
      onEvent: ({ name, data }) => {
        if (name === 'reset' || name === 'lagged') setVersion((count) => count + 1);
        else for (const listener of [...(listeners.get(name) ?? [])]) listener(data);
      },
      onState: (next) => {
        if (next === 'open' && wasLost.current) setVersion((count) => count + 1);
        wasLost.current = next === 'lost' || (wasLost.current && next !== 'open');
        setState(next);
      },
      onRefused,
    });
    return () => ending.abort();
  }, [topics, node, onRefused, listeners]);

  const stream = useMemo<Stream>(() => {
    const on = (name: Name, listener: Listener): (() => void) => {
      const known = listeners.get(name) ?? new Set();
      listeners.set(name, known.add(listener));
      return () => known.delete(listener);
    };
    return { state, version, on };
  }, [state, version, listeners]);
  return <StreamContext.Provider value={stream}>{children}</StreamContext.Provider>;
}
