/** Addresses and items as an explorer shows them. An extension of the contract. */

import { Type } from '@sinclair/typebox';
import { MAX_ITEM_MOVEMENTS, MAX_PARTIES } from '../../../storage/chain-index/service.js';
import { OutPoint } from '../../schemas/asset.js';
import { Address, EXAMPLE_ADDRESS, EXAMPLE_TX_HASH, Nullable, named } from '../../schemas/scalars.js';
import { AS_OF, explorer, OFF, READS } from './operations.js';
import {
  ASSET,
  AsOfBlock,
  Count,
  EXAMPLE_PLACE,
  EXAMPLE_TOKENS,
  GenesisHash,
  Kind,
  LOCKED,
  MAX_NAME,
  Next,
  PageQuery,
  PLACE,
  Place,
  Raw,
} from './parts.js';

const AddressParams = Type.Object({ address: Address() });
const ITEM_AMOUNT = { genesis_hash: GenesisHash(), amount: Raw('Number of items, at most 2^63-1.') };
const ChainAddress = named('ChainAddress', 'What an address has, and how much has happened to it.').object(
  {
    address: Address(),
    tokens: Raw('Raw units in its unspent outputs, locked ones included.'),
    received: Type.String({
      description: 'Raw units that came to it in all, as digits: change counts.',
      examples: ['1000'],
    }),
    sent: Type.String({ description: 'Raw units that went from it in all, as digits.', examples: ['0'] }),
    transaction_count: Count('Transactions that pay it or spend from it.'),
    unspent_count: Count('Its unspent outputs.'),
    item_count: Count('Kinds of items that it holds.'),
    first_seen: Nullable(Place, { description: 'The first of these transactions; null when there is none.' }),
    last_seen: Nullable(Place, { description: 'The last one.' }),
    as_of_block: AsOfBlock,
  },
  {
    address: EXAMPLE_ADDRESS,
    tokens: 1000,
    received: '1000',
    sent: '0',
    transaction_count: 1,
    unspent_count: 1,
    item_count: 0,
    first_seen: EXAMPLE_PLACE,
    last_seen: EXAMPLE_PLACE,
    as_of_block: 12,
  },
);

const AddressItemsResponse = named(
  'AddressItemsResponse',
  'Items of an address, the kinds in the order in which the chain learned of them.',
).object(
  { items: Type.Array(Type.Object(ITEM_AMOUNT)), next: Next, as_of_block: AsOfBlock },
  { items: [{ genesis_hash: EXAMPLE_TX_HASH, amount: 1 }], next: null, as_of_block: 12 },
);

const AddressOutputsResponse = named('AddressOutputsResponse', 'Unspent outputs of an address, newest first.').object(
  {
    outputs: Type.Array(Type.Object({ out_point: OutPoint, ...ASSET, locktime: LOCKED, ...PLACE })),
    next: Next,
    as_of_block: AsOfBlock,
  },
  {
    outputs: [{ out_point: { t_hash: EXAMPLE_TX_HASH, n: 0 }, ...EXAMPLE_TOKENS, locktime: 0, ...EXAMPLE_PLACE }],
    next: null,
    as_of_block: 12,
  },
);

const Movement = Type.Object({
  ...PLACE,
  kind: Kind,
  received: Raw('Raw units that it pays to the address.'),
  sent: Raw('Raw units that it spends from the address.'),
  items: Type.Array(
    Type.Object({
      genesis_hash: GenesisHash(),
      received: Raw('Items that it pays to the address.'),
      sent: Raw('Items that it spends from the address.'),
    }),
    { description: `The same of items; at most ${MAX_ITEM_MOVEMENTS} kinds.` },
  ),
  item_count: Count('Kinds of items in all.'),
});
const AddressTransactionsResponse = named(
  'AddressTransactionsResponse',
  'Transactions of an address, newest first. A page behind a cursor has the same entries for ever.',
).object(
  { transactions: Type.Array(Movement), next: Next, as_of_block: AsOfBlock },
  {
    transactions: [{ ...EXAMPLE_PLACE, kind: 'payment', received: 1000, sent: 0, items: [], item_count: 0 }],
    next: null,
    as_of_block: 12,
  },
);

const ChainItemParams = Type.Object({
  genesis_hash: Type.String({
    minLength: 1,
    maxLength: MAX_NAME,
    description: 'Genesis hash of an item.',
    examples: [EXAMPLE_TX_HASH],
  }),
});
const ChainItem = named('ChainItem', 'An item, and how many have it.').object(
  {
    genesis_hash: GenesisHash(),
    metadata: Nullable(Type.String(), { description: 'Free text from its creator: show it as text and nothing else.' }),
    creator: Nullable(Type.String(), { description: 'The address that it was first created for.' }),
    issued: Type.String({ description: 'How many were created, as digits.', examples: ['1'] }),
    created: Type.Object(PLACE, { description: 'The transaction that first created it.' }),
    holder_count: Count('Addresses that hold some.'),
    transfer_count: Count('Transactions with some in an input or output.'),
    as_of_block: AsOfBlock,
  },
  {
    genesis_hash: EXAMPLE_TX_HASH,
    metadata: null,
    creator: EXAMPLE_ADDRESS,
    issued: '1',
    created: EXAMPLE_PLACE,
    holder_count: 1,
    transfer_count: 1,
    as_of_block: 12,
  },
);

