/** Source of answers about the chain, and the chain's length: asked once for the whole site, and kept up by events. */

import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useMemo, useState } from 'preact/hooks';
import type { ChainIndexResponse } from '../../../src/sdk/client.js';
import { node } from '../../shared/node.js';
import { useServes } from '../../shared/use-node.js';
import { useResource } from '../../shared/use-resource.js';
import { useEvents, useStream } from '../../shared/use-stream.js';
import * as stored from './stored-chain.js';

export interface Chain {
  /** Source that pages read: the index of the node, or its blocks as they are stored. Undefined until that is known. */
  readonly source: 'index' | 'stored' | undefined;
  readonly index: ChainIndexResponse | undefined;
  /** Number of the last block; -1 before the first, undefined until it is known. */
  readonly height: number | undefined;
  /** Why nothing is known. */
  readonly error: Error | undefined;
}

const INDEX = '/v1/chain/index';
/** Time between questions to an index that is being built. */
const BUILDING_MS = 2_000;

const ChainContext = createContext<Chain>({ source: undefined, index: undefined, height: undefined, error: undefined });

export function useChain(): Chain {
  return useContext(ChainContext);
}

export function ChainProvider({ children }: { readonly children: ComponentChildren }) {
  const { version } = useStream();
  const hasIndexRoutes = useServes(INDEX);
  const key = hasIndexRoutes === undefined ? undefined : `chain/${hasIndexRoutes}`;
  const { value, error, reload } = useResource(
    key,
    async (signal): Promise<{ index?: ChainIndexResponse; height: number }> => {
      if (!hasIndexRoutes) return { height: await stored.readHeight(signal) };
      const index = await node.getChainIndex({}, { signal });
      return { index, height: Number(index.blocks) - 1 };
    },
    version,
  );
  const [height, setHeight] = useState<number>();
  useEffect(() => setHeight(value?.height), [value]);
  useEvents('block', ({ block_num }) => setHeight(Number(block_num)));

  const state = value?.index?.state;
  useEffect(() => {
    if (state !== 'building' && state !== 'waiting') return;
    const timer = setInterval(reload, BUILDING_MS);
    return () => clearInterval(timer);
  }, [state, reload]);

  const chain = useMemo<Chain>(() => {
    const source = value && (value.index?.state === 'ready' ? 'index' : 'stored');
    return { source, index: value?.index, height, error };
  }, [value, height, error]);
  return <ChainContext.Provider value={chain}>{children}</ChainContext.Provider>;
}

/** The value, at most once in `ms`. */
export function useThrottled<T>(value: T, ms: number): T {
  const [shown, setShown] = useState(value);
  const [isQuiet, setQuiet] = useState(true);
  useEffect(() => {
    if (!isQuiet || shown === value) return;
    setShown(value);
    setQuiet(false);
  }, [value, shown, isQuiet]);
  useEffect(() => {
    if (isQuiet) return;
    const timer = setTimeout(() => setQuiet(true), ms);
    return () => clearTimeout(timer);
  }, [isQuiet, ms]);
  return isQuiet ? value : shown;
}
