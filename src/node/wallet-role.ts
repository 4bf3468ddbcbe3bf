/** The roles user and miner: one wallet, the user service on it, and mining beside them for a miner (decision V22). */

import { Failure } from '../lib/service.js';
import { fixedRewardAddress, Miner } from '../miner/miner.js';
import type { Progress } from '../observability/progress.js';
import { RunningUserService } from '../user/user-service.js';
import type { Wallet } from '../wallet/wallet.js';
import { openWallet } from './open-wallet.js';
import type { Role, RoleContext } from './role.js';

export async function createWalletRole(context: RoleContext): Promise<Role> {
  const { config, network } = context;
  const isMiner = config.node.role === 'miner';
  const wallet = config.wallet.enabled ? await openWallet(context) : undefined;
  const refreshing = context.progress('wallet_refresh', { task: 'refreshing the wallet', unit: 'addresses' });
  const user = wallet === undefined ? undefined : createUser(context, wallet, refreshing);
  const miner = isMiner && config.mining.enabled ? mineFor(context, wallet) : undefined;
  const failure = new Failure();
  for (const service of [user, miner]) if (service) failure.follow(service);
  return {
    type: isMiner ? 'Miner/User' : 'User',
    services: {
      ...(wallet === undefined ? {} : { wallet }),
      ...(user === undefined ? {} : { user }),
      ...(miner === undefined ? {} : { miner }),
    },
    async load() {},
    async start() {
      await user?.start();
      await miner?.start();
    },
    async stop() {
      await miner?.stop();
      await user?.stop();
      await wallet?.close();
    },
    readiness() {
      if (![...network.links].some(({ role }) => role === 'mempool')) return ['no mempool node is linked'];
      if (user === undefined || user.inStep) return [];
      return [refreshing.current ?? 'the wallet is catching up with the chain'];
    },
    failed: failure.promise,
  };
}

function createUser(context: RoleContext, wallet: Wallet, refreshing: Progress): RunningUserService {
  const { config } = context;
  const onRefresh = (done: number, total: number): void => {
    refreshing.update(done, total);
    if (done === total) refreshing.end();
  };
  return new RunningUserService(
    {
      mempools: config.peers.mempool,
      donationAmount: BigInt(config.user.donationAmount),
      donationsPerPeerPerDay: config.user.donationsPerPeerPerDay,
    },
    { ...context, wallet, logger: context.logger('user'), onRefresh },
  );
}

/** Rewards go to the configured address, or to the wallet; without either there is nothing to mine for. */
function mineFor(context: RoleContext, wallet: Wallet | undefined): Miner | undefined {
  const { config } = context;
  const fixed = config.mining.staticAddress;
  const ofWallet = wallet && { address: () => wallet.rewardAddress() };
  const rewards = fixed === undefined ? ofWallet : fixedRewardAddress(fixed);
  if (rewards === undefined) return undefined;
  return new Miner({ threads: config.mining.threads }, { ...context, rewards, logger: context.logger('miner') });
}
