/** The role miner: a wallet, and mining (decision V22). */

import { fixedRewardAddress, Miner } from '../../miner/miner.js';
import { ORIGINAL_NONCE_LENGTH } from '../../miner/nonce-search.js';
import type { Wallet } from '../../wallet/wallet.js';
import type { RoleContext, RoleDefinition } from './role.js';
import { ofWallets, WalletRole } from './wallet.js';

export const miner: RoleDefinition = { open: (context) => WalletRole.open(context, createMiner), ...ofWallets };

/** The miner; its rewards go to the configured address, else to the wallet. Without either, the node does not mine. */
function createMiner(context: RoleContext, wallet: Wallet | undefined): Miner | undefined {
  const { mining } = context.config;
  const fixed = mining.staticAddress;
  const ofWallet = wallet && { address: () => wallet.chain.rewardAddress() };
  const rewards = fixed === undefined ? ofWallet : fixedRewardAddress(fixed);
  if (rewards === undefined || !mining.enabled) return undefined;
  const tip =
    wallet &&
    (() => ({ height: wallet.chain.height, hash: wallet.chain.tipHash, isCertified: wallet.chain.isTipCertified }));
  const modules = { ...context, rewards, tip, logger: context.logger('miner') };
  const nonceLength = context.genesis.blockRules.originalOrder && ORIGINAL_NONCE_LENGTH;
  return new Miner({ threads: mining.threads, producers: context.producers, nonceLength }, modules);
}
