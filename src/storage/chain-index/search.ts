/** Search for a text: the number of a block, a hash of a block, transaction or item, an address, the beginning of one, or words of metadata. */

import { nameForms } from '../../chain/address.js';
import type { Kv } from '../../db/kv.js';
import type { ArchiveLookups } from '../archive/lookups.js';
import { addressesFrom, addressKey, addressOfKey, itemKey } from './layout.js';
import type { ChainView, Found } from './service.js';
import type { AnswerReads } from './transaction-reads.js';
import { itemsWith } from './words.js';

const NUMBER = /^\d{1,15}$/;
const HEX = /^[0-9a-f]{1,64}$/;
/** The least characters of a name's beginning by which it is found. */
const LEAST_TEXT = 6;
/** The most names of one kind that are found by their beginning. */
const MAX_FOUND = 8;

interface SearchModules {
  readonly kv: Kv;
  readonly archive: ArchiveLookups;
  readonly reads: AnswerReads;
  readonly view: Pick<ChainView, 'block'>;
  /** Number of blocks indexed. */
  readonly next: number;
}

export async function searchIn(query: string, modules: SearchModules): Promise<readonly Found[]> {
  const found = new Map<string, Found>();
  for (const text of nameForms(query.trim())) {
    for (const one of text === '' ? [] : await searchFor(text, modules)) found.set(JSON.stringify(one), one);
  }
  const items = NUMBER.test(query.trim()) ? [] : await itemsWith(query, modules.kv);
  for (const genesisHash of items.slice(0, MAX_FOUND)) {
    const one = { kind: 'item', genesisHash } as const;
    found.set(JSON.stringify(one), one);
  }
  return [...found.values()];
}

async function searchFor(text: string, modules: SearchModules): Promise<readonly Found[]> {
  const { view } = modules;
  const numbered = NUMBER.test(text) ? await view.block(Number(text)) : undefined;
  const found: Found[] =
    numbered === undefined ? [] : [{ kind: 'block', height: numbered.height, hash: numbered.hash }];
  const transactions = await transactionsNamed(text, modules);
  found.push(...(await blocksNamed(text, modules)), ...transactions);
  const items = new Set([text, ...transactions.map(({ hash }) => hash)]);
  for (const genesisHash of items) {
    if ((await modules.kv.get(itemKey(genesisHash))) !== undefined) found.push({ kind: 'item', genesisHash });
  }
  for (const address of await addressesNamed(text, modules)) found.push({ kind: 'address', address });
  return found;
}

async function blocksNamed(text: string, { archive, view }: SearchModules): Promise<Found[]> {
  if (text.length < LEAST_TEXT) return [];
  const found: Found[] = [];
  for (const hash of await archive.blocksFrom(text, MAX_FOUND)) {
    const block = await view.block(hash);
    if (block !== undefined) found.push({ kind: 'block', height: block.height, hash });
  }
  return found;
}

async function transactionsNamed(text: string, { archive, reads, next }: SearchModules) {
  // Transactions of block 0 may have short names.
  const names = text.length < LEAST_TEXT ? [text] : await archive.transactionsFrom(text, MAX_FOUND);
  const found: Extract<Found, { readonly kind: 'transaction' }>[] = [];
  for (const hash of names) {
    const height = await reads.find(hash, (record) => record?.height);
    if (height !== undefined && height < next) found.push({ kind: 'transaction', hash, height });
  }
  return found;
}

async function addressesNamed(text: string, { kv }: SearchModules): Promise<string[]> {
  if (!(text.length >= LEAST_TEXT && HEX.test(text))) {
    return (await kv.get(addressKey(text))) === undefined ? [] : [text];
  }
  const found: string[] = [];
  for await (const [key] of kv.entries({ ...addressesFrom(text), limit: MAX_FOUND })) found.push(addressOfKey(key));
  // Addresses of the other form have 32 hex digits, and are found only whole.
  if (found.length === 0 && (await kv.get(addressKey(text))) !== undefined) found.push(text);
  return found;
}
