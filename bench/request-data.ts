/** Services that answer with as much as they may, for the benchmark of the dearest requests. */

import { createHash } from 'node:crypto';
import type { ApiModules } from '../src/api/options.js';
import type { Transaction } from '../src/chain/types.js';
import type { MempoolService } from '../src/mempool/service.js';
import type { MinerService } from '../src/miner/service.js';
import type { StorageService, StoredBlock, StoredEntry } from '../src/storage/service.js';
import type { TradeInfo, UserService } from '../src/user/service.js';
import type { OwnPayment, WalletOutpoint, WalletService } from '../src/wallet/service.js';

export const ADDRESS = 'ab'.repeat(32);
export const TX_HASH = `g${'1'.repeat(31)}`;
export const BLOCK_HASH = `b${'2'.repeat(64)}`;
/** Outputs of one address, as many as an answer lists. */
const OUTPUTS = 100_000;
/** Payments that a history lists. */
const PAYMENTS = 10_000;

const hashOf = (i: number): string => `g${createHash('sha256').update(String(i)).digest('hex').slice(0, 31)}`;

/** The JSON of a transaction of about that many bytes: a script of many entries, which is the most work for its size. */
export function transactionOfBytes(bytes: number): string {
  const script = Array.from({ length: Math.floor((bytes - 300) / 10) }, () => '{"Num":1}').join(',');
  return (
    `{"inputs":[{"previous_out":{"t_hash":"${TX_HASH}","n":0},"script_signature":{"stack":[${script}]}}],` +
    `"outputs":[{"value":{"Token":1},"locktime":0,"script_public_key":"${ADDRESS}"}],"version":2,"druid_info":null}`
  );
}

const TRANSACTION: Transaction = {
  inputs: [
    {
      previousOut: { tHash: TX_HASH, n: 0 },
      script: [
        { kind: 'signature', bytes: Buffer.alloc(64, 1) },
        { kind: 'pubkey', bytes: Buffer.alloc(32, 2) },
      ],
    },
  ],
  outputs: [{ value: { kind: 'token', amount: 1n }, locktime: 0n, scriptPublicKey: ADDRESS }],
  version: 2n,
  fees: [],
  druidInfo: null,
};

/** A block of 2,000 transactions. */
const HEADER_JSON =
  `{"version":6,"bits":0,"nonce_and_mining_tx_hash":[[1,2,3,4],"${TX_HASH}"],"b_num":7,"timestamp":1700000000,` +
  `"difficulty":[],"seed_value":[49,45,50],"previous_hash":"${BLOCK_HASH}","txs_merkle_root_and_hash":["aa","bb"]}`;
const BLOCK_JSON = `{"block":{"header":${HEADER_JSON},"transactions":${JSON.stringify(Array.from({ length: 2_000 }, (_, i) => hashOf(i)))}}}`;

const unused = (): never => {
  throw new Error('the benchmark decodes nothing');
};

const BLOCK: StoredBlock = {
  kind: 'block',
  key: BLOCK_HASH,
  height: 7,
  txLen: 2_001,
  json: Buffer.from(
    `{"key":"${BLOCK_HASH}","data":${BLOCK_JSON},"item_meta":{"type":"block","block_num":7,"tx_len":2001}}`,
  ),
  block: unused,
};

/** An entry of which a thousand are just less than an answer may hold. */
const ENTRY: StoredEntry = {
  kind: 'tx',
  key: TX_HASH,
  height: 7,
  txNum: 1,
  json: Buffer.from(
    `{"key":"${TX_HASH}","data":{"inputs":${JSON.stringify(Array.from({ length: 8_000 }, () => 255))},"outputs":[],` +
      `"version":6,"fees":[],"druid_info":null},"item_meta":{"type":"tx","block_num":7,"tx_num":1}}`,
  ),
  transaction: unused,
};

type Built = <T>(path: string) => Promise<T>;

async function heavyMempool(built: Built): Promise<MempoolService> {
  const { UtxoTable } = await built<typeof import('../src/ledger/utxo/utxo-table.js')>('ledger/utxo/utxo-table.js');
  const { balancesOf, countOutputs } = await built<typeof import('../src/mempool/balances.js')>('mempool/balances.js');
  const utxos = new UtxoTable();
  for (let i = 0; i < OUTPUTS; i++) {
    const value = { kind: 'token', amount: BigInt(i) * 10n ** 9n } as const;
    utxos.insert({ tHash: hashOf(i), n: 0 }, { value, locktime: 0n, scriptPublicKey: ADDRESS });
  }
  const status = { status: 'Confirmed', timestamp: 1_700_000_000, additionalInfo: 'In block 7' } as const;
  return {
    submit: async (transactions) => transactions.map((transaction, i) => ({ hash: hashOf(i), transaction })),
    createItem: async ({ amount, metadata, scriptPublicKey }) => ({
      asset: { kind: 'item', amount, genesisHash: TX_HASH, metadata },
      toAddress: scriptPublicKey,
      txHash: TX_HASH,
    }),
    balances: (addresses) => balancesOf(utxos, addresses),
    countOutputs: (addresses, limit) => countOutputs(utxos, addresses, limit),
    waiting: () => ({ count: 0, bytes: 0, blocks: [] }),
    waitingPlace: () => undefined,
    supply: () => ({ total: 360_360_000_000_000_000n, issued: 1n }),
    statuses: async (hashes) => new Map(hashes.map((hash) => [hash, status])),
  };
}

