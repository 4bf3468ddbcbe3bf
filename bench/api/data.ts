/** What both servers of the API benchmark send. */

import { blockJson } from '../../src/chain/json.js';
import type { StorageService } from '../../src/storage/service.js';
import { BLOCK_ENTRY, BLOCK_HASH, HEADER, transactionBody } from '../../test/api/support/fakes.js';

/** Transactions of the block: a usual one of a quiet network. */
const BLOCK_TRANSACTIONS = 100;

export const SUPPLY_BYTES = Buffer.from('{"total":360360000000000000,"issued":9007199254740993}');
export const DEBUG_BYTES = Buffer.from(
  '{"node_api":["/v1/debug","/v1/openapi.json","/v1/balances","/v1/balances/query","/v1/supply","/v1/transactions",' +
    '"/v1/transactions/status","/v1/transactions/status:query","/v1/items","/v1/docs"],' +
    '"node_peers":[{"address":"127.0.0.1:12330","node_type":"Storage"}],"node_type":"Mempool","routes_pow":{}}',
);

export function blockBytes(): Buffer {
  const transactions = Array.from({ length: BLOCK_TRANSACTIONS }, (_, i) => `g${String(i).padStart(31, 'a')}`);
  const block = blockJson({ header: HEADER, transactions });
  const meta = `{"type":"block","block_num":7,"tx_len":${BLOCK_TRANSACTIONS + 1}}`;
  return Buffer.from(`{"key":"${BLOCK_HASH}","data":{"block":${block}},"item_meta":${meta}}`);
}

/** Storage that has one block, in memory. */
export function hotBlock(): Pick<StorageService, 'blockByNumber'> {
  const entry = { ...BLOCK_ENTRY, json: blockBytes() };
  return { blockByNumber: async () => entry };
}

export const TRANSACTION_BODY = JSON.stringify({ transactions: [transactionBody()] });
