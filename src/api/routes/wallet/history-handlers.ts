/** Routes of the history of a wallet, and of labels. */

import type { Label, WalletMovement } from '../../../wallet/service.js';
import { LazyList } from '../../http/lazy-list.js';
import { routesOf } from '../../http/route.js';
import type { ExactInteger } from '../../schemas/scalars.js';
import { walletHistoryOperations } from './history-operations.js';
import { DEFAULT_MOVEMENTS } from './history-schemas.js';

const MS_PER_SECOND = 1_000;

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
}));

/** Numbers beyond the safe ones are behind every movement. */
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
