/** Shared parts of the roles with a wallet: the wallet and the user service. */

import { existsSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DataDir } from '../../db/data-dir.js';
import { systemClock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { Failure } from '../../lib/service.js';
import type { Miner } from '../../miner/miner.js';
import type { Progress } from '../../observability/progress.js';
import { RunningUserService } from '../../user/user-service.js';
import { startOver } from '../../wallet/start-over.js';
import type { Wallet } from '../../wallet/wallet.js';
import { missingPeer } from '../node-links.js';
import { openWallet } from '../open-wallet.js';
import type { RebuildOptions, Rebuilt, Role, RoleContext, RoleDefinition, RoleServices } from './role.js';

type MakeMiner = (context: RoleContext, wallet: Wallet | undefined) => Miner | undefined;

export class WalletRole implements Role {
  readonly services: RoleServices;
  readonly #links: RoleContext['network']['links'];
  readonly #refreshing: Progress;
  readonly #reading: Progress;
  readonly #failure = new Failure();
  readonly failed = this.#failure.promise;

  /** Opens the wallet, unless the configuration switches it off. `createMiner` makes the miner of a node that mines. */
  static async open(context: RoleContext, createMiner?: MakeMiner): Promise<WalletRole> {
    const wallet = context.config.wallet.enabled ? await openWallet(context) : undefined;
    return new WalletRole(context, wallet, createMiner?.(context, wallet));
  }

  private constructor(context: RoleContext, wallet: Wallet | undefined, miner: Miner | undefined) {
    this.#links = context.network.links;
    this.#refreshing = context.progress('wallet_refresh', { task: 'refreshing the wallet', unit: 'addresses' });
    this.#reading = context.progress('wallet_blocks', { task: 'reading the blocks that were missed', unit: 'blocks' });
    const user = wallet && createUser(context, wallet, { refreshing: this.#refreshing, reading: this.#reading });
    // Mempool nodes tell every miner and user of each block; a message that nobody takes ends its link.
    if (user === undefined) context.network.handle('block.mined', () => undefined);
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
    // After the wallet has left a node, its problem is still the reason: there is no link any more.
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
      eras: context.genesis.eras,
      donationAmount: BigInt(config.user.donationAmount),
      donationsPerPeerPerDay: config.user.donationsPerPeerPerDay,
    },
    { ...context, wallet, logger: context.logger('user'), ...shown },
  );
}

/** Parts that the roles with a wallet have in common. */
export const ofWallets: Pick<RoleDefinition, 'rebuild' | 'holdAgainst'> = {
  rebuild,
  holdAgainst: async (archive, { kv, signal }, show) =>
    (await import('../verify/wallet-against-archive.js')).holdWalletAgainst(archive, kv, show, signal),
};

/**
 * Copies the store of the wallet aside, and discards its knowledge of the chain; payments of the last `hours` are sent again. Throws
 * `data_dir_invalid` when there is no wallet, `data_dir_locked` while the node runs, `aborted`.
 */
async function rebuild({ config: { node, network }, hours, signal }: RebuildOptions): Promise<Rebuilt> {
  const { dataDir: path, role } = node;
  if (!existsSync(join(path, 'db', 'wallet'))) {
    throw new TesseraError('data_dir_invalid', `${path} holds no wallet: there is nothing to rebuild`);
  }
  const directory = await DataDir.open(path, { role, networkName: network.name });
  try {
    const aside = join(path, `before-rebuild-${new Date(systemClock.now()).toISOString().replaceAll(':', '')}`);
    await mkdir(aside, { mode: 0o700 });
    await cp(join(path, 'db'), join(aside, 'db'), { recursive: true });
    if (signal.aborted) throw new TesseraError('aborted', `nothing was changed; remove the copy in ${aside}`);
    const { coins, payments, height } = await startOver(await directory.open('wallet'), systemClock.now(), hours);
    const what = `it had seen block ${height}; ${coins} coins are asked for again and ${payments} payments looked up`;
    return {
      text: `the wallet starts over: ${what} when the node starts; its store as it was is in ${aside}`,
      report: { block_num: height, coins, payments, kept: aside },
      problems: [],
    };
  } finally {
    await directory.close();
  }
}
