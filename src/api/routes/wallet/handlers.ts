/** Routes of nodes with a wallet, that is of miners and users: keys, totals, payments. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { addressVersionOf } from '../../../chain/address.js';
import { itemAsset, tokenAsset } from '../../../chain/assets.js';
import { DISPLAY_UNIT } from '../../../chain/constants.js';
import { assetView, transactionView } from '../../../chain/json.js';
import type { Asset } from '../../../chain/types.js';
import { fromHex, isHex, toHex } from '../../../lib/bytes.js';
import { TesseraError } from '../../../lib/errors.js';
import type { TradeInfo } from '../../../user/service.js';
import type { KeyPairRecord, Label, OwnPayment, WalletInfo, WalletMovement } from '../../../wallet/service.js';
import { passphraseCaller } from '../../http/access.js';
import { idempotencyKeyOf } from '../../http/idempotency-key.js';
import { LazyList } from '../../http/long-answers.js';
import { routesOf } from '../../http/route.js';
import type { ApiAsset } from '../../schemas/asset.js';
import type { ExactInteger } from '../../schemas/scalars.js';
import { addressListView, temporaryAddressesView } from '../views.js';
import { DEFAULT_MOVEMENTS } from './history-schemas.js';
import { walletBackupOperations, walletHistoryOperations, walletOperations } from './operations.js';
import type { Keypair, PaymentRequest } from './schemas.js';
import { DEFAULT_VALID_FOR, walletTradeOperations } from './trade-operations.js';

const PUBLIC_KEY_BYTES = 32;
const MS_PER_SECOND = 1_000;
/** Totals in display units are computed to nine decimals. */
const DISPLAY_PRECISION = 1_000_000_000n;

export const walletRoutes = routesOf(walletOperations, ({ services }) => ({
  async getOutgoingTransactions({ query: { limit } }) {
    const outgoing = await services.wallet.history.outgoing(limit === undefined ? limit : Number(limit));
    return { transactions: LazyList.of(outgoing, ([hash, tx]) => [hash, transactionView(tx)] as const) };
  },

  async getWalletHistory({ query: { limit } }) {
    const payments = await services.wallet.history.payments(limit === undefined ? limit : Number(limit));
    return { transactions: LazyList.of(payments, paymentView) };
  },

  async getWallet({ query: { page, spent } }) {
    // No wallet has 2^53 pages: the largest safe integer stands for larger numbers, past the end as well (decision V12).
    const safePage = typeof page === 'bigint' ? Number.MAX_SAFE_INTEGER : page;
    const info = await services.wallet.info({
      ...(safePage === undefined ? {} : { page: safePage }),
      ...(spent === undefined ? {} : { spent }),
    });
    return { ...walletInfoView(info), ...temporaryAddressesView(services.wallet.keys.temporary) };
  },

  createWalletAddress: async () => ({ address: await services.wallet.newAddress() }),

  async exportKeypairs() {
    const pairs = await services.wallet.exportKeyPairs();
    return { addresses: new Map([...pairs].map(([address, pair]) => [address, keypairView(pair)])) };
  },

  async importKeypairs({ body }) {
    const { wallet } = services;
    const pairs = Object.entries(body.addresses).map(([address, pair]) => [address, keyPairOf(address, pair)] as const);
    const imported = pairs.length === 0 ? [] : await wallet.importKeyPairs(new Map(pairs));
    const { temporary } = wallet.keys;
    return { imported, ...temporaryAddressesView(imported.filter((address) => temporary.has(address))) };
  },

  async changePassphrase(request) {
    const { old_passphrase: old, new_passphrase: chosen } = request.body;
    if (chosen.trim() === '') throw new TesseraError('blank_passphrase', 'The new passphrase must not be blank.');
    await services.wallet.keystore.changePassphrase(old, chosen, passphraseCaller(request));
    return undefined;
  },

  async refreshRunningTotal({ body: { all, addresses = [] } }) {
    const { wallet } = services;
    if (!all && addresses.length === 0) {
      throw new TesseraError('no_addresses', 'There are no addresses to refresh: name some, or set all to true.');
    }
    await wallet.refresh(all ? { all: true } : { addresses });
    return undefined;
  },

  createPayment: async (request) => pay(services, request),

  async abandonPayment({ params }) {
    await services.user.abandonPayment(params.tx_hash);
    return undefined;
  },
}));

