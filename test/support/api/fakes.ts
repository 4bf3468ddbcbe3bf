/**
 * Services as the API sees them, without what is behind them: they answer with small fixed data and note their calls. Real
 * services stand behind the API in the network tests.
 */

import { tokenAsset } from '../../../src/chain/assets.js';
import { assemble, txOut } from '../../../src/chain/builders.js';
import { encodeTransaction } from '../../../src/chain/codec.js';
import { transactionHash } from '../../../src/chain/hash.js';
import { blockJson, transactionJson } from '../../../src/chain/json.js';
import type { Block, BlockHeader, Transaction } from '../../../src/chain/types.js';
import { TesseraError } from '../../../src/lib/errors.js';
import { isSocketAddress } from '../../../src/lib/ip-address.js';
import type { Holding, Holdings, MempoolService } from '../../../src/mempool/service.js';
import type { MinerService } from '../../../src/miner/service.js';
import type { LatestBlock, StorageService, StoredBlock, StoredTransaction } from '../../../src/storage/service.js';
import type { TradeInfo, UserService } from '../../../src/user/service.js';
import type { KeyPairRecord, WalletMovement, WalletService } from '../../../src/wallet/service.js';

export const ADDRESS = 'ab'.repeat(32);
export const OTHER_ADDRESS = 'cd'.repeat(32);
export const TX_HASH = `g${'1'.repeat(31)}`;
export const BLOCK_HASH = `b${'2'.repeat(64)}`;
export const GENESIS_HASH = `g${'3'.repeat(31)}`;
export const PASSPHRASE = 'correct horse';
const TOTAL_SUPPLY = 360_360_000_000_000_000n;
/** 2^53 + 1: the first integer that a double cannot hold. */
export const ODD_AMOUNT = 9_007_199_254_740_993n;

const HEADER: BlockHeader = {
  version: 6,
  bits: 0n,
  nonce: Uint8Array.of(1, 2, 3),
  miningTxHash: TX_HASH,
  bNum: 7n,
  timestamp: 1_700_000_000n,
  difficulty: Uint8Array.of(),
  seedValue: Uint8Array.from(Buffer.from('1-2')),
  previousHash: `b${'0'.repeat(64)}`,
  merkleRoot: 'aa'.repeat(32),
  txsHash: 'bb'.repeat(32),
};
const BLOCK: Block = { header: HEADER, transactions: [TX_HASH] };

const COINBASE: Transaction = {
  inputs: [{ previousOut: null, script: [{ kind: 'num', value: 7n }] }],
  outputs: [{ value: { kind: 'token', amount: ODD_AMOUNT }, locktime: 107n, scriptPublicKey: ADDRESS }],
  version: 6n,
  fees: [],
  druidInfo: null,
};

/** A transaction with the right shape, as 2Way.js sends it. */
export function transactionBody(amount: number | bigint = 1000): Record<string, unknown> {
  return {
    inputs: [
      {
        previous_out: { t_hash: TX_HASH, n: 0 },
        script_signature: {
          Pay2PkH: {
            signable_data: 'aa'.repeat(32),
            signature: 'bb'.repeat(64),
            public_key: 'cc'.repeat(32),
            address_version: null,
          },
        },
      },
    ],
    outputs: [{ value: { Token: amount }, locktime: 0, script_public_key: ADDRESS }],
    version: 2,
    fees: null,
    druid_info: null,
  };
}

/** The calls that the fakes have carried out, in order; those that threw are not among them. */
export type Calls = { readonly name: string; readonly args: readonly unknown[] }[];

function noted<T extends object>(calls: Calls | undefined, service: T): T {
  if (calls === undefined) return service;
  return new Proxy(service, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        const note = () => calls.push({ name: String(name), args });
        const result: unknown = member.apply(target, args);
        if (result instanceof Promise) result.then(note, () => undefined);
        else note();
        return result;
      };
    },
  });
}

