/** Every operation with every status that the contract names for it (Endpoints and Errors of the contract). */

import { describe, expect, it } from 'vitest';
import { errorStatusesOf } from '../../src/api/http/problem.js';
import { createChecker } from '../../src/api/http/validator.js';
import { OPERATIONS } from '../../src/api/operations.js';
import type { ApiModules } from '../../src/api/options.js';
import { type ErrorCode, TesseraError } from '../../src/lib/errors.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { API_KEY, openApp, type Request, send } from '../support/api/app.js';
import { CONTRACT_OPERATIONS } from '../support/api/contract-operations.js';
import {
  ADDRESS,
  fakeStorage,
  GENESIS_HASH,
  PASSPHRASE,
  TRADE,
  TX_HASH,
  transactionBody,
} from '../support/api/fakes.js';

const KEY = { 'x-api-key': API_KEY };

const get = (url: string): Request => ({ url });
const post = (url: string, body: unknown): Request => ({
  method: 'POST',
  url,
  payload: JSON.stringify(body),
  headers: KEY,
});

const SIGNED_ITEM = {
  genesis_hash_spec: 'create',
  item_amount: 3,
  metadata: 'm',
  public_key: 'aa'.repeat(32),
  script_public_key: ADDRESS,
  signature: 'bb'.repeat(64),
};
const PAYMENT = { kind: 'address', address: ADDRESS, amount: 1, locktime: null, passphrase: PASSPHRASE };
const PASSPHRASES = { old_passphrase: PASSPHRASE, new_passphrase: 'new' };
const KEY_PAIR = { public_key: '01'.repeat(32), secret_key: '02'.repeat(85), address_version: null };

interface Row {
  readonly operation: (typeof OPERATIONS)[number]['id'];
  readonly status: number;
  readonly role: NodeRole;
  readonly request: Request;
  readonly code?: ErrorCode;
  /** What the services throw. */
  readonly fault?: ErrorCode;
  readonly modules?: Partial<ApiModules>;
}

const ok = (operation: Row['operation'], status: number, role: NodeRole, request: Request): Row => ({
  operation,
  status,
  role,
  request,
});
const fails = (row: Row, status: number, code: ErrorCode, how: Partial<Row> = { fault: code }): Row => ({
  ...row,
  status,
  code,
  ...how,
});