export const walletHistoryRoutes = routesOf(walletHistoryOperations, ({ services }) => ({
  async getWalletMovements({ query }) {
    const { limit, cursor, order, from, to, from_block: fromBlock, to_block: toBlock, ...named } = query;
    const { idempotency_key: idempotencyKey, ...filter } = named;
    const { movements, next } = await services.wallet.history.movements({
      ...filter,
      limit: Number(limit ?? DEFAULT_MOVEMENTS),
      newestFirst: order !== 'oldest',
      ...optional('cursor', cursor),
      ...optional('from', from),
      ...optional('to', to),
      ...optional('fromHeight', fromBlock),
      ...optional('toHeight', toBlock),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });
    return { movements: movements.map(movementView), next };
  },

  async getWalletLabels() {
    return { labels: LazyList.of(services.wallet.labels.all(), (label) => label) };
  },

  async setWalletLabels({ body }) {
    await services.wallet.labels.set(body.labels as readonly Label[]);
    return undefined;
  },

  async getWalletItems() {
    const items = await services.wallet.items.list();
    return { items: LazyList.of(items, ({ genesisHash, ...shown }) => ({ ...shown, genesis_hash: genesisHash })) };
  },

  createItemPayment: async (request) => pay(services, request, request.body.genesis_hash),
}));

function walletInfoView({ addresses, available, locked, running, items }: WalletInfo) {
  return {
    addresses: addressListView(addresses),
    available_total: displayUnits(available),
    available_total_tokens: available,
    locked_total: displayUnits(locked),
    locked_total_tokens: locked,
    running_total: displayUnits(running),
    running_total_tokens: running,
    item_total: items,
  };
}

function paymentView({ hash, createdAt, height, time, toSelf, reason, outputs, ...shown }: OwnPayment) {
  return {
    ...shown,
    tx_hash: hash,
    reason: reason === '' ? null : reason,
    created_at: Math.floor(createdAt / MS_PER_SECOND),
    block_num: height,
    block_time: time,
    to_self: toSelf,
    outputs: outputs.map(({ address, value, own }) => ({ address, value: assetView(value), own })),
  };
}

/** Raw units as display units, rounded to nine decimals. */
function displayUnits(raw: bigint): number {
  return Number((raw * DISPLAY_PRECISION) / DISPLAY_UNIT) / Number(DISPLAY_PRECISION);
}

function keypairView({ publicKey, secretKey, addressVersion }: KeyPairRecord) {
  return { public_key: toHex(publicKey), secret_key: toHex(secretKey), address_version: addressVersion };
}

function keyPairOf(address: string, pair: Keypair): KeyPairRecord {
  const { public_key: publicKey, secret_key: secretKey, address_version: version = null } = pair;
  if (!isHex(publicKey, PUBLIC_KEY_BYTES) || secretKey === '' || !isHex(secretKey)) {
    throw new TesseraError('malformed_key_pair', `The key pair of ${address.slice(0, 64)} is not valid hex.`);
  }
  return {
    publicKey: fromHex(publicKey),
    secretKey: fromHex(secretKey),
    addressVersion: addressVersionOf(version),
  };
}

export const walletBackupRoutes = routesOf(walletBackupOperations, ({ services }) => ({
  backupWallet: async (request) => ({
    backup: await services.wallet.coverage.backup(request.body.passphrase, passphraseCaller(request)),
  }),

  async sweepWallet() {
    const { wallet } = services;
    const before = wallet.coverage.uncovered();
    const made = await wallet.coverage.sweep();
    const left = wallet.coverage.uncovered();
    return {
      transactions: made.map(({ hash }) => hash),
      tokens: before > left ? before - left : 0n,
      tokens_left: left,
    };
  },
}));