/** Makes holdings, in the form of the mempool, from a list. */
export function holdingsOf(list: readonly Holding[]): Holdings {
  const tokens = list.filter(({ value }) => value.kind === 'token').reduce((sum, { value }) => sum + value.amount, 0n);
  const items = new Map<string, bigint>();
  for (const { value } of list) {
    if (value.kind === 'item')
      items.set(value.genesisHash ?? '', (items.get(value.genesisHash ?? '') ?? 0n) + value.amount);
  }
  return { count: list.length, tokens, items, [Symbol.iterator]: () => list[Symbol.iterator]() };
}

const WAITING = encodeTransaction(assemble({ inputs: [], outputs: [txOut(tokenAsset(5n), ADDRESS)] }));

export function fakeMempool(calls?: Calls): MempoolService {
  return noted<MempoolService>(calls, {
    async submit(transactions) {
      for (const { outputs } of transactions) {
        const tooMuch = outputs.some(({ value }) => value.amount > TOTAL_SUPPLY);
        if (tooMuch) throw new TesseraError('transaction_rejected', 'The outputs are more than the inputs.');
      }
      return transactions.map((transaction) => ({ hash: transactionHash(transaction), transaction }));
    },
    async createItem({ spec, amount, metadata, scriptPublicKey }) {
      const genesisHash = spec === 'Create' ? GENESIS_HASH : 'default_genesis_hash';
      return {
        asset: { kind: 'item', amount, genesisHash, metadata },
        toAddress: scriptPublicKey,
        txHash: GENESIS_HASH,
      };
    },
    countOutputs: () => 0,
    balances(addresses) {
      const known = addresses.filter((address) => address === ADDRESS || address === OTHER_ADDRESS);
      return {
        tokens: ODD_AMOUNT,
        items: new Map([[GENESIS_HASH, 2n]]),
        addresses: new Map(
          known.map((address) => [
            address,
            holdingsOf([
              { outPoint: { tHash: TX_HASH, n: 0 }, value: { kind: 'token', amount: ODD_AMOUNT }, locktime: 0n },
              {
                outPoint: { tHash: GENESIS_HASH, n: 0 },
                value: { kind: 'item', amount: 2n, genesisHash: GENESIS_HASH, metadata: 'a "text"' },
                locktime: 0n,
              },
            ]),
          ]),
        ),
      };
    },
    supply: () => ({ total: TOTAL_SUPPLY, issued: ODD_AMOUNT }),
    waiting() {
      const first = [{ hash: TX_HASH, bytes: WAITING, time: 1_700_000_000 }];
      const block = { height: 8, isBeingMade: false, count: 1, bytes: WAITING.length, first };
      return { count: 1, bytes: WAITING.length, blocks: [block] };
    },
    waitingPlace(hash) {
      if (hash !== TX_HASH) return undefined;
      const place = { height: 8, isBeingMade: false, ahead: 0 };
      return { hash, bytes: WAITING, time: 1_700_000_000, info: 'Waits for a block', place, behind: [GENESIS_HASH] };
    },
    async statuses(hashes) {
      return new Map(
        hashes
          .filter((hash) => hash === TX_HASH)
          .map((hash) => [hash, { status: 'Confirmed', timestamp: 1_700_000_000, additionalInfo: 'In block 7' }]),
      );
    },
  });
}

export const BLOCK_ENTRY: StoredBlock = {
  kind: 'block',
  key: BLOCK_HASH,
  height: 7,
  txLen: 2,
  json: Buffer.from(
    `{"key":"${BLOCK_HASH}","data":{"block":${blockJson(BLOCK)}},"item_meta":{"type":"block","block_num":7,"tx_len":2}}`,
  ),
  block: () => BLOCK,
};

export const TX_ENTRY: StoredTransaction = {
  kind: 'tx',
  key: TX_HASH,
  height: 7,
  txNum: 1,
  json: Buffer.from(
    `{"key":"${TX_HASH}","data":${transactionJson(COINBASE)},"item_meta":{"type":"tx","block_num":7,"tx_num":1}}`,
  ),
  transaction: () => COINBASE,
};

