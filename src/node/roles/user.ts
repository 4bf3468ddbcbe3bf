/** The role user: a wallet. */

import type { RoleDefinition } from './role.js';
import { rebuild, WalletRole } from './wallet.js';

export const user: RoleDefinition = { open: (context) => WalletRole.open(context), rebuild };
