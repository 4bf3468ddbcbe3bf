/** The event stream of the node, opened once for a whole site: its state, and its events for whoever listens. */

import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { followEvents, type StreamState } from './events.js';

type Listener = (data: unknown) => void;

export interface Stream {
  readonly state: StreamState;
  /** Grows whenever something may have been missed: what is shown must be read anew. */
  readonly version: number;
  /** Calls the listener with the data of each event of that name; the returned function ends it. */
  readonly on: (name: string, listener: Listener) => () => void;
}

const StreamContext = createContext<Stream>({ state: 'connecting', version: 0, on: () => () => undefined });

export function useStream(): Stream {
  return useContext(StreamContext);
}

/** Calls the newest listener with the data of each event of that name. */
export function useEvents<T>(name: string, listener: (data: T) => void): void {
  const { on } = useStream();
  const current = useRef(listener);
  current.current = listener;
  useEffect(() => on(name, (data) => current.current(data as T)), [on, name]);
}

export interface StreamProviderProps {
  /** Undefined until it is known which the node has: then nothing is opened yet. */
  readonly topics: readonly string[] | undefined;
  readonly names: readonly string[];
  /** How it is opened, where not as anybody may; another function opens it anew. */
  readonly follow?: typeof followEvents;
  readonly children: ComponentChildren;
}

/** Opens the stream for all that is inside. */
export function StreamProvider({ topics, names, follow = followEvents, children }: StreamProviderProps) {
  const [state, setState] = useState<StreamState>('connecting');
  const [version, setVersion] = useState(0);
  const listeners = useMemo(() => new Map<string, Set<Listener>>(), []);
  const wasLost = useRef(false);
  const key = topics?.join(',');

  useEffect(() => {
    if (key === undefined) return;
    const tell = (name: string, data: unknown): void => {
      for (const listener of [...(listeners.get(name) ?? [])]) listener(data);
    };
    return follow(
      {
        topics: key.split(','),
        onEvent: (name, data) => {
          if (name === 'reset' || name === 'lagged') setVersion((count) => count + 1);
          else tell(name, data);
        },
        onState: (next) => {
          if (next === 'open' && wasLost.current) setVersion((count) => count + 1);
          wasLost.current = next === 'lost' || (wasLost.current && next !== 'open');
          setState(next);
        },
      },
      [...names, 'reset', 'lagged'],
    );
  }, [key, names, follow, listeners]);

  const stream = useMemo<Stream>(() => {
    const on = (name: string, listener: Listener): (() => void) => {
      const known = listeners.get(name) ?? new Set();
      listeners.set(name, known.add(listener));
      return () => known.delete(listener);
    };
    return { state, version, on };
  }, [state, version, listeners]);
  return <StreamContext.Provider value={stream}>{children}</StreamContext.Provider>;
}
