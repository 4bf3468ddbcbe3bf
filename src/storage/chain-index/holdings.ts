/** Answers of the index about addresses and items. */

import type { Asset } from '../../chain/types.js';
import type { Kv } from '../../db/kv.js';
import { fromUtf8 } from '../../lib/bytes.js';
import type { ArchiveLookups } from '../archive/lookups.js';
import { present } from '../archive/records.js';
import { unpack } from '../segments/pack.js';
import {
  addressKey,
  amountOfKey,
  blockKey,
  heldBy,
  holdersOf,
  itemKey,
  movementKey,
  movementsOf,
  outputOfKey,
  type Place,
  placeInList,
  TOKENS,
  transfersOf,
  unspentKey,
  unspentOf,
} from './layout.js';
import { readPage, ShortList } from './pages.js';
import {
  type AddressAccount,
  type ItemAccount,
  readAddress,
  readBlock,
  readHeld,
  readItem,
  readMovement,
  readTransfer,
  readUnspent,
  type ShortLists,
  type UnspentRecord,
} from './records.js';
import type {
  AddressMovement,
  AddressOutput,
  AddressSummary,
  BlockSummary,
  HeldItem,
  ItemHolder,
  ItemSummary,
  ItemTransfer,
  Page,
  PageQuery,
  TransactionPlace,
} from './service.js';

const NO_PAGE = { entries: [], next: null } as const;

export class Holdings {
  readonly #kv: Kv;
  readonly #archive: ArchiveLookups;

  constructor(kv: Kv, archive: ArchiveLookups) {
    this.#kv = kv;
    this.#archive = archive;
  }

