/** Modules that most parts of the user service are given. */

import type { HasClock, HasLogger } from '../observability/modules.js';
import type { PeerNetwork } from '../peers/network.js';
import type { Wallet } from '../wallet/wallet.js';

export interface UserModules extends HasClock, HasLogger {
  readonly network: PeerNetwork;
  readonly wallet: Wallet;
}
