/** Reads the chain from the index of the node. */

import { callNode } from '../../shared/node-api.js';
import type {
  Address,
  Block,
  Found,
  HeldItem,
  Holder,
  Item,
  Movement,
  PageOf,
  Transaction,
  TransactionSummary,
  Transfer,
  UnspentOutput,
} from './views.js';

const BASE = '/v1/chain';
/** Entries of a page of a list. */
const PAGE = 100;

const at = (kind: string, name: string | number, rest = ''): string =>
  `${BASE}/${kind}/${encodeURIComponent(String(name))}${rest}`;

/** One page of a list, whose entries are the member `name` of the answer. */
async function page<T>(
  path: string,
  name: string,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<PageOf<T>> {
  const answer = await callNode<Record<string, unknown>>(path, { query: { limit: PAGE, cursor }, signal });
  return { entries: answer[name] as readonly T[], next: answer.next as string | null };
}

/** Newest first, those below `before`. */
export async function readBlocks(limit: number, before: number | undefined, signal: AbortSignal) {
  const { blocks } = await callNode<{ blocks: readonly Block[] }>(`${BASE}/blocks`, {
    query: { limit, before },
    signal,
  });
  return blocks;
}

export const readBlock = (name: string, signal: AbortSignal) => callNode<Block>(at('blocks', name), { signal });

export const readBlockTransactions = (name: string, cursor: string | undefined, signal: AbortSignal) =>
  page<TransactionSummary>(at('blocks', name, '/transactions'), 'transactions', cursor, signal);

/** From which input and output on. */
export interface Part {
  readonly first_input?: number;
  readonly first_output?: number;
}

export const readTransaction = (hash: string, part: Part, signal: AbortSignal) =>
  callNode<Transaction>(at('transactions', hash), { query: { ...part }, signal });

export const readAddress = (address: string, signal: AbortSignal) =>
  callNode<Address>(at('addresses', address), { signal });

export const readAddressTransactions = (address: string, cursor: string | undefined, signal: AbortSignal) =>
  page<Movement>(at('addresses', address, '/transactions'), 'transactions', cursor, signal);

export const readAddressOutputs = (address: string, cursor: string | undefined, signal: AbortSignal) =>
  page<UnspentOutput>(at('addresses', address, '/outputs'), 'outputs', cursor, signal);

export const readAddressItems = (address: string, cursor: string | undefined, signal: AbortSignal) =>
  page<HeldItem>(at('addresses', address, '/items'), 'items', cursor, signal);

export const readItem = (hash: string, signal: AbortSignal) => callNode<Item>(at('items', hash), { signal });

export const readItemHolders = (hash: string, cursor: string | undefined, signal: AbortSignal) =>
  page<Holder>(at('items', hash, '/holders'), 'holders', cursor, signal);

export const readItemTransfers = (hash: string, cursor: string | undefined, signal: AbortSignal) =>
  page<Transfer>(at('items', hash, '/transfers'), 'transfers', cursor, signal);

export async function search(q: string, signal: AbortSignal): Promise<readonly Found[]> {
  return (await callNode<{ found: readonly Found[] }>(`${BASE}/search`, { query: { q }, signal })).found;
}
