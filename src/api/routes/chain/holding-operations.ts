/** The operations on addresses and items in the index of the chain, for explorers. Extensions of the contract. */

import {
  AddressItemsResponse,
  AddressOutputsResponse,
  AddressParams,
  AddressTransactionsResponse,
  ChainAddress,
  ChainItem,
  ChainItemParams,
  ItemHoldersResponse,
  ItemTransfersResponse,
} from './holding-schemas.js';
import { AS_OF, explorer, OFF } from './operations.js';
import { PageQuery } from './parts.js';

const getChainAddress = explorer.get('getChainAddress', '/v1/chain/addresses/{address}', {
  summary: 'What an address has',
  description: `${AS_OF} An address that the chain has not seen has nothing.`,
  params: AddressParams,
  success: { 200: { description: 'The address.', schema: ChainAddress, cacheable: true } },
  errors: OFF,
});

const getAddressItems = explorer.get('getAddressItems', '/v1/chain/addresses/{address}/items', {
  summary: 'The items of an address',
  description: AS_OF,
  params: AddressParams,
  query: PageQuery,
  success: { 200: { description: 'A page of items.', schema: AddressItemsResponse, cacheable: true } },
  errors: OFF,
});

const getAddressOutputs = explorer.get('getAddressOutputs', '/v1/chain/addresses/{address}/outputs', {
  summary: 'The unspent outputs of an address, newest first',
  description: AS_OF,
  params: AddressParams,
  query: PageQuery,
  success: { 200: { description: 'A page of outputs.', schema: AddressOutputsResponse, cacheable: true } },
  errors: OFF,
});

const getAddressTransactions = explorer.get('getAddressTransactions', '/v1/chain/addresses/{address}/transactions', {
  summary: 'The history of an address, newest first',
  description: AS_OF,
  params: AddressParams,
  query: PageQuery,
  success: { 200: { description: 'A page of transactions.', schema: AddressTransactionsResponse, cacheable: true } },
  errors: OFF,
});

const getChainItem = explorer.get('getChainItem', '/v1/chain/items/{genesis_hash}', {
  summary: 'An item, and how many have it',
  description: AS_OF,
  params: ChainItemParams,
  success: { 200: { description: 'The item.', schema: ChainItem, cacheable: true } },
  errors: [...OFF, 'item_not_found'],
});

const getItemHolders = explorer.get('getItemHolders', '/v1/chain/items/{genesis_hash}/holders', {
  summary: 'The holders of an item, the largest amount first',
  description: `${AS_OF} Who gets more or less between two pages may be on both or on neither.`,
  params: ChainItemParams,
  query: PageQuery,
  success: { 200: { description: 'A page of holders.', schema: ItemHoldersResponse, cacheable: true } },
  errors: [...OFF, 'item_not_found'],
});

const getItemTransfers = explorer.get('getItemTransfers', '/v1/chain/items/{genesis_hash}/transfers', {
  summary: 'The transfers of an item, newest first',
  description: AS_OF,
  params: ChainItemParams,
  query: PageQuery,
  success: { 200: { description: 'A page of transfers.', schema: ItemTransfersResponse, cacheable: true } },
  errors: [...OFF, 'item_not_found'],
});

export const holdingOperations = [
  getChainAddress,
  getAddressItems,
  getAddressOutputs,
  getAddressTransactions,
  getChainItem,
  getItemHolders,
  getItemTransfers,
] as const;
