/** Networks of user nodes and a fake mempool node over links in memory. */

import type { Producers } from '../../src/chain/certificate.js';
import { generateKeyPair } from '../../src/crypto/ed25519.js';
import { type Clock, systemClock } from '../../src/lib/clock.js';
import { silentLogger } from '../../src/lib/logger.js';
import { systemRandom } from '../../src/lib/random.js';
import type { NodeRole } from '../../src/lib/roles.js';
import type { Signal } from '../../src/lib/signal.js';
import type { Signer } from '../../src/mempool/blocks/signer.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { LinkNetwork } from '../../src/peers/link-network.js';
import type { PeerNetwork } from '../../src/peers/network.js';
import { RunningUserService } from '../../src/user/user-service.js';
import type { OwnTransaction } from '../../src/wallet/payments/outgoing.js';
import type { Wallet } from '../../src/wallet/wallet.js';
import { createFakeMempool, type FakeMempool } from './fake-mempool.js';
import { createMemoryHub, type MemoryHub } from './memory-transport.js';
import { SETTINGS } from './peers.js';
import {
  NOBODY,
  newWallet,
  type OpenWallet,
  type OpenWalletOptions,
  openWallet,
  PASSPHRASE,
  tokens,
} from './wallet-fixtures.js';

export const MEMPOOL = '127.0.0.1:12300';

export interface TestUser {
  readonly wallet: Wallet;
  readonly user: RunningUserService;
  readonly network: PeerNetwork;
  readonly address: string;
  readonly folder: string;
  /** How many refreshes of addresses have ended. */
  refreshes(): number;
  stop(): Promise<void>;
}

export interface TestUserOptions extends OpenWalletOptions {
  readonly folder?: string;
  readonly role?: NodeRole;
  readonly donationAmount?: bigint;
  readonly donationsPerDay?: number;
  readonly clock?: Clock;
  readonly mempools?: readonly string[];
  readonly storages?: readonly string[];
}

export interface TestNet {
  readonly hub: MemoryHub;
  readonly mempool: FakeMempool;
  readonly mempoolNetwork: PeerNetwork;
  user(options?: TestUserOptions): Promise<TestUser>;
  /** A bare node of a role, for misbehaving peers. */
  stranger(role: NodeRole, listenPort?: number): PeerNetwork;
  stop(): Promise<void>;
}

/** A network whose blocks are signed. */
export interface TestNetOptions {
  readonly signer?: Signer;
  readonly producers?: Producers;
}

/** With `answer`, the handlers that it registers take the place of the fake mempool. */
export async function createTestNet(
  answer?: (network: PeerNetwork) => void,
  { signer, producers }: TestNetOptions = {},
): Promise<TestNet> {
  const hub = createMemoryHub();
  const stops: (() => Promise<void>)[] = [];

  function network(role: NodeRole, port: number, peers: readonly string[], clock = systemClock): PeerNetwork {
    return new LinkNetwork(
      {
        network: 'test',
        role,
        nodeKey: generateKeyPair(systemRandom),
        listen: { host: '127.0.0.1', port },
        peers,
        rules: {},
        limits: SETTINGS,
      },
      { transport: hub.transport(), clock, random: systemRandom, logger: silentLogger, metrics: noMetrics },
    );
  }

  const mempoolNetwork = network('mempool', 12_300, []);
  const nobody = { handle: () => undefined, links: new Set() } as unknown as PeerNetwork;
  const mempool = createFakeMempool(answer === undefined ? mempoolNetwork : nobody, signer);
  answer?.(mempoolNetwork);
  await mempoolNetwork.start();
  stops.push(() => mempoolNetwork.stop());

  return {
    hub,
    mempool,
    mempoolNetwork,
    async user(options = {}) {
      const {
        folder,
        role = 'user',
        donationAmount = 0n,
        donationsPerDay,
        mempools = [MEMPOOL],
        storages = [],
        ...own
      } = options;
      const rest = { producers, ...own };
      const opened: OpenWallet = folder === undefined ? await newWallet(rest) : await openWallet(folder, rest);
      const links = network(role, 0, [...mempools, ...storages]);
      const limits = donationsPerDay === undefined ? {} : { donationsPerDay };
      let refreshes = 0;
      const onRefresh = (done: number, total: number): void => {
        if (done === total && total > 0) refreshes += 1;
      };
      const user = new RunningUserService(
        { mempools, storages, producers: rest.producers, donationAmount, donationsPerPeerPerDay: 2, ...limits },
        { wallet: opened.wallet, network: links, clock: options.clock ?? systemClock, logger: silentLogger, onRefresh },
      );
      await user.start();
      await links.start();
      let stopped = false;
      const stop = async (): Promise<void> => {
        if (stopped) return;
        stopped = true;
        await user.stop();
        await links.stop();
        await opened.close();
      };
      stops.unshift(stop);
      const { wallet, folder: at } = opened;
      return { wallet, user, network: links, address: links.address, folder: at, refreshes: () => refreshes, stop };
    },
    stranger(role, listenPort = 0) {
      const links = network(role, listenPort, []);
      stops.unshift(() => links.stop());
      return links;
    },
    async stop() {
      for (const stop of stops) await stop();
    },
  };
}

/** A user in step with the chain whose wallet has these coins. */
export async function richUser(
  net: TestNet,
  amounts: readonly bigint[],
  options: TestUserOptions = {},
): Promise<TestUser> {
  const node = await net.user(options);
  await until(() => node.user.inStep);
  for (const amount of amounts) net.mempool.grant([tokens(await node.wallet.newAddress(), amount)]);
  await node.wallet.refresh({ all: true });
  const total = amounts.reduce((sum, amount) => sum + amount, 0n);
  await until(() => node.wallet.coins.totals().available === total);
  return node;
}

/** A payment to ask a user for. */
export const order = (amount: bigint, address = NOBODY) => ({ address, amount, locktime: 0n, passphrase: PASSPHRASE });

/** The state of an own transaction, on disk too. */
export async function stateOf({ wallet }: TestUser, hash: string): Promise<OwnTransaction['state'] | undefined> {
  return (await wallet.outgoing.latest()).find((entry) => entry.hash === hash)?.state;
}

/** Resolves when the condition holds; the test's own timeout is the limit. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 2));
}

export function next<T>(signal: Signal<T>): Promise<T> {
  return new Promise((resolve) => {
    const off = signal.on((value) => {
      off();
      resolve(value);
    });
  });
}