export const LATEST: LatestBlock = {
  hash: BLOCK_HASH,
  height: 7,
  json: Buffer.from(`{"block":{"block":${blockJson(BLOCK)}}}`),
  block: () => BLOCK,
};

export function fakeStorage(calls?: Calls, empty = false): StorageService {
  return noted<StorageService>(calls, {
    async entry(key) {
      if (empty) return undefined;
      if (key === BLOCK_HASH || key === 'nLastBlockHashKey') return BLOCK_ENTRY;
      return key === TX_HASH ? TX_ENTRY : undefined;
    },
    blockAt: async (num) => (num === 7 && !empty ? BLOCK_ENTRY : undefined),
    latest: async () => (empty ? undefined : LATEST),
    async item(genesisHash) {
      if (genesisHash !== GENESIS_HASH) return undefined;
      return {
        genesisHash,
        metadata: null,
        totalAmount: ODD_AMOUNT,
        height: 7,
        txHash: GENESIS_HASH,
        creatorAddress: ADDRESS,
      };
    },
  });
}

export function fakeMiner(): MinerService {
  return { currentBlock: () => ({ header: HEADER, reward: ODD_AMOUNT }) };
}

const KEY_PAIR: KeyPairRecord = {
  publicKey: Buffer.alloc(32, 1),
  secretKey: Buffer.alloc(85, 2),
  addressVersion: null,
};

const MOVEMENT: WalletMovement = {
  number: 5,
  hash: TX_HASH,
  copyHash: null,
  kind: 'payment',
  direction: 'out',
  state: 'confirmed',
  reason: '',
  peer: null,
  seenAt: 1_700_000_000_000,
  height: 7,
  time: 1_700_000_005,
  amount: 72_072_000n,
  items: new Map(),
  net: -72_072_001n,
  fee: 1n,
  from: [],
  outputs: [{ address: ADDRESS, amount: 72_072_000n, assetId: '', own: false }],
  outputCount: 1,
  label: 'rent',
};

export function fakeWallet(calls?: Calls): WalletService {
  const own = noted<Omit<WalletService, 'keys' | 'keystore' | 'items' | 'history' | 'labels' | 'coverage'>>(calls, {
    info: async () => ({
      addresses: new Map([
        [ADDRESS, [{ outPoint: { tHash: TX_HASH, n: 0 }, value: { kind: 'token', amount: 72_072_000n } }]],
      ]),
      running: 108_108_000n,
      available: 72_072_000n,
      locked: 36_036_000n,
      items: new Map([[GENESIS_HASH, 2n]]),
    }),
    newAddress: async () => ADDRESS,
    exportKeyPairs: async () => new Map([[ADDRESS, KEY_PAIR]]),
    async importKeyPairs(pairs) {
      for (const { secretKey } of pairs.values()) {
        if (![32, 64, 83, 85].includes(secretKey.length)) {
          throw new TesseraError('malformed_key_pair', 'The secret key has no known form.');
        }
      }
      return [...pairs.keys()];
    },
    refresh: async () => undefined,
  });
  const keystore = noted<WalletService['keystore']>(calls, {
    async changePassphrase(oldPassphrase) {
      if (oldPassphrase !== PASSPHRASE) throw new TesseraError('wrong_passphrase', 'The old passphrase is wrong.');
    },
  });
  const items = noted<WalletService['items']>(calls, {
    list: async () => [{ genesisHash: GENESIS_HASH, amount: 2n, available: 1n, metadata: 'ticket' }],
  });
  const history = noted<WalletService['history']>(calls, {
    outgoing: async () => [[TX_HASH, COINBASE]],
    payments: async () => [
      {
        hash: TX_HASH,
        kind: 'payment',
        state: 'rejected',
        reason: 'double_spend',
        peer: null,
        createdAt: 1_700_000_000_000,
        height: null,
        time: null,
        amount: 72_072_000n,
        fee: 0n,
        toSelf: false,
        label: 'rent',
        outputs: [{ address: ADDRESS, value: { kind: 'token', amount: 72_072_000n }, own: false }],
      },
    ],
    movements: async () => ({ movements: [MOVEMENT], next: 6 }),
  });
  const labels = noted<WalletService['labels']>(calls, {
    all: () => [{ kind: 'address', name: ADDRESS, label: 'landlord' }],
    set: async () => undefined,
  });
  const coverage = noted<WalletService['coverage']>(calls, {
    backup: async (passphrase) => {
      if (passphrase !== PASSPHRASE) throw new TesseraError('wrong_passphrase', 'The passphrase is wrong.');
      return '{"kind":"tessera-wallet-backup"}\n';
    },
    sweep: async () => [{ hash: TX_HASH }],
    uncovered: () => 0n,
  });
  return { ...own, keys: { temporary: new Set() }, keystore, items, history, labels, coverage };
}

