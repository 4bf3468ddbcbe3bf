/** Every operation of a node: what routes, documents, client and tests are made from. */

import type { NodeRole } from '../lib/roles.js';
import { commonOperations } from './common/operations.js';
import { envelopeOperations } from './envelope/operations.js';
import { eventOperations } from './events/operations.js';
import { mempoolOperations } from './mempool/operations.js';
import { minerOperations, walletOperations } from './miner/operations.js';
import type { Operation } from './operation.js';
import { storageOperations } from './storage/operations.js';
import { toolingOperations, userOperations } from './user/operations.js';

export const OPERATIONS = [
  ...commonOperations,
  ...mempoolOperations,
  ...storageOperations,
  ...minerOperations,
  ...walletOperations,
  ...userOperations,
  ...toolingOperations,
  ...eventOperations,
  ...envelopeOperations,
] as const satisfies readonly Operation[];

export type KnownOperation = (typeof OPERATIONS)[number];
export type OperationId = KnownOperation['id'];

/** What a role serves; `toolingEverywhere` is decision V23. */
export function operationsOf(role: NodeRole, toolingEverywhere = false): readonly Operation[] {
  const all: readonly Operation[] = OPERATIONS;
  return all.filter((operation) => operation.roles.includes(role) || (toolingEverywhere && operation.tooling === true));
}
