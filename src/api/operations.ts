/** Every operation of a node; routes, documents, client and tests are made from them. */

import type { NodeRole } from '../lib/roles.js';
import type { Operation } from './operation.js';
import { holdingOperations } from './routes/chain/holding-operations.js';
import { chainOperations } from './routes/chain/operations.js';
import { commonOperations } from './routes/common/operations.js';
import { envelopeOperations } from './routes/envelope/operations.js';
import { eventOperations } from './routes/events/operations.js';
import { mempoolOperations } from './routes/mempool/operations.js';
import { miningOperations } from './routes/mining/operations.js';
import { storageOperations } from './routes/storage/operations.js';
import { toolOperations } from './routes/tools/operations.js';
import { userOperations } from './routes/user/operations.js';
import { walletBackupOperations } from './routes/wallet/backup-operations.js';
import { walletHistoryOperations } from './routes/wallet/history-operations.js';
import { walletItemOperations } from './routes/wallet/item-operations.js';
import { walletOperations } from './routes/wallet/operations.js';
import { walletTradeOperations } from './routes/wallet/trade-operations.js';

export const OPERATIONS = [
  ...commonOperations,
  ...mempoolOperations,
  ...storageOperations,
  ...chainOperations,
  ...holdingOperations,
  ...miningOperations,
  ...walletOperations,
  ...walletHistoryOperations,
  ...walletItemOperations,
  ...walletTradeOperations,
  ...walletBackupOperations,
  ...userOperations,
  ...toolOperations,
  ...eventOperations,
  ...envelopeOperations,
] as const satisfies readonly Operation[];

export type KnownOperation = (typeof OPERATIONS)[number];

/** The operations of a role, or of several at one address; for `toolingEverywhere` see decision V23. */
export function operationsOf(roles: NodeRole | readonly NodeRole[], toolingEverywhere = false): readonly Operation[] {
  const all: readonly Operation[] = OPERATIONS;
  const wanted = [roles].flat();
  return all.filter(
    (operation) =>
      operation.roles.some((role) => wanted.includes(role)) || (toolingEverywhere && operation.tooling === true),
  );
}
