/**
 * Four real processes on disk under load, and the judgement after each fault: all nodes are ready again by themselves, all
 * that was acknowledged is there exactly once, no block has changed, and coins and items add up.
 */

import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { NodeClient } from '../../src/client/client.js';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { errorMessage } from '../../src/lib/errors.js';
import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';
import { holdingsOf } from '../soak/ledger.js';
import { Load, lanesOf, SigningWriter, splitFor } from '../soak/writers.js';
import {
  createNetwork,
  type Environment,
  type Network,
  type NodeProcess,
  type Nodes,
  until,
} from '../support/processes.js';
import { ChainRecord, readChain, readSample } from './chain-record.js';
import { Effects } from './effects.js';
import { FaultyMachines } from './faulty-machines.js';
import { PRODUCER_KEYS } from './producers.js';
import { AddressWriter, ItemWriter } from './writers.js';

/** Links notice a dead peer and are opened again quickly, so that a fault is over quickly. Two keys may sign blocks. */
const LINKS = {
  'peers.heartbeat_ms': 500,
  'peers.reconnect_max_ms': 200,
  'network.producer_keys': PRODUCER_KEYS.join(','),
};
/** So small that it is soon full: what it takes does not look like growth, and blocks are read from disk. */
const CACHE_BYTES = 2 * 1024 * 1024;
/** So small that segments are closed all the time, under load and while blocks are fetched. */
const SEGMENT_BYTES = 64 * 1024;
const CALL_TIMEOUT_MS = 10_000;
/** Milliseconds between two looks. */
const LOOK_EVERY = 50;
/** Unspent outputs from which on the mempool node keeps an image: all the time. A start reads it, and new ones are made under load. */
const IMAGE_OUTPUTS = 100;
/** Coins of the signing client from each account, and coins that each wallet gets from one account. */
const LANES = 20;
const WALLET_COINS = 60;
const RATE = 25;

export interface FourNodesOptions {
  /** Given, the nodes are on disks and clocks that can be made to fail (`faulty`), by this seed. */
  readonly seed?: number | undefined;
  /** Arguments of Node.js for each node. */
  readonly nodeArguments?: readonly string[];
}

export class FourNodes {
  readonly nodes: Nodes;
  /**
   * A second storage node, which dials the first and the mempool node; a second user node; and a mempool node that knows
   * nobody. They are not running; `freshGuest` makes them as new.
   */
  readonly guestStorage: NodeProcess;
  readonly guestUser: NodeProcess;
  readonly guestMempool: NodeProcess;
  readonly effects = new Effects();
  readonly record = new ChainRecord();
  readonly #network: Network;
  readonly #machines: FaultyMachines | undefined;
  #load: Load | undefined;
  /** A client alone, whose payments leave the state as large as it is. */
  #payments: Load | undefined;

  private constructor(
    network: Network,
    nodes: Nodes,
    guests: Pick<Nodes, 'storage' | 'user' | 'mempool'>,
    machines?: FaultyMachines,
  ) {
    this.#network = network;
    this.#machines = machines;
    this.nodes = nodes;
    this.guestStorage = guests.storage;
    this.guestUser = guests.user;
    this.guestMempool = guests.mempool;
  }

  static async start({ seed, nodeArguments = [] }: FourNodesOptions = {}): Promise<FourNodes> {
    const machines = seed === undefined ? undefined : await FaultyMachines.create();
    const environment = (name: string, folder: string): Environment =>
      machines?.environment(name, folder, seed ?? 0) ?? {};
    const network = await createNetwork({ logLines: 2_000, environment, nodeArguments });
    try {
      const nodes = await network.addAll(LINKS, {
        storage: { 'storage.cache_bytes': CACHE_BYTES, 'storage.segment_bytes': SEGMENT_BYTES },
        mempool: { 'mempool.image_outputs': IMAGE_OUTPUTS },
      });
      const { storage, mempool } = nodes;
      const common = { ...LINKS, 'peers.mempool': mempool.peerAddress };
      const guests = {
        storage: network.make('guest-storage', 'storage', {
          ...common,
          'peers.storage': storage.peerAddress,
          'storage.segment_bytes': SEGMENT_BYTES,
        }),
        // A seed that the genesis file does not have: a wallet without funds and with a blank passphrase.
        user: network.make('guest-user', 'user', { ...common, 'api.auth': 'keys', 'wallet.genesis_seed_index': 9 }),
        mempool: network.make('guest-mempool', 'mempool', LINKS),
      };
      const four = new FourNodes(network, nodes, guests, machines);
      await four.#prepare();
      return four;
    } catch (error) {
      await network.stopAll();
      await machines?.remove();
      throw error;
    }
  }