/** Makes a payment of tokens, or of items of the class `genesisHash`. */
async function pay(
  { user, wallet }: FastifyInstance['services'],
  request: FastifyRequest & { readonly body: PaymentRequest },
  genesisHash?: string,
) {
  const { kind, address, amount, locktime, passphrase } = request.body;
  const order = {
    address,
    amount: BigInt(amount),
    genesisHash,
    locktime: BigInt(locktime ?? 0),
    passphrase,
    caller: passphraseCaller(request),
    idempotencyKey: idempotencyKeyOf(request),
  };
  const made = kind === 'address' ? await user.payAddress(order) : await user.payPeer(order);
  return {
    to_address: address,
    amount:
      genesisHash === undefined
        ? { kind: 'token' as const, amount }
        : { kind: 'item' as const, amount, genesis_hash: genesisHash, metadata: null },
    tx_hash: made?.txHash ?? null,
    ...temporaryAddressesView(wallet.keys.temporary.has(address) ? [address] : []),
  };
}

/** A member, if it has a value. The largest safe integer, which no movement reaches, stands for larger numbers. */
function optional<K extends string>(key: K, value: ExactInteger | undefined): Partial<Record<K, number>> {
  if (value === undefined) return {};
  const number = typeof value === 'bigint' ? Number.MAX_SAFE_INTEGER : value;
  return { [key]: number } as Partial<Record<K, number>>;
}

function movementView(movement: WalletMovement) {
  const { hash, copyHash, reason, height, time, seenAt, outputs, outputCount, ...shown } = movement;
  return {
    ...shown,
    tx_hash: hash,
    chain_hash: copyHash,
    reason: reason === '' ? null : reason,
    block_num: height,
    block_time: time,
    seen_at: seenAt === null ? null : Math.floor(seenAt / MS_PER_SECOND),
    outputs: outputs.map(({ address, amount, assetId, own }) => ({
      address,
      amount,
      item: assetId === '' ? null : assetId,
      own,
    })),
    output_count: outputCount,
  };
}

export const walletTradeRoutes = routesOf(walletTradeOperations, ({ services }) => ({
  async offerTrade(request) {
    const { give, want, valid_for: validFor, peer, reachable, passphrase } = request.body;
    const trade = await services.user.offerTrade({
      give: assetOf(give),
      want: assetOf(want),
      validFor: Number(validFor ?? DEFAULT_VALID_FOR),
      peer: peer ?? null,
      isReachable: reachable ?? false,
      passphrase,
      caller: passphraseCaller(request),
      idempotencyKey: idempotencyKeyOf(request),
    });
    return tradeView(trade);
  },

  async acceptTrade(request) {
    const { offer, passphrase } = request.body;
    return tradeView(await services.user.acceptTrade(offer, passphrase, passphraseCaller(request)));
  },

  completeTrade: async ({ body }) => tradeView(await services.user.completeTrade(body.document)),

  getTrades: async () => ({ trades: LazyList.of(services.user.trades(), tradeView) }),

  getTrade: async ({ params }) => tradeView(services.user.trade(params.trade_id)),

  cancelTrade: async ({ params }) => tradeView(await services.user.cancelTrade(params.trade_id)),
}));

function assetOf(asset: ApiAsset): Asset {
  const amount = BigInt(asset.amount);
  return asset.kind === 'token' ? tokenAsset(amount) : itemAsset(amount, asset.genesis_hash ?? null);
}

function tradedAssetView(asset: Asset): ApiAsset {
  const { amount } = asset;
  return asset.kind === 'token'
    ? { kind: 'token', amount }
    : { kind: 'item', amount, genesis_hash: asset.genesisHash, metadata: null };
}

function tradeView({ id, reason, give, get, createdAt, expiresAt, half, ...shown }: TradeInfo) {
  return {
    ...shown,
    trade_id: id,
    reason: reason === '' ? null : reason,
    give: tradedAssetView(give),
    get: tradedAssetView(get),
    created_at: Math.floor(createdAt / MS_PER_SECOND),
    expires_at: expiresAt,
    tx_hash: half,
  };
}
