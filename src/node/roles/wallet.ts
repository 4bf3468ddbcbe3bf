/** The roles user and miner: a wallet and the user service, and mining for a miner (decision V22). */

import { Failure } from '../../lib/service.js';
import { fixedRewardAddress, Miner } from '../../miner/miner.js';
import type { Progress } from '../../observability/progress.js';
import { RunningUserService } from '../../user/user-service.js';
import type { Wallet } from '../../wallet/wallet.js';
import { missingPeer } from '../node-links.js';
import { openWallet } from '../open-wallet.js';
import type { Role, RoleContext, RoleServices } from './role.js';

export class WalletRole implements Role {
  readonly type: Role['type'];
  readonly services: RoleServices;
  readonly #links: RoleContext['network']['links'];
  readonly #refreshing: Progress;
  readonly #reading: Progress;
  readonly #failure = new Failure();
  readonly failed = this.#failure.promise;

  /** Opens the wallet, unless the configuration switches it off. */
  static async open(context: RoleContext): Promise<WalletRole> {
    return new WalletRole(context, context.config.wallet.enabled ? await openWallet(context) : undefined);
  }

  private constructor(context: RoleContext, wallet: Wallet | undefined) {
    const { config, network } = context;
    const isMiner = config.node.role === 'miner';
    this.type = isMiner ? 'Miner/User' : 'User';
    this.#links = network.links;
    this.#refreshing = context.progress('wallet_refresh', { task: 'refreshing the wallet', unit: 'addresses' });
    this.#reading = context.progress('wallet_blocks', { task: 'reading the blocks that were missed', unit: 'blocks' });
    const user = wallet && createUser(context, wallet, { refreshing: this.#refreshing, reading: this.#reading });
    const miner = isMiner && config.mining.enabled ? createMiner(context, wallet) : undefined;
    for (const service of [user, miner]) if (service) this.#failure.follow(service);
    this.services = { ...(wallet && { wallet }), ...(user && { user }), ...(miner && { miner }) };
  }

  async load(): Promise<void> {}

  async start(): Promise<void> {
    await this.services.user?.start();
    await this.services.miner?.start();
  }

  async stop(): Promise<void> {
    await this.services.miner?.stop();
    await this.services.user?.stop();
    await this.services.wallet?.close();
  }

  readiness(): readonly string[] {
    const { user } = this.services;
    const missing = missingPeer(
      'mempool node',
      [...this.#links].filter(({ role }) => role === 'mempool'),
    );
    // A node that the wallet has left has no link any more: what was wrong with it is still the reason.
    const problem = user?.problem ?? null;
    if (missing !== null) return [missing, ...(problem === null ? [] : [problem])];
    if (user === undefined || user.inStep) return [];
    const progress = this.#reading.current ?? this.#refreshing.current;
    return [problem ?? progress ?? 'the wallet is catching up with the chain'];
  }
}

function createUser(
  context: RoleContext,
  wallet: Wallet,
  { refreshing, reading }: { readonly refreshing: Progress; readonly reading: Progress },
): RunningUserService {
  const { config } = context;
  const shownBy =
    (progress: Progress) =>
    (done: number, total: number): void => {
      progress.update(done, total);
      if (done === total) progress.end();
    };
  const shown = { onRefresh: shownBy(refreshing), onMissed: shownBy(reading) };
  return new RunningUserService(
    {
      mempools: config.peers.mempool,
      storages: config.peers.storage,
      producers: context.producers,
      donationAmount: BigInt(config.user.donationAmount),
      donationsPerPeerPerDay: config.user.donationsPerPeerPerDay,
    },
    { ...context, wallet, logger: context.logger('user'), ...shown },
  );
}

/** Rewards go to the configured address, else to the wallet. Without either, the node does not mine. */
function createMiner(context: RoleContext, wallet: Wallet | undefined): Miner | undefined {
  const { config } = context;
  const fixed = config.mining.staticAddress;
  const ofWallet = wallet && { address: () => wallet.rewardAddress() };
  const rewards = fixed === undefined ? ofWallet : fixedRewardAddress(fixed);
  if (rewards === undefined) return undefined;
  const tip = wallet && (() => ({ height: wallet.height, hash: wallet.tipHash, isCertified: wallet.isTipCertified }));
  const modules = { ...context, rewards, tip, logger: context.logger('miner') };
  return new Miner({ threads: config.mining.threads, producers: context.producers }, modules);
}