  /** Everything ends and is removed. */
  async end(): Promise<void> {
    await this.#pause();
    await this.#network.stopAll();
    await this.#machines?.remove();
  }

  /** The disks and clocks, when there are such. */
  get faulty(): FaultyMachines {
    if (this.#machines === undefined) throw new Error('these nodes are on sound machines');
    return this.#machines;
  }

  /** Whether `faulty` is there. */
  get canFail(): boolean {
    return this.#machines !== undefined;
  }

  get guests(): readonly NodeProcess[] {
    return [this.guestStorage, this.guestUser, this.guestMempool];
  }

  client(role: NodeRole): NodeClient {
    return new NodeClient({ url: this.nodes[role].apiUrl, timeoutMs: CALL_TIMEOUT_MS });
  }

  /** From now on transactions, addresses and items are made without a pause, until the judgement. */
  write(): void {
    this.#load?.start(RATE);
  }

  /** From now on a client pays, so many times a second, until the judgement; called again, at another rate. */
  pay(rate: number): void {
    this.#payments?.start(rate);
  }

  /** Of the last stored block. */
  async height(): Promise<number> {
    const { block } = await this.client('storage').api.getLatestBlock();
    return Number(block.block.header.b_num);
  }

  /** A guest with an empty folder; it is not running. */
  async freshGuest(guest: NodeProcess): Promise<NodeProcess> {
    await guest.kill();
    await rm(guest.folder, { recursive: true, force: true });
    return guest;
  }

  /** Copies of the folders as kill -9 of all nodes leaves them, at `path`. */
  async copyKilled(path: string): Promise<Readonly<Record<NodeRole, string>>> {
    await Promise.all(NODE_ROLES.map((role) => this.nodes[role].kill()));
    const copies = NODE_ROLES.map(async (role) => {
      await cp(this.nodes[role].folder, join(path, role), { recursive: true });
      return [role, join(path, role)] as const;
    });
    const folders = Object.fromEntries(await Promise.all(copies)) as Record<NodeRole, string>;
    for (const role of NODE_ROLES) await this.nodes[role].start();
    return folders;
  }

  /** What is not as it must be; all nodes have been started again by whoever ended them. */
  async judge(): Promise<string[]> {
    const faults: string[] = [];
    try {
      await this.#pause();
      await this.#allReady();
      await this.#allConfirmed(faults);
      faults.push(...(await this.#holdings()));
    } catch (error) {
      faults.push(
        `${errorMessage(error)}${error instanceof Error && error.cause ? `: ${errorMessage(error.cause)}` : ''}`,
      );
    }
    return faults;
  }

  /** The blocks that are new since the last look. */
  readNew(): Promise<string[]> {
    return readChain(this.record, this.client('storage'));
  }

  /**
   * What a node says of a sample of the blocks that it has shown; it may refuse by name (rule P3). Only storage has blocks.
   */
  async readKnown(role: NodeRole): Promise<string[]> {
    return role === 'storage' ? readSample(this.record, this.client('storage')) : [];
  }

  /** Every stored block once more. */
  readAll(): Promise<string[]> {
    return readChain(this.record, this.client('storage'), true);
  }

  async #pause(): Promise<void> {
    await this.#load?.stop();
    await this.#payments?.stop();
  }

  async #allReady(): Promise<void> {
    for (const role of NODE_ROLES) {
      await until(`the ${role} node to be ready`, async () => {
        const answer = await fetch(`${this.nodes[role].apiUrl}/readyz`, {
          signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
        });
        if (answer.status === 200) return true;
        throw new Error(await answer.text());
      });
    }
  }

  /** Reads new blocks until they hold everything acknowledged. */
  async #allConfirmed(faults: string[]): Promise<void> {
    let missing: readonly string[] = [];
    try {
      await until('everything acknowledged to be in a block', async () => {
        faults.push(...(await readChain(this.record, this.client('storage'))));
        missing = this.record.missing(this.effects.hashes);
        if (missing.length === 0 || faults.length > 0) return true;
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
        return undefined;
      });
    } catch {
      faults.push(`${missing.length} acknowledged transactions are in no block, ${await this.#fate(missing[0] ?? '')}`);
    }
  }