const STORAGE: StorageService = {
  entry: async (key) => (key === BLOCK_HASH ? BLOCK : ENTRY),
  blockAt: async () => BLOCK,
  latest: async () => ({ hash: BLOCK_HASH, height: 7, json: Buffer.from(`{"block":${BLOCK_JSON}}`), block: unused }),
  item: async () => ({
    genesisHash: TX_HASH,
    metadata: 'x'.repeat(800),
    totalAmount: 1n,
    height: 7,
    txHash: TX_HASH,
    creatorAddress: ADDRESS,
  }),
};

const OUTPOINTS: readonly WalletOutpoint[] = Array.from({ length: OUTPUTS }, (_, i) => ({
  outPoint: { tHash: hashOf(i), n: 0 },
  value: { kind: 'token', amount: BigInt(i) },
}));
const PAYMENT_LIST: readonly OwnPayment[] = Array.from({ length: PAYMENTS }, (_, i) => ({
  hash: hashOf(i),
  kind: 'payment',
  state: 'confirmed',
  reason: '',
  peer: null,
  createdAt: 1_700_000_000_000,
  height: 7,
  time: 1_700_000_005,
  amount: 1n,
  fee: 0n,
  toSelf: false,
  label: null,
  outputs: [{ address: ADDRESS, value: { kind: 'token', amount: 1n }, own: false }],
}));

const WALLET: WalletService = {
  info: async () => ({
    addresses: new Map([[ADDRESS, OUTPOINTS]]),
    running: 1n,
    available: 1n,
    locked: 0n,
    items: new Map(),
  }),
  items: { list: async () => [] },
  keys: { temporary: new Set() },
  newAddress: async () => ADDRESS,
  coverage: { backup: async () => '', sweep: async () => [], uncovered: () => 0n },
  labels: { all: () => [], set: async () => undefined },
  exportKeyPairs: async () =>
    new Map(
      Array.from({ length: PAYMENTS }, (_, i) => [
        String(i).padStart(64, '0'),
        { publicKey: Buffer.alloc(32), secretKey: Buffer.alloc(85), addressVersion: null },
      ]),
    ),
  importKeyPairs: async (pairs) => [...pairs.keys()],
  keystore: { changePassphrase: async () => undefined },
  history: {
    outgoing: async () => PAYMENT_LIST.map(({ hash }) => [hash, TRANSACTION]),
    payments: async () => PAYMENT_LIST,
    movements: async () => ({ movements: [], next: null }),
  },
  refresh: async () => undefined,
};

const TRADE: TradeInfo = {
  ...{ id: TX_HASH, side: 'maker', state: 'open', reason: '', metadata: 'm'.repeat(800), peer: null, half: null },
  give: { kind: 'token', amount: 1n },
  get: { kind: 'item', amount: 1n, genesisHash: TX_HASH, metadata: null },
  ...{ createdAt: 1_700_000_000_000, expiresAt: 1_700_003_600, address: ADDRESS, counterparty: null },
  offer: { creation: 'c'.repeat(2_000) },
  ...{ acceptance: null, confirmation: null },
};

const USER: UserService = {
  payAddress: async () => ({ txHash: TX_HASH }),
  payPeer: async () => undefined,
  abandonPayment: async () => undefined,
  requestDonation: async () => undefined,
  donationRequests: () => [],
  createItem: async () => ({ txHash: TX_HASH }),
  offerTrade: async () => TRADE,
  acceptTrade: async () => TRADE,
  completeTrade: async () => TRADE,
  cancelTrade: async () => TRADE,
  // As many as a wallet keeps.
  trades: () => Array.from({ length: 2_000 }, () => TRADE),
  trade: () => TRADE,
};

const MINER: MinerService = { currentBlock: () => null };

export async function heavyServices(
  built: Built,
): Promise<Pick<ApiModules, 'mempool' | 'storage' | 'miner' | 'wallet' | 'user'>> {
  return { mempool: await heavyMempool(built), storage: STORAGE, miner: MINER, wallet: WALLET, user: USER };
}
