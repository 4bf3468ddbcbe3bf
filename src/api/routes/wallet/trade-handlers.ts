/** Routes of the trades of a wallet. */

import { itemAsset, tokenAsset } from '../../../chain/assets.js';
import type { Asset } from '../../../chain/types.js';
import type { TradeInfo } from '../../../user/service.js';
import { passphraseCaller } from '../../http/access.js';
import { idempotencyKeyOf } from '../../http/idempotency-key.js';
import { LazyList } from '../../http/lazy-list.js';
import { routesOf } from '../../http/route.js';
import type { ApiAsset } from '../../schemas/asset.js';
import { walletTradeOperations } from './trade-operations.js';
import { DEFAULT_VALID_FOR } from './trade-schemas.js';

const MS_PER_SECOND = 1_000;

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

function assetView(asset: Asset): ApiAsset {
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
    give: assetView(give),
    get: assetView(get),
    created_at: Math.floor(createdAt / MS_PER_SECOND),
    expires_at: expiresAt,
    tx_hash: half,
  };
}
