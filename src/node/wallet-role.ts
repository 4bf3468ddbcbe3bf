/** The roles user and miner: one wallet, the user service on it, and mining beside them for a miner (decision V22). */

import { join } from 'node:path';
import { createMiner, fixedRewardAddress, type Miner } from '../miner/miner.js';
import { createUserService, type RunningUserService } from '../user/user-service.js';
import { createWallet, type Wallet } from '../wallet/wallet.js';
import { failureOf, type RoleContext, type RunningRole } from './role.js';

const KEYSTORE_FILE = 'keystore.json';

export async function createWalletRole(context: RoleContext): Promise<RunningRole> {
  const { config, network } = context;
  const isMiner = config.node.role === 'miner';
  const wallet = config.wallet.enabled ? await openWallet(context) : undefined;
  const user = wallet === undefined ? undefined : createUser(context, wallet);
  const miner = isMiner && config.mining.enabled ? mineFor(context, wallet) : undefined;
  return {
    type: isMiner ? 'Miner/User' : 'User',
    services: {
      ...(wallet === undefined ? {} : { wallet }),
      ...(user === undefined ? {} : { user }),
      ...(miner === undefined ? {} : { miner }),
    },
    async load() {},
    async start() {
      user?.start();
      await miner?.start();
    },
    async stop() {
      await miner?.stop();
      await user?.stop();
      await wallet?.close();
    },
    readiness() {
      if (![...network.links].some(({ role }) => role === 'mempool')) return ['no mempool node is linked'];
      return user === undefined || user.inStep ? [] : ['the wallet is catching up with the chain'];
    },
    failed: failureOf(() => undefined),
  };
}

async function openWallet(context: RoleContext): Promise<Wallet> {
  const { config, dataDir, genesis } = context;
  const seedIndex = config.wallet.genesisSeedIndex;
  return createWallet(
    {
      keystoreFile: join(dataDir.path, KEYSTORE_FILE),
      passphrase: config.wallet.passphrase,
      // Only a network whose keys are public gives its wallets their first funds.
      allowBlankPassphrase: seedIndex !== undefined,
      aggregateAbove: config.wallet.aggregateAbove,
      ...(seedIndex === undefined ? {} : { seeds: genesis.walletSeeds[seedIndex] ?? [] }),
    },
    { ...context, kv: await dataDir.open('wallet'), logger: context.logger('wallet') },
  );
}

function createUser(context: RoleContext, wallet: Wallet): RunningUserService {
  const { config } = context;
  return createUserService(
    {
      mempools: config.peers.mempool,
      donationAmount: BigInt(config.user.donationAmount),
      donationsPerPeerPerDay: config.user.donationsPerPeerPerDay,
    },
    { ...context, wallet, logger: context.logger('user') },
  );
}

/** Rewards go to the configured address, or to the wallet; without either there is nothing to mine for. */
function mineFor(context: RoleContext, wallet: Wallet | undefined): Miner | undefined {
  const { config } = context;
  const fixed = config.mining.staticAddress;
  const rewards = fixed === undefined ? wallet?.rewards : fixedRewardAddress(fixed);
  if (rewards === undefined) return undefined;
  return createMiner({ threads: config.mining.threads }, { ...context, rewards, logger: context.logger('miner') });
}