const debug = ok('getDebug', 200, 'storage', get('/v1/debug'));
const balances = ok('getBalances', 200, 'mempool', get(`/v1/balances?address=${ADDRESS}`));
const balancesQuery = ok('queryBalances', 200, 'mempool', post('/v1/balances/query', { addresses: [ADDRESS] }));
const mempool = ok('getMempool', 200, 'mempool', get('/v1/mempool'));
const waiting = ok('getWaitingTransaction', 200, 'mempool', get(`/v1/mempool/${TX_HASH}`));
const noneWaits = fails(
  ok('getWaitingTransaction', 200, 'mempool', get(`/v1/mempool/${GENESIS_HASH}`)),
  404,
  'entry_not_found',
  {},
);
const supply = ok('getSupply', 200, 'mempool', get('/v1/supply'));
const create = ok(
  'createTransactions',
  201,
  'mempool',
  post('/v1/transactions', { transactions: [transactionBody()] }),
);
const status = ok('getTransactionStatus', 200, 'mempool', get(`/v1/transactions/status?hash=${TX_HASH}`));
const statusQuery = ok(
  'queryTransactionStatus',
  200,
  'mempool',
  post('/v1/transactions/status:query', { hashes: [TX_HASH] }),
);
const item = ok('createItem', 201, 'mempool', post('/v1/items', SIGNED_ITEM));
const userItem = ok('createItem', 202, 'user', post('/v1/items', { genesis_hash_spec: 'Default', item_amount: 3 }));
const entry = ok('getBlockchainEntry', 200, 'storage', get(`/v1/blockchain-entries/${TX_HASH}`));
const entries = ok(
  'queryBlockchainEntries',
  200,
  'storage',
  post('/v1/blockchain-entries/query', { keys: [TX_HASH, 'x'] }),
);
const blocks = ok('getBlocks', 200, 'storage', get('/v1/blocks?num=7&num=8'));
const latest = ok('getLatestBlock', 200, 'storage', get('/v1/blocks/latest'));
const block = ok('getBlock', 200, 'storage', get('/v1/blocks/7'));
const itemInfo = ok('getItem', 200, 'storage', get(`/v1/items/${GENESIS_HASH}`));
const current = ok('getCurrentBlock', 200, 'miner', get('/v1/mining/current-block'));
const outgoing = ok('getOutgoingTransactions', 200, 'user', get('/v1/transactions/outgoing'));
const wallet = ok('getWallet', 200, 'miner', get('/v1/wallet?page=0&spent=false'));
const movements = ok('getWalletMovements', 200, 'user', {
  url: `/v1/wallet/movements?limit=5&cursor=9&order=oldest&kind=payment&state=confirmed&direction=out&address=${ADDRESS}&from=1&to=2&from_block=3&to_block=4&idempotency_key=a`,
  headers: KEY,
});
const walletItems = ok('getWalletItems', 200, 'user', { url: '/v1/wallet/items', headers: KEY });
const ITEM_PAYMENT = { ...PAYMENT, genesis_hash: GENESIS_HASH };
const itemPayment = ok('createItemPayment', 202, 'miner', post('/v1/item-payments', ITEM_PAYMENT));
const TRADE_KEY = { headers: KEY };
const OFFER = { give: { kind: 'token', amount: 5 }, want: { kind: 'item', amount: 1, genesis_hash: GENESIS_HASH } };
const offer = ok('offerTrade', 201, 'user', post('/v1/trades', { ...OFFER, passphrase: PASSPHRASE }));
const ACCEPT = { offer: { kind: 'tessera-trade-offer' }, passphrase: PASSPHRASE };
const accept = ok('acceptTrade', 202, 'miner', post('/v1/trades/accept', ACCEPT));
const complete = ok('completeTrade', 202, 'user', post('/v1/trades/complete', { document: {} }));
const cancel = ok('cancelTrade', 202, 'user', post(`/v1/trades/${TRADE.id}/cancel`, {}));
const trades = ok('getTrades', 200, 'user', { url: '/v1/trades', ...TRADE_KEY });
const trade = ok('getTrade', 200, 'miner', { url: `/v1/trades/${TRADE.id}`, ...TRADE_KEY });
const labels = ok('getWalletLabels', 200, 'miner', { url: '/v1/wallet/labels', headers: KEY });
const setLabels = ok('setWalletLabels', 204, 'user', {
  ...post('/v1/wallet/labels', { labels: [{ kind: 'address', name: ADDRESS, label: 'landlord' }] }),
  method: 'PUT',
});
const backup = ok('backupWallet', 200, 'user', post('/v1/wallet/backup', { passphrase: PASSPHRASE }));
const sweep = ok('sweepWallet', 202, 'miner', { url: '/v1/wallet/sweep', method: 'POST', headers: KEY });
const address = ok('createWalletAddress', 201, 'user', { ...post('/v1/wallet/addresses', {}) });
const exported = ok('exportKeypairs', 200, 'user', { url: '/v1/wallet/keypairs', headers: KEY });
const imported = ok('importKeypairs', 201, 'user', post('/v1/wallet/keypairs', { addresses: { [ADDRESS]: KEY_PAIR } }));
const passphrase = ok('changePassphrase', 204, 'user', {
  ...post('/v1/wallet/passphrase', PASSPHRASES),
  method: 'PUT',
});
const refresh = ok('refreshRunningTotal', 202, 'miner', post('/v1/wallet/running-total:refresh', { all: true }));
const payment = ok('createPayment', 202, 'miner', post('/v1/payments', PAYMENT));
const ipPayment = ok(
  'createPayment',
  202,
  'user',
  post('/v1/payments', { ...PAYMENT, kind: 'ip', address: '1.2.3.4:5' }),
);
const abandon = ok('abandonPayment', 204, 'user', post(`/v1/payments/${TX_HASH}/abandon`, {}));
const donation = ok('requestDonation', 202, 'user', post('/v1/donation-requests', { address: '1.2.3.4:5' }));
const donations = ok('getDonationRequests', 200, 'user', { url: '/v1/donation-requests', headers: KEY });
const serialize = ok(
  'serializeTransactions',
  200,
  'user',
  post('/v1/transactions:serialize', { transactions: [transactionBody()] }),
);
const deserialize = ok(
  'deserializeTransactions',
  200,
  'user',
  post('/v1/transactions:deserialize', { transactions: [`${'00'.repeat(16)}06${'00'.repeat(16)}`] }),
);

