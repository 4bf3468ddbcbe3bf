/** Definitions of the roles: how the nodes of each are made. */

import type { NodeRole } from '../../lib/roles.js';
import { mempool } from './mempool.js';
import { miner } from './miner.js';
import type { RoleDefinition } from './role.js';
import { storage } from './storage.js';
import { user } from './user.js';

export const DEFINITIONS: Readonly<Record<NodeRole, RoleDefinition>> = { mempool, storage, miner, user };
