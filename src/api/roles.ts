/** Roles over HTTP: the operations of each role, its sites, and the plugin that adds its routes, which only nodes of the role load. */

import { NODE_ROLES, type NodeRole } from '../lib/roles.js';
import type { ApiKeysOptions } from './http/api-key.js';
import type { Operation } from './operation.js';
import type { ApiOptions, ApiPlugin } from './options.js';
import { SITES, type Site } from './pages/page-paths.js';
import { holdingOperations } from './routes/chain/holding-operations.js';
import { chainOperations } from './routes/chain/operations.js';
import {
  type EnvelopeOperation,
  mempoolEnvelopes,
  postCreateItemAsset,
  storageEnvelopes,
} from './routes/envelope/operations.js';
import {
  minerEnvelopes,
  type OlderOperation,
  poolEnvelopes,
  userEnvelopes,
  walletEnvelopes,
} from './routes/envelope/wallet-operations.js';
import { createItem, mempoolOperations } from './routes/mempool/operations.js';
import { miningOperations } from './routes/mining/operations.js';
import { storageOperations } from './routes/storage/operations.js';
import { toolOperations } from './routes/tools/operations.js';
import { userOperations } from './routes/user/operations.js';
import { walletBackupOperations, walletHistoryOperations, walletOperations } from './routes/wallet/operations.js';
import { walletTradeOperations } from './routes/wallet/trade-operations.js';

export interface RoleApi {
  readonly operations: readonly Operation[];
  readonly envelopes?: readonly EnvelopeOperation[];
  /** Routes that `envelope.wallet_routes` adds. */
  readonly walletEnvelopes?: readonly (EnvelopeOperation | OlderOperation)[];
  readonly sites?: readonly Site[];
  /** Operations that the options open to callers without a key. */
  readonly open?: (api: ApiOptions['api']) => readonly Operation[];
  readonly plugin: () => Promise<ApiPlugin>;
}

const WALLET = [
  createItem,
  ...walletOperations,
  ...walletHistoryOperations,
  ...walletTradeOperations,
  ...walletBackupOperations,
] as const;

export const ROLE_APIS = {
  mempool: {
    operations: mempoolOperations,
    envelopes: mempoolEnvelopes,
    walletEnvelopes: poolEnvelopes,
    // Open item creation is for clients that sign. Beside a wallet, `itemRoutes` protects it with a key.
    open: ({ openItemCreation }) => (openItemCreation ? [createItem] : []),
    plugin: async () => (await import('./plugins/mempool.js')).mempool,
  },
  storage: {
    operations: [...storageOperations, ...chainOperations, ...holdingOperations],
    envelopes: storageEnvelopes,
    sites: ['explorer'],
    plugin: async () => (await import('./plugins/storage.js')).storage,
  },
  miner: {
    operations: [...miningOperations, ...WALLET],
    walletEnvelopes: [...walletEnvelopes, ...minerEnvelopes, postCreateItemAsset],
    sites: ['wallet'],
    plugin: async () => (await import('./plugins/miner.js')).miner,
  },
  user: {
    operations: [...WALLET, ...userOperations, ...toolOperations],
    walletEnvelopes: [...walletEnvelopes, ...userEnvelopes, postCreateItemAsset],
    sites: ['wallet'],
    plugin: async () => (await import('./plugins/user.js')).user,
  },
} as const satisfies Readonly<Record<NodeRole, RoleApi>>;

export function apiOf(role: NodeRole): RoleApi {
  return ROLE_APIS[role];
}

/** The roles that serve an operation; every node serves the operations of no role. */
export function rolesOf(operation: Operation): readonly NodeRole[] {
  const own = NODE_ROLES.filter((role) => {
    const { operations, envelopes = [], walletEnvelopes = [] } = apiOf(role);
    return [...operations, ...envelopes, ...walletEnvelopes].includes(operation);
  });
  return own.length === 0 ? NODE_ROLES : own;
}

export function sitesOf(roles: readonly NodeRole[]): readonly Site[] {
  return SITES.filter((site) => roles.some((role) => apiOf(role).sites?.includes(site)));
}

export function apiKeysOptions(roles: readonly NodeRole[], api: ApiOptions['api']): ApiKeysOptions {
  return { ...api, open: roles.flatMap((role) => apiOf(role).open?.(api) ?? []).map(({ id }) => id) };
}