const NO_WALLET: Partial<Row> = { modules: { wallet: undefined, user: undefined } };
const unreachable = (row: Row): Row[] => [
  fails(row, 500, 'mempool_unreachable'),
  fails(row, 500, 'mempool_unreachable', { modules: { mempool: undefined } }),
];
const noWallet = (row: Row): Row[] => [fails(row, 500, 'no_wallet', NO_WALLET), fails(row, 500, 'wallet_unreadable')];
const noKey = (row: Row): Row => fails(row, 401, 'missing_api_key', { request: { ...row.request, headers: {} } });
const wrongKey = (row: Row): Row =>
  fails(row, 401, 'invalid_api_key', { request: { ...row.request, headers: { 'x-api-key': 'wrong' } } });
const guarded = (row: Row): Row[] => [noKey(row), wrongKey(row)];
const refusals = (row: Row): Row[] =>
  (
    [
      'transaction_rejected',
      'double_spend',
      'unknown_input',
      'invalid_signature',
      'mempool_full',
      'outcome_unknown',
    ] as const
  ).map((code) => fails(row, 500, code));
const emptyStorage: Partial<Row> = { modules: { storage: fakeStorage(undefined, true) } };

/** What only the owner of a wallet may do. */
const ownWallet = [
  walletItems,
  movements,
  labels,
  setLabels,
  backup,
  sweep,
  address,
  exported,
  imported,
  passphrase,
  refresh,
];

