/** What both servers of the API benchmark send, and the transaction that is posted to them. */

import type { NodeInfo } from '../src/api/options.js';
import type { StoredBlock } from '../src/storage/service.js';

/** Transactions of the block: a usual one of a quiet network. */
const BLOCK_TRANSACTIONS = 100;

export const SUPPLY = { total: 360_360_000_000_000_000n, issued: 90_090_000_000_000_001n };
export const SUPPLY_BYTES = Buffer.from(`{"total":${SUPPLY.total},"issued":${SUPPLY.issued}}`);

export const NODE_INFO: NodeInfo = {
  type: () => 'Mempool',
  peers: () => [{ address: '127.0.0.1:12330', node_type: 'Storage' }],
  routesPow: {},
};
export const DEBUG_BYTES = Buffer.from(
  '{"node_api":["/v1/debug","/v1/openapi.json","/v1/balances","/v1/balances/query","/v1/supply","/v1/transactions",' +
    '"/v1/transactions/status","/v1/transactions/status:query","/v1/items","/v1/docs"],' +
    '"node_peers":[{"address":"127.0.0.1:12330","node_type":"Storage"}],"node_type":"Mempool","routes_pow":{}}',
);

/** A stored block with ready bytes, about 4 KB. */
export function blockEntry(): StoredBlock & { readonly json: Buffer } {
  const key = `b${'2'.repeat(64)}`;
  const header = {
    version: 6,
    bits: 0,
    nonce_and_mining_tx_hash: [[1, 2, 3, 4], `g${'1'.repeat(31)}`],
    b_num: 7,
    timestamp: 1_700_000_000,
    difficulty: [],
    seed_value: [49, 45, 50],
    previous_hash: `b${'0'.repeat(64)}`,
    txs_merkle_root_and_hash: ['aa'.repeat(32), 'bb'.repeat(32)],
  };
  const transactions = Array.from({ length: BLOCK_TRANSACTIONS }, (_, i) => `g${String(i).padStart(31, 'a')}`);
  const txLen = BLOCK_TRANSACTIONS + 1;
  const entry = {
    key,
    data: { block: { header, transactions } },
    item_meta: { type: 'block', block_num: 7, tx_len: txLen },
  };
  return {
    kind: 'block',
    key,
    height: 7,
    txLen,
    json: Buffer.from(JSON.stringify(entry)),
    block() {
      throw new Error('the benchmark decodes no block');
    },
  };
}

/** One input, two outputs: what clients send. */
export const TRANSACTION_BODY = JSON.stringify({
  transactions: [
    {
      inputs: [
        {
          previous_out: { t_hash: `g${'1'.repeat(31)}`, n: 0 },
          script_signature: {
            Pay2PkH: {
              signable_data: 'a1b2'.repeat(16),
              signature: 'b3c4'.repeat(32),
              public_key: 'c5d6'.repeat(16),
              address_version: null,
            },
          },
        },
      ],
      outputs: [
        { value: { Token: 10 }, locktime: 0, script_public_key: 'd7e8'.repeat(16) },
        { value: { Token: 15_170 }, locktime: 0, script_public_key: 'e9f0'.repeat(16) },
      ],
      version: 2,
      fees: null,
      druid_info: null,
    },
  ],
});
