/** Every operation of a node; routes, documents, client and tests are made from them. */

import { NODE_ROLES, type NodeRole } from '../lib/roles.js';
import type { Operation } from './operation.js';
import { ROLE_APIS, rolesOf } from './roles.js';
import { commonOperations } from './routes/common/operations.js';
import { envelopeOperations } from './routes/envelope/operations.js';
import { olderWalletOperations } from './routes/envelope/wallet-operations.js';
import { eventOperations } from './routes/events/operations.js';

type Groups =
  | typeof commonOperations
  | (typeof ROLE_APIS)[NodeRole]['operations']
  | typeof eventOperations
  | typeof envelopeOperations
  | typeof olderWalletOperations;
export type KnownOperation = Groups[number];

/** Every operation once, although several roles may serve it. */
export const OPERATIONS: readonly KnownOperation[] = [
  ...new Set([
    ...commonOperations,
    ...NODE_ROLES.flatMap((role): readonly KnownOperation[] => ROLE_APIS[role].operations),
    ...eventOperations,
    ...envelopeOperations,
    ...olderWalletOperations,
  ]),
];

/** The operations of a role, or of several at one address; for `toolingEverywhere` see decision V23. */
export function operationsOf(roles: NodeRole | readonly NodeRole[], toolingEverywhere = false): readonly Operation[] {
  const all: readonly Operation[] = OPERATIONS;
  const wanted = [roles].flat();
  return all.filter(
    (operation) =>
      rolesOf(operation).some((role) => wanted.includes(role)) || (toolingEverywhere && operation.tooling === true),
  );
}