export const TRADE: TradeInfo = {
  ...{ id: 'ab'.repeat(32), side: 'maker', state: 'open', reason: '', metadata: null, peer: '1.2.3.4:5', half: null },
  give: { kind: 'token', amount: 5n },
  get: { kind: 'item', amount: 1n, genesisHash: GENESIS_HASH, metadata: null },
  ...{ createdAt: 1_700_000_000_000, expiresAt: 1_700_003_600, address: ADDRESS, counterparty: null },
  offer: { kind: 'tessera-trade-offer' },
  ...{ acceptance: null, confirmation: null },
};

function tradeOf(id: string): TradeInfo {
  if (id === TRADE.id) return TRADE;
  throw new TesseraError('trade_not_found', 'This wallet has no such trade.');
}

export function fakeUser(calls?: Calls): UserService {
  const checkPassphrase = (passphrase: string) => {
    if (passphrase !== PASSPHRASE) throw new TesseraError('wrong_passphrase', 'The wallet passphrase is wrong.');
  };
  const checkAmount = (amount: bigint) => {
    if (amount === 0n || amount >= 2n ** 63n) {
      throw new TesseraError('payment_refused', 'The amount must be from 1 to 2^63 - 1.');
    }
    if (amount > 1_000_000n) throw new TesseraError('insufficient_funds', 'Insufficient funds for payment.');
  };
  return noted<UserService>(calls, {
    async payAddress({ passphrase, amount }) {
      checkPassphrase(passphrase);
      checkAmount(amount);
      return { txHash: TX_HASH };
    },
    async payPeer({ address, passphrase, amount }) {
      checkPassphrase(passphrase);
      if (!isSocketAddress(address)) {
        throw new TesseraError('invalid_socket_address', 'address must be a valid ip:port socket address.');
      }
      checkAmount(amount);
      if (address.endsWith(':1')) throw new TesseraError('peer_unreachable', 'No link to the peer could be opened.');
    },
    async abandonPayment(txHash) {
      if (txHash !== TX_HASH) throw new TesseraError('payment_not_found', 'No such payment waits to be sent.');
    },
    async requestDonation(peer) {
      if (peer.endsWith(':1')) throw new TesseraError('peer_unreachable', 'No link to the peer could be opened.');
    },
    donationRequests: () => [
      { number: 7, peer: '1.2.3.4:5', askedAt: 1_700_000_000_000, outcome: 'declined', reason: 'not today' },
    ],
    createItem: async () => ({ txHash: GENESIS_HASH }),
    async offerTrade({ passphrase, peer }) {
      checkPassphrase(passphrase);
      if (peer?.endsWith(':1')) throw new TesseraError('peer_unreachable', 'No link to the peer could be opened.');
      return TRADE;
    },
    async acceptTrade(_, passphrase) {
      checkPassphrase(passphrase);
      return { ...TRADE, side: 'taker', state: 'accepted', metadata: 'a ticket' };
    },
    completeTrade: async () => ({ ...TRADE, state: 'agreed', half: TX_HASH }),
    async cancelTrade(id) {
      return { ...tradeOf(id), state: 'cancelled', reason: 'cancelled' };
    },
    trades: () => [TRADE],
    trade: tradeOf,
  });
}
