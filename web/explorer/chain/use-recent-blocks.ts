/** The last blocks, newest first, kept up with the chain: of a new one only what is missing is read. */

import { useRef } from 'preact/hooks';
import { type Resource, useResource } from '../../shared/use-resource.js';
import { useStream } from '../../shared/use-stream.js';
import * as indexed from './indexed-chain.js';
import type { Block } from './shapes.js';
import * as stored from './stored-chain.js';
import { useChain, useThrottled } from './use-chain.js';

/** Blocks may come faster than anybody reads. */
const AT_MOST_EVERY_MS = 1_000;

/** The last `count` blocks; does not change while `isPaused`. */
export function useRecentBlocks(count: number, isPaused: boolean): Resource<readonly Block[]> {
  const { source, height } = useChain();
  const { version } = useStream();
  const known = useRef<{ readonly version: number; readonly blocks: readonly Block[] }>({ version, blocks: [] });
  const paused = useRef(height);
  if (!isPaused) paused.current = height;
  const tip = useThrottled(paused.current, AT_MOST_EVERY_MS);
  const key = source === undefined || tip === undefined ? undefined : `recent/${source}/${count}`;

  return useResource(
    key,
    async (signal) => {
      const { blocks } = known.current.version === version ? known.current : { blocks: [] };
      const top = tip ?? -1;
      const missing = Math.min(count, top - Number(blocks[0]?.block_num ?? Number.NEGATIVE_INFINITY));
      if (missing <= 0 && blocks.length > 0) return blocks;
      const read = await (source === 'index'
        ? indexed.readBlocks(missing, undefined, signal)
        : stored.readBlocks(missing, top + 1, signal));
      const last = read.at(-1);
      // What is kept must follow what was read without a gap.
      const kept = last?.previous_hash != null && last.previous_hash === blocks[0]?.hash ? blocks : undefined;
      const merged = kept === undefined ? read : [...read, ...kept].slice(0, count);
      known.current = { version, blocks: merged };
      return merged;
    },
    `${version}/${tip}`,
  );
}
