/** Facts about the node of this page (`GET /v1/debug`): pages show what it has, and say what it has not. */

import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect } from 'preact/hooks';
import type { DebugData } from '../../src/sdk/client.js';
import { node } from './node.js';
import { type Resource, useResource } from './use-resource.js';

const AGAIN_MS = 2_000;

const NodeContext = createContext<DebugData | undefined>(undefined);

/** The facts; undefined until they are known. */
export function useNode(): DebugData | undefined {
  return useContext(NodeContext);
}

/** True when the node serves the path, such as `/v1/supply`; undefined until that is known. */
export function useServes(path: string): boolean | undefined {
  return useNode()?.node_api.includes(path);
}

/** Asks until the node answers. */
export function NodeProvider({ children }: { readonly children: (facts: Resource<DebugData>) => ComponentChildren }) {
  const facts = useResource('debug', (signal) => node.getDebug({}, { signal }));
  const { error, reload } = facts;
  useEffect(() => {
    if (error === undefined) return;
    const timer = setTimeout(reload, AGAIN_MS);
    return () => clearTimeout(timer);
  }, [error, reload]);
  return <NodeContext.Provider value={facts.value}>{children(facts)}</NodeContext.Provider>;
}
