/**
 * The user role: payments, donations and item creation over the wallet and the links to other nodes. It follows the chain,
 * sends what the wallet has queued, and pays and is paid by peers. The miner role runs the same service (decision V22).
 */

import type { Clock } from '../lib/clock.js';
import type { Logger } from '../lib/logger.js';
import type { Signal } from '../lib/signal.js';
import { requireSocketAddress } from '../lib/socket-address.js';
import type { PeerNetwork } from '../peers/network.js';
import type { Wallet } from '../wallet/wallet.js';
import { ChainFollower, type MinedBlock } from './chain-follower.js';
import { type AnnouncedPayment, createPeerPayments } from './peer-payments.js';
import { Sender } from './sender.js';
import type { UserService } from './service.js';

/** Donations of a day to all peers together, unless the options say otherwise. */
const DEFAULT_DONATIONS_PER_DAY = 100;

export interface UserServiceOptions {
  /** Configured mempool nodes, `host:port`, as given to the network. Nobody else's blocks are believed. */
  readonly mempools: readonly string[];
  /** Raw units paid to a peer that asks for a donation; 0 refuses. */
  readonly donationAmount: bigint;
  readonly donationsPerPeerPerDay: number;
  readonly donationsPerDay?: number;
}

export interface UserServiceModules {
  readonly wallet: Wallet;
  readonly network: PeerNetwork;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told how many of the addresses to refresh are done. */
  readonly onRefresh?: ((done: number, total: number) => void) | undefined;
}

export interface RunningUserService extends UserService {
  /** Call once, before or after the network starts. */
  start(): void;
  /** Sends nothing more; what is queued goes out after the next start. Stop it before the network and the wallet. */
  stop(): Promise<void>;
  /** True when the wallet is in step with the chain over a link to a mempool node. */
  readonly inStep: boolean;
  /** A peer says that it has paid to this wallet. */
  readonly announced: Signal<AnnouncedPayment>;
  readonly blockMined: Signal<MinedBlock>;
}

/** Registers its message handlers at once: create it before the network starts. */
export function createUserService(options: UserServiceOptions, modules: UserServiceModules): RunningUserService {
  const { wallet } = modules;
  const follower = new ChainFollower({ mempools: options.mempools }, modules);
  const peers = createPeerPayments(
    { ...options, donationsPerDay: options.donationsPerDay ?? DEFAULT_DONATIONS_PER_DAY },
    modules,
  );
  const sender = new Sender({
    ...modules,
    link: () => follower.link,
    admitted: (transaction) => peers.tell(transaction),
    returned(addresses) {
      if (addresses.length > 0 && follower.link !== undefined) follower.requestRefresh(addresses);
    },
    contested: (hash) => follower.investigate(hash),
  });
  let offReady: (() => void) | undefined;

  return {
    async payAddress({ passphrase, ...order }) {
      await wallet.verifyPassphrase(passphrase);
      const { hash } = await wallet.pay(order);
      return { txHash: hash };
    },
    async payPeer({ passphrase, ...order }) {
      // The passphrase comes first for both kinds of payment (docs/clients.md#payments).
      await wallet.verifyPassphrase(passphrase);
      requireSocketAddress(order.address);
      await peers.payPeer(order);
    },
    requestDonation: (peer) => peers.requestDonation(peer),
    async createItem(request) {
      const { hash } = await wallet.createItem(request);
      return { txHash: hash };
    },
    start() {
      wallet.setRefresher(async (addresses) => follower.requestRefresh(addresses));
      offReady = follower.ready.on(() => sender.wake());
      follower.start();
      sender.start();
    },
    async stop() {
      wallet.setRefresher(null);
      offReady?.();
      peers.stop();
      await sender.stop();
      await follower.stop();
    },
    get inStep() {
      return follower.link !== undefined;
    },
    announced: peers.announced,
    blockMined: follower.blockMined,
  };
}
