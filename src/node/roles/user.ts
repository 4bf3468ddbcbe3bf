/** The role user: a wallet. */

import type { RoleDefinition } from './role.js';
import { ofWallets, WalletRole } from './wallet.js';

export const user: RoleDefinition = { open: (context) => WalletRole.open(context), ...ofWallets };