const TABLE: readonly Row[] = [
  debug,
  noneWaits,
  ...[balances, balancesQuery, supply, mempool, waiting, status, statusQuery].flatMap((row) => [
    row,
    ...unreachable(row),
  ]),
  create,
  fails(create, 400, 'malformed_transaction', { request: post('/v1/transactions', { transactions: [{}] }) }),
  ...unreachable(create),
  ...refusals(create),
  item,
  userItem,
  fails(item, 400, 'invalid_request', { request: post('/v1/items', { genesis_hash_spec: 'Create', item_amount: 3 }) }),
  fails(item, 400, 'invalid_request', { request: post('/v1/items', { ...SIGNED_ITEM, signature: 'xx' }) }),
  ...unreachable(item),
  ...refusals(item).filter(({ code }) => code !== 'unknown_input'),
  fails(userItem, 500, 'no_wallet', NO_WALLET),
  fails(userItem, 500, 'mempool_unreachable'),
  // The contract has no 422 here: metadata over 800 bytes and what else cannot be constructed is 400.
  fails(userItem, 400, 'payment_refused'),
  fails({ ...userItem, role: 'miner' }, 400, 'payment_refused'),
  ...guarded(item),
  ...guarded(userItem),
  entry,
  fails(entry, 404, 'entry_not_found', { request: get('/v1/blockchain-entries/unknown') }),
  entries,
  blocks,
  { ...entries, ...emptyStorage },
  { ...blocks, ...emptyStorage },
  block,
  fails(block, 404, 'block_not_found', { request: get('/v1/blocks/8') }),
  latest,
  fails(latest, 404, 'no_blocks', emptyStorage),
  itemInfo,
  fails(itemInfo, 404, 'item_not_found', { request: get('/v1/items/unknown') }),
  ...[entry, entries, blocks, block, latest, itemInfo].flatMap((row) => [
    fails(row, 503, 'archive_incomplete'),
    fails(row, 500, 'storage_unreachable', { modules: { storage: undefined } }),
  ]),
  current,
  { ...current, modules: { miner: { currentBlock: () => null } } },
  fails(current, 500, 'not_mining', { modules: { miner: undefined } }),
  ...[outgoing, wallet, ...ownWallet].flatMap((row) => [row, ...noWallet(row)]),
  ...[...ownWallet, payment, itemPayment, abandon, donation, donations].flatMap(guarded),
  fails(imported, 400, 'malformed_key_pair', {
    request: post('/v1/wallet/keypairs', { addresses: { [ADDRESS]: { ...KEY_PAIR, secret_key: 'zz' } } }),
  }),
  fails(imported, 500, 'wallet_write_failed'),
  fails(imported, 500, 'refresh_failed'),
  fails(passphrase, 400, 'blank_passphrase', {
    request: { ...post('/v1/wallet/passphrase', { ...PASSPHRASES, new_passphrase: '' }), method: 'PUT' },
  }),
  // Decision V26: this operation knows 204, 400 and 500 only.
  fails(passphrase, 500, 'wrong_passphrase', {
    request: { ...post('/v1/wallet/passphrase', { ...PASSPHRASES, old_passphrase: 'wrong' }), method: 'PUT' },
  }),
  fails(passphrase, 500, 'wallet_write_failed'),
  fails(refresh, 400, 'no_addresses', { request: post('/v1/wallet/running-total:refresh', { all: false }) }),
  fails(refresh, 400, 'no_addresses'),
  fails(refresh, 500, 'refresh_failed'),
  payment,
  ipPayment,
  fails(ipPayment, 400, 'invalid_socket_address', { request: post('/v1/payments', { ...PAYMENT, kind: 'ip' }) }),
  // docs/clients.md#payments: the passphrase comes first, for both kinds.
  ...[payment, ipPayment].map((row) => fails(row, 401, 'wrong_passphrase')),
  fails(ipPayment, 401, 'wrong_passphrase', {
    request: post('/v1/payments', { ...PAYMENT, kind: 'ip', passphrase: 'wrong', address: 'no address' }),
  }),
  itemPayment,
  { ...itemPayment, request: post('/v1/item-payments', { ...ITEM_PAYMENT, kind: 'ip', address: '1.2.3.4:5' }) },
  fails(itemPayment, 401, 'wrong_passphrase'),
  fails(itemPayment, 422, 'insufficient_funds'),
  fails(itemPayment, 400, 'invalid_request', { request: post('/v1/item-payments', PAYMENT) }),
  ...[offer, accept, complete, cancel, trades, trade].flatMap((row) => [
    row,
    ...guarded(row),
    fails(row, 500, 'no_wallet', NO_WALLET),
    fails(row, 500, 'cannot_pay', { modules: { user: undefined } }),
  ]),
  ...[offer, accept].map((row) => fails(row, 401, 'wrong_passphrase')),
  ...[offer, accept].map((row) => fails(row, 422, 'insufficient_funds')),
  ...[offer, accept, complete].map((row) => fails(row, 422, 'trade_refused')),
  ...[accept, complete, cancel].map((row) => fails(row, 409, 'trade_closed')),
  ...[complete, cancel, trade].map((row) => fails(row, 404, 'trade_not_found')),
  fails(offer, 400, 'invalid_request', { request: post('/v1/trades', { ...OFFER, valid_for: 0, passphrase: '' }) }),
  fails(offer, 500, 'peer_unreachable', {
    request: post('/v1/trades', { ...OFFER, peer: '1.2.3.4:1', passphrase: PASSPHRASE }),
  }),
  abandon,
  fails(abandon, 404, 'payment_not_found', { request: post('/v1/payments/g0/abandon', {}) }),
  fails(abandon, 409, 'payment_sent'),
  fails(abandon, 500, 'mempool_unreachable'),
  fails(payment, 422, 'insufficient_funds', { request: post('/v1/payments', { ...PAYMENT, amount: 2_000_000 }) }),
  fails(payment, 422, 'payment_refused', { request: post('/v1/payments', { ...PAYMENT, amount: 0 }) }),
  fails(payment, 500, 'no_wallet', NO_WALLET),
  fails(payment, 500, 'cannot_pay', { modules: { user: undefined } }),
  fails(ipPayment, 500, 'peer_unreachable', {
    request: post('/v1/payments', { ...PAYMENT, kind: 'ip', address: '1.2.3.4:1' }),
  }),
  donation,
  fails(donation, 400, 'invalid_socket_address', { request: post('/v1/donation-requests', { address: 'nobody' }) }),
  fails(donation, 500, 'peer_unreachable', { request: post('/v1/donation-requests', { address: '1.2.3.4:1' }) }),
  donations,
  fails(donations, 400, 'invalid_request', { request: { url: '/v1/donation-requests?limit=0', headers: KEY } }),
  serialize,
  fails(serialize, 400, 'malformed_transaction', {
    request: post('/v1/transactions:serialize', { transactions: [{}] }),
  }),
  deserialize,
  fails(deserialize, 400, 'malformed_transaction', {
    request: post('/v1/transactions:deserialize', { transactions: ['0g'] }),
  }),
];