  async #fate(hash: string): Promise<string> {
    const answer = await this.client('mempool').api.queryTransactionStatus({ body: { hashes: [hash] } });
    return `${hash} is ${JSON.stringify(answer[hash])}`;
  }

  /** Looks at the wallets and balances at a moment between two blocks, in which no wallet makes an address for its change. */
  async #holdings(): Promise<string[]> {
    const mempool = this.client('mempool');
    const issuedNow = async (): Promise<bigint> => BigInt((await mempool.api.getSupply()).issued);
    const walletsNow = (): Promise<[role: string, addresses: Set<string>][]> =>
      Promise.all(
        (['user', 'miner'] as const).map(async (role) => {
          const { addresses } = await this.client(role).api.exportKeypairs();
          return [role, new Set(Object.keys(addresses))];
        }),
      );
    const sizes = (sets: [string, Set<string>][]): string => sets.map(([, { size }]) => size).join();
    return until('a moment between two blocks', async () => {
      const issued = await issuedNow();
      const wallets = await walletsNow();
      const own = devAccounts().accounts.map(({ address }) => address);
      const all = [...own, ...wallets.flatMap(([, addresses]) => [...addresses])];
      const { tokens, items } = await holdingsOf(mempool, all);
      const faults = this.effects.broken({ addresses: new Map(wallets), held: tokens, issued, items });
      const isSame = sizes(wallets) === sizes(await walletsNow()) && issued === (await issuedNow());
      return isSame ? faults : undefined;
    });
  }

  /** Gives the wallets and the signing client coins enough. */
  async #prepare(): Promise<void> {
    await until('block 0', () => this.height());
    const [mempool, miner, user] = [this.client('mempool'), this.client('miner'), this.client('user')];
    const { address: minersAddress } = await miner.api.createWalletAddress();
    const { address: usersAddress } = await user.api.createWalletAddress();
    const [giver, collector, ...owners] = devAccounts().accounts;
    if (giver === undefined || collector === undefined) throw new Error('no accounts');
    const forWallets = splitFor(giver, [minersAddress, usersAddress], WALLET_COINS);
    const splits = owners.map((owner) => ({ owner, split: splitFor(owner, [owner.address], LANES) }));
    const transactions = [forWallets, ...splits.map(({ split }) => split)].map(transactionToCreateJson);
    const answer = await mempool.api.createTransactions({ body: { transactions } });
    for (const hash of Object.keys(answer.transactions ?? {})) this.effects.acknowledge({ hash, by: 'client', at: 0 });
    const faults = await this.judge();
    if (faults.length > 0) throw new Error(`the network is not sound before the first fault: ${faults.join('; ')}`);
    const lanes = splits.flatMap(({ owner, split }) => lanesOf(owner, split));
    const client = new SigningWriter(mempool, lanes);
    this.#payments = new Load(this.effects, [client]);
    this.#load = new Load(this.effects, [
      client,
      new AddressWriter('user', user, { name: 'miner', client: miner }, this.effects),
      client,
      new AddressWriter('miner', miner, { name: 'user', client: user }, this.effects),
      new ItemWriter(mempool, collector, this.effects),
    ]);
  }
}
