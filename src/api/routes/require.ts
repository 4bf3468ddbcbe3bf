/** Services that a node may lack: what is missing is said with the code that the contract has for it (decisions V18, V24). */

import { TesseraError } from '../../lib/errors.js';
import type { MempoolService } from '../../mempool/service.js';
import type { MinerService } from '../../miner/service.js';
import type { StorageService } from '../../storage/service.js';
import type { UserService } from '../../user/service.js';
import type { WalletService } from '../../wallet/service.js';

export function requireMempool(mempool: MempoolService | undefined): MempoolService {
  if (mempool) return mempool;
  throw new TesseraError('mempool_unreachable', 'The mempool node could not be reached: its service is not up.');
}

export function requireStorage(storage: StorageService | undefined): StorageService {
  if (storage) return storage;
  throw new TesseraError('storage_unreachable', 'The storage node could not be reached: its service is not up.');
}

export function requireMiner(miner: MinerService | undefined): MinerService {
  if (miner) return miner;
  throw new TesseraError('not_mining', 'This node does not mine (mining.enabled is false).');
}

export function requireWallet(wallet: WalletService | undefined): WalletService {
  if (wallet) return wallet;
  throw new TesseraError('no_wallet', 'This node does not expose a wallet (wallet.enabled is false).');
}

/** The user service of a node with a wallet. */
export function requireUser(wallet: WalletService | undefined, user: UserService | undefined): UserService {
  requireWallet(wallet);
  if (user) return user;
  throw new TesseraError('cannot_pay', 'This node cannot make payments.');
}