const HOLDING = { address: Type.String(), amount: Raw('Number of items, at most 2^63-1.') };
const EXAMPLE_HOLDING = { address: EXAMPLE_ADDRESS, amount: 1 };
const ItemHoldersResponse = named('ItemHoldersResponse', 'Holders of an item, the largest amount first.').object(
  { holders: Type.Array(Type.Object(HOLDING)), next: Next, as_of_block: AsOfBlock },
  { holders: [EXAMPLE_HOLDING], next: null, as_of_block: 12 },
);

const TokenHoldersResponse = named(
  'TokenHoldersResponse',
  'Addresses by their tokens, in raw units; the largest amount first.',
).object(
  { holders: Type.Array(Type.Object(HOLDING)), next: Next, as_of_block: AsOfBlock },
  { holders: [EXAMPLE_HOLDING], next: null, as_of_block: 12 },
);

const Transfer = Type.Object({
  ...PLACE,
  kind: Kind,
  amount: Raw('Items of this kind in its outputs, at most 2^63-1.'),
  from: Type.Array(Type.Object(HOLDING), { description: `Whose they were; at most ${MAX_PARTIES}.` }),
  from_count: Count('Addresses that they come from, in all.'),
  to: Type.Array(Type.Object(HOLDING), { description: `Whose they are then; at most ${MAX_PARTIES}.` }),
  to_count: Count('Addresses that they go to, in all.'),
});
const ItemTransfersResponse = named(
  'ItemTransfersResponse',
  'Transactions with items of one kind, newest first.',
).object(
  { transfers: Type.Array(Transfer), next: Next, as_of_block: AsOfBlock },
  {
    transfers: [
      {
        ...EXAMPLE_PLACE,
        kind: 'creation',
        amount: 1,
        from: [],
        from_count: 0,
        to: [EXAMPLE_HOLDING],
        to_count: 1,
      },
    ],
    next: null,
    as_of_block: 12,
  },
);

/** Operations on addresses and items. */
export const holdingOperations = [
  explorer.get('getChainAddress', '/v1/chain/addresses/{address}', {
    summary: 'What an address has',
    description: `${AS_OF} An address that the chain has not seen has nothing.`,
    params: AddressParams,
    success: { 200: { description: 'The address.', schema: ChainAddress, cacheable: true } },
    errors: READS,
  }),
  explorer.get('getAddressItems', '/v1/chain/addresses/{address}/items', {
    summary: 'The items of an address',
    description: AS_OF,
    params: AddressParams,
    query: PageQuery,
    success: { 200: { description: 'A page of items.', schema: AddressItemsResponse, cacheable: true } },
    errors: OFF,
  }),
  explorer.get('getAddressOutputs', '/v1/chain/addresses/{address}/outputs', {
    summary: 'The unspent outputs of an address, newest first',
    description: AS_OF,
    params: AddressParams,
    query: PageQuery,
    success: { 200: { description: 'A page of outputs.', schema: AddressOutputsResponse, cacheable: true } },
    errors: READS,
  }),
  explorer.get('getAddressTransactions', '/v1/chain/addresses/{address}/transactions', {
    summary: 'The history of an address, newest first',
    description: AS_OF,
    params: AddressParams,
    query: PageQuery,
    success: { 200: { description: 'A page of transactions.', schema: AddressTransactionsResponse, cacheable: true } },
    errors: READS,
  }),
  explorer.get('getTokenHolders', '/v1/chain/holders', {
    summary: 'Addresses by their tokens, the largest amount first',
    description: `${AS_OF} Who gets more or less between two pages may be on both or on neither.`,
    query: PageQuery,
    success: { 200: { description: 'A page of addresses.', schema: TokenHoldersResponse, cacheable: true } },
    errors: OFF,
  }),
  explorer.get('getChainItem', '/v1/chain/items/{genesis_hash}', {
    summary: 'An item, and how many have it',
    description: AS_OF,
    params: ChainItemParams,
    success: { 200: { description: 'The item.', schema: ChainItem, cacheable: true } },
    errors: [...READS, 'item_not_found'],
  }),
  explorer.get('getItemHolders', '/v1/chain/items/{genesis_hash}/holders', {
    summary: 'The holders of an item, the largest amount first',
    description: `${AS_OF} Who gets more or less between two pages may be on both or on neither.`,
    params: ChainItemParams,
    query: PageQuery,
    success: { 200: { description: 'A page of holders.', schema: ItemHoldersResponse, cacheable: true } },
    errors: [...READS, 'item_not_found'],
  }),
  explorer.get('getItemTransfers', '/v1/chain/items/{genesis_hash}/transfers', {
    summary: 'The transfers of an item, newest first',
    description: AS_OF,
    params: ChainItemParams,
    query: PageQuery,
    success: { 200: { description: 'A page of transfers.', schema: ItemTransfersResponse, cacheable: true } },
    errors: [...READS, 'item_not_found'],
  }),
] as const;
