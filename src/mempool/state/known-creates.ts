/** Which creations of items are in the chain: their hashes may not come again (decision B6). */

import { isCreate } from '../../chain/transaction.js';
import type { CandidateTx } from './acceptance.js';
import { keys } from './layout.js';
import type { StateStore } from './state-store.js';

/** Tells which of the creations among these transactions are in the chain. */
export async function knownCreates(
  store: Pick<StateStore, 'getMany'>,
  groups: readonly (readonly CandidateTx[])[],
): Promise<(hash: string) => boolean> {
  const creates = groups.flat().filter(({ tx }) => isCreate(tx));
  if (creates.length === 0) return () => false;
  const found = await store.getMany(creates.map(({ hash }) => keys.create(hash)));
  const hashes = new Set(creates.filter((_, i) => found[i] !== undefined).map(({ hash }) => hash));
  return (hash) => hashes.has(hash);
}