  async address(address: string): Promise<AddressSummary> {
    const account = await this.#account(address);
    if (account === undefined) return unseen(address);
    const [first, last] = await transactionsAt(this.#kv, this.#archive, [account.first, account.last]);
    const { tokens, received, sent, transactions, unspentOutputs, itemKinds } = account;
    return {
      address,
      tokens,
      received,
      sent,
      transactions,
      unspentOutputs,
      itemKinds,
      first: first ?? null,
      last: last ?? null,
    };
  }

  async addressItems(address: string, query: PageQuery): Promise<Page<HeldItem>> {
    const account = await this.#account(address);
    if (account === undefined) return NO_PAGE;
    const { entries, next } = await readPage(this.#kv, heldBy(account.number), query);
    return { entries: entries.map(([, record]) => readHeld(record)), next };
  }

  async addressOutputs(address: string, query: PageQuery): Promise<Page<AddressOutput>> {
    const account = await this.#account(address);
    if (account === undefined) return NO_PAGE;
    const list = account.short === null ? this.#kv : shortOutputs(account.number, account.short);
    const { entries, next } = await readPage(list, unspentOf(account.number), query);
    const found = entries.map(([key, record]) => ({ ...outputOfKey(key), record: readUnspent(record) }));
    const places = await this.#at(found.map(({ place }) => place));
    const outputs = found.flatMap(({ index, record }, i) => {
      const place = places[i];
      const outPoint = { tHash: place?.hash ?? '', n: index | 0 };
      return place === undefined ? [] : { ...place, outPoint, asset: assetOf(record), locktime: record.locktime };
    });
    return { entries: outputs, next };
  }

  async addressTransactions(address: string, query: PageQuery): Promise<Page<AddressMovement>> {
    const account = await this.#account(address);
    if (account === undefined) return NO_PAGE;
    const list = account.short === null ? this.#kv : shortMovements(account.number, account.short);
    const { entries, next } = await readPage(list, movementsOf(account.number), query);
    const places = await this.#at(entries.map(([key]) => placeInList(key)));
    return { entries: places.map((place, i) => ({ ...place, ...readMovement(entries[i]?.[1] ?? NOTHING) })), next };
  }

  async item(genesisHash: string): Promise<ItemSummary | undefined> {
    const account = await this.#item(genesisHash);
    if (account === undefined) return undefined;
    const [created] = await this.#at([account.created]);
    const founded = await this.#archive.item(genesisHash);
    if (created === undefined) return undefined;
    const { issued, holders, transfers } = account;
    return {
      genesisHash,
      metadata: founded?.metadata ?? null,
      creator: founded?.creatorAddress ?? null,
      issued,
      created,
      holders,
      transfers,
    };
  }

  async itemHolders(genesisHash: string, query: PageQuery): Promise<Page<ItemHolder>> {
    const account = await this.#item(genesisHash);
    return account === undefined ? NO_PAGE : this.#holders(account.number, query);
  }

  tokenHolders(query: PageQuery): Promise<Page<ItemHolder>> {
    return this.#holders(TOKENS, query);
  }

  async #holders(item: number, query: PageQuery): Promise<Page<ItemHolder>> {
    const { entries, next } = await readPage(this.#kv, holdersOf(item), query);
    return {
      entries: entries.map(([key, address]) => ({ address: fromUtf8(unpack(address)), amount: amountOfKey(key) })),
      next,
    };
  }

  async itemTransfers(genesisHash: string, query: PageQuery): Promise<Page<ItemTransfer>> {
    const account = await this.#item(genesisHash);
    if (account === undefined) return NO_PAGE;
    const { entries, next } = await readPage(this.#kv, transfersOf(account.number), query);
    const places = await this.#at(entries.map(([key]) => placeInList(key)));
    return { entries: places.map((place, i) => ({ ...place, ...readTransfer(entries[i]?.[1] ?? NOTHING) })), next };
  }

  async #account(address: string): Promise<AddressAccount | undefined> {
    const record = await this.#kv.get(addressKey(address));
    return record && readAddress(record);
  }

  async #item(genesisHash: string): Promise<ItemAccount | undefined> {
    const record = await this.#kv.get(itemKey(genesisHash));
    return record && readItem(record);
  }

  #at(places: Parameters<typeof transactionsAt>[2]): Promise<TransactionPlace[]> {
    return transactionsAt(this.#kv, this.#archive, places);
  }
}

function shortMovements(address: number, { movements }: ShortLists): ShortList {
  return new ShortList(movements.map(({ place, record }) => [movementKey(address, place), record]));
}

function shortOutputs(address: number, { unspent }: ShortLists): ShortList {
  return new ShortList(unspent.map(({ place, index, record }) => [unspentKey(address, place, index), record]));
}

/** Bytes in place of a missing record, which are no valid record. */
const NOTHING = new Uint8Array();

function assetOf({ amount, genesisHash, metadata }: UnspentRecord): Asset {
  return genesisHash === null ? { kind: 'token', amount } : { kind: 'item', amount, genesisHash, metadata };
}

function unseen(address: string): AddressSummary {
  return {
    address,
    tokens: 0n,
    received: 0n,
    sent: 0n,
    transactions: 0,
    unspentOutputs: 0,
    itemKinds: 0,
    first: null,
    last: null,
  };
}

/** Summaries of blocks, which must be there, by height. */
async function readBlocks(kv: Kv, heights: Iterable<number>): Promise<ReadonlyMap<number, BlockSummary>> {
  const unique = [...new Set(heights)];
  const records = await kv.getMany(unique.map(blockKey));
  return new Map(
    unique.map((height, i) => [height, readBlock(height, present(records[i], `the summary of block ${height}`))]),
  );
}

/** Transactions at the places, in their order. All must be indexed. */
async function transactionsAt(kv: Kv, archive: ArchiveLookups, places: readonly Place[]): Promise<TransactionPlace[]> {
  const [names, blocks] = await Promise.all([
    archive.namesAt(places),
    readBlocks(
      kv,
      places.map(({ height }) => height),
    ),
  ]);
  return places.map(({ height, txNum }, i) => ({
    hash: names[i] ?? '',
    height,
    txNum,
    time: blocks.get(height)?.time ?? 0n,
  }));
}