function throwing(code: ErrorCode): Partial<ApiModules> {
  const call = (): never => {
    throw new TesseraError(code, `made up: ${code}`);
  };
  // Parts of a service throw as the service does.
  const service: object = new Proxy(call, { get: () => service });
  return { mempool: service, storage: service, miner: service, wallet: service, user: service } as Partial<ApiModules>;
}

describe('every operation, every status of the contract', () => {
  it.each(TABLE)('$operation: $status $code', async ({ operation: id, status: expected, role, request, ...how }) => {
    const app = await openApp(role, { modules: how.modules ?? (how.fault === undefined ? {} : throwing(how.fault)) });
    const sent = await send(app, request);
    expect({ status: sent.status, code: sent.body?.code }).toEqual({ status: expected, code: how.code });

    const operation = OPERATIONS.find((one) => one.id === id);
    if (operation === undefined) throw new Error(`no operation ${id}`);
    if (how.code !== undefined) {
      expect(errorStatusesOf(operation).get(expected)).toContain(how.code);
      expect(sent.headers['content-type']).toBe('application/problem+json');
      return;
    }
    const success = new Map(Object.entries(operation.success)).get(String(expected)) as { schema?: never } | undefined;
    expect(success).toBeDefined();
    if (success?.schema === undefined) expect(sent.text).toBe('');
    else expect(createChecker(success.schema)(sent.body)).toBeUndefined();
  });

  it('leaves out no operation of the contract', () => {
    const covered = new Set(TABLE.map(({ operation }) => operation));
    // The documents, the history of the wallet, the event stream and the index of the chain have tests of their own.
    const v1 = OPERATIONS.filter(({ family, path }) => family === 'v1' && !path.startsWith('/v1/chain/')).map(
      ({ id }) => id,
    );
    const elsewhere = ['getOpenApi', 'getDocs', 'getWalletHistory', 'streamEvents'];
    expect(v1.filter((id) => !covered.has(id) && !elsewhere.includes(id))).toEqual([]);
  });

  it('has the operations of the contract', () => {
    const tested = new Set<string>(TABLE.map(({ operation }) => operation));
    expect(CONTRACT_OPERATIONS.filter((id) => !tested.has(id))).toEqual([]);
  });
});
