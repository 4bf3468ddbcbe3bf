/** Results of a search: shown at once when there is one, else as a list. */

import { useEffect } from 'preact/hooks';
import { nameForms } from '../../../src/chain/address.js';
import { isTesseraError, RefusedCall, type SearchResponse } from '../../../src/sdk/client.js';
import { grouped } from '../../shared/amounts.js';
import { Hash } from '../../shared/components/hash.js';
import { cardOf } from '../../shared/components/item-card.js';
import { Loaded, Notice } from '../../shared/components/notice.js';
import { Page } from '../../shared/components/page.js';
import { SafeLine } from '../../shared/components/safe-text.js';
import { node } from '../../shared/node.js';
import { navigate, usePlace } from '../../shared/router.js';
import { useResource } from '../../shared/use-resource.js';
import { readerOf } from '../chain/reader.js';
import * as stored from '../chain/stored-chain.js';
import { type Chain, useChain } from '../chain/use-chain.js';
import { addressPath, blockPath, itemPath, transactionPath } from '../paths.js';

type Found = SearchResponse['found'][number];

const NAMES: Readonly<Record<Found['kind'], string>> = {
  block: 'Block',
  transaction: 'Transaction',
  item: 'Item',
  address: 'Address',
};

const PATHS: Readonly<Record<Found['kind'], (name: string) => string>> = {
  block: blockPath,
  transaction: transactionPath,
  item: itemPath,
  address: addressPath,
};

const NUMBER = /^\d{1,15}$/;

export function SearchPage() {
  const { query } = usePlace();
  const { source } = useChain();
  const text = (query.get('q') ?? '').trim();
  const found = useResource(source && text !== '' ? `search/${source}/${text}` : undefined, (signal) =>
    find(source, text, signal),
  );
  const only = found.value?.length === 1 ? found.value[0] : undefined;
  useEffect(() => {
    if (only !== undefined) navigate(pathOf(only, text), { replace: true });
  }, [only, text]);
  return (
    <Page title="Search">
      {text === '' ? (
        <p>
          Search for the number of a block, or for a hash, an address or an item: whole, or at least the first six
          characters. Items are also found by words of their metadata.
        </p>
      ) : (
        <Loaded resource={found} what="results">
          {(results) => <Results text={text} results={results} />}
        </Loaded>
      )}
    </Page>
  );
}

function pathOf({ kind, name }: Found, text: string): string {
  return kind === 'block' && NUMBER.test(text) ? blockPath(Number(text)) : PATHS[kind](name);
}

function Results({ text, results }: { readonly text: string; readonly results: readonly Found[] }) {
  if (results.length === 0) {
    return (
      <Notice title="Nothing found" kind="warning">
        <p>
          <SafeLine text={text} limit={256} />
        </p>
        <p>
          Names are numbers of blocks, hashes of blocks (<code>b…</code>) and transactions (<code>g…</code>), items by
          the transaction that created them, and addresses: whole, or at least the first six characters. Items are also
          found by words of their metadata.
        </p>
      </Notice>
    );
  }
  return (
    <ul class="results">
      {results.map((found) => (
        <li key={`${found.kind}/${found.name}`} class="panel">
          <p class="kind">{NAMES[found.kind]}</p>
          <Hash value={found.name} href={pathOf(found, text)} />
          {found.kind === 'item' && <ItemText genesis={found.name} />}
          {found.block_num !== null && <span class="none"> block {grouped(found.block_num)}</span>}
        </li>
      ))}
    </ul>
  );
}

/** Name of an item, or what its creator wrote. */
function ItemText({ genesis }: { readonly genesis: string }) {
  const { source } = useChain();
  const { value } = useResource(source && `item/${source}/${genesis}`, (signal) =>
    readerOf(source).readItem(genesis, signal),
  );
  const text = cardOf(value?.metadata ?? null)?.name ?? value?.metadata;
  return text ? (
    <p>
      <SafeLine text={text} />
    </p>
  ) : null;
}

/** Finds by the index; without one, by the form of the text. */
async function find(source: Chain['source'], text: string, signal: AbortSignal): Promise<readonly Found[]> {
  if (source === 'index') return (await node.searchChain({ q: text }, { signal })).found;
  if (NUMBER.test(text) || /^b[0-9a-f]{64}$/i.test(text)) {
    const block = await orNone(stored.readBlock(text.toLowerCase(), signal));
    return block === undefined ? [] : [{ kind: 'block', name: block.hash, block_num: block.block_num }];
  }
  for (const name of nameForms(text)) {
    const found = await findStored(name, signal);
    if (found.length > 0) return found;
  }
  return [];
}

async function findStored(text: string, signal: AbortSignal): Promise<readonly Found[]> {
  const [transaction, item] = await Promise.all([
    orNone(stored.readTransaction(text, signal)),
    orNone(stored.readItem(text, signal)),
  ]);
  const found: Found[] = [];
  if (transaction !== undefined) found.push({ kind: 'transaction', name: text, block_num: transaction.block_num });
  if (item !== undefined) found.push({ kind: 'item', name: text, block_num: null });
  if (found.length === 0 && /^(?:[0-9a-f]{32}|H?[0-9a-f]{63,64})$/.test(text)) {
    found.push({ kind: 'address', name: text, block_num: null });
  }
  return found;
}

async function orNone<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isTesseraError(error, 'entry_not_found') || (error instanceof RefusedCall && error.status === 404))
      return undefined;
    throw error;
  }
}
