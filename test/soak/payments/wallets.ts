/** The nodes of a run, one wallet that pays and one that is paid, and what they and the chain say at the end. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MAX_MOVEMENTS } from '../../../src/api/routes/wallet/history-schemas.js';
import { transactionToCreateJson } from '../../../src/chain/create-transaction.js';
import { transactionHash } from '../../../src/chain/hash.js';
import { parseTransaction } from '../../../src/chain/json-read.js';
import { NodeClient } from '../../../src/client/client.js';
import { type DevAccount, devAccounts } from '../../../src/config/dev-accounts.js';
import { createNetwork, type Network, type NodeProcess, until } from '../../support/processes.js';
import { heldBy } from '../ledger.js';
import { splitFor } from '../writers.js';
import type { BookedMovement, Books, Mined, WalletBook } from './books.js';
import { PASSPHRASE } from './payer.js';

/** Links notice a dead peer and are opened again quickly. */
const LINKS = { 'peers.heartbeat_ms': 1_000, 'peers.reconnect_max_ms': 200 };
/** So few that the wallet which is paid joins outputs during a run. */
const AGGREGATE_ABOVE = 100;
const CALL_TIMEOUT_MS = 20_000;

export interface WalletsOptions {
  /** Milliseconds; 0 makes a block as soon as there is a transaction. */
  readonly blockInterval: number;
}

export interface Funding {
  readonly hash: string;
  readonly amount: bigint;
}

type EndOfRun = Omit<Books, 'intents' | 'funding'>;

export class Wallets {
  readonly #network: Network;
  readonly storage: NodeProcess;
  readonly mempool: NodeProcess;
  readonly payer: NodeProcess;
  readonly payee: NodeProcess;
  readonly #miner: NodeProcess;
  /** Raw units of block 0 for which nobody here has the keys. */
  #elsewhere = 0n;

  private constructor(
    network: Network,
    nodes: Readonly<Record<'storage' | 'mempool' | 'miner' | 'payer' | 'payee', NodeProcess>>,
  ) {
    this.#network = network;
    this.storage = nodes.storage;
    this.mempool = nodes.mempool;
    this.#miner = nodes.miner;
    this.payer = nodes.payer;
    this.payee = nodes.payee;
  }

  static async start(folder: string, { blockInterval }: WalletsOptions): Promise<Wallets> {
    const file = join(folder, 'passphrase');
    await writeFile(file, `${PASSPHRASE}\n`);
    const network = await createNetwork();
    try {
      const storage = await network.add('storage', 'storage', LINKS);
      const mining = { 'mining.instant': blockInterval === 0, 'mining.block_interval_ms': blockInterval };
      const metrics = { 'metrics.enabled': true, 'metrics.port': 0 };
      const links = { ...LINKS, 'peers.storage': storage.peerAddress };
      const mempool = await network.add('mempool', 'mempool', { ...links, ...mining, ...metrics });
      const common = { ...LINKS, 'peers.mempool': mempool.peerAddress };
      const own = { ...common, 'wallet.passphrase_file': file, 'wallet.aggregate_above': AGGREGATE_ABOVE };
      const [miner, payer, payee] = await Promise.all([
        network.add('miner', 'miner', { ...common, 'wallet.genesis_seed_index': 1 }),
        network.add('payer', 'user', own),
        network.add('payee', 'user', own),
      ]);
      return new Wallets(network, { storage, mempool, miner, payer, payee });
    } catch (error) {
      await network.stopAll();
      throw error;
    }
  }

  get #all(): readonly NodeProcess[] {
    return [this.storage, this.mempool, this.#miner, this.payer, this.payee];
  }

  /** Gives the payer its coins; resolves when it has them. */
  async fund(coins: number): Promise<Funding> {
    const [giver] = devAccounts().accounts;
    if (giver === undefined) throw new Error('no accounts');
    const { address } = await clientOf(this.payer).api.createWalletAddress();
    const split = splitFor(giver, [address], coins);
    const { held, issued } = await this.#coins();
    this.#elsewhere = issued - held;
    await clientOf(this.mempool).api.createTransactions({ body: { transactions: [transactionToCreateJson(split)] } });
    await until('the coins of the payer', async () =>
      (await this.#bookOf(this.payer)).running === giver.outputAmount ? true : undefined,
    );
    return { hash: transactionHash(split), amount: giver.outputAmount };
  }

  newAddress(): Promise<string> {
    return clientOf(this.payee)
      .api.createWalletAddress()
      .then(({ address }) => address);
  }

  /** Waits, as long as there is progress, until nothing is under way and the payee has been paid `amount`. */
  async settle(amount: bigint): Promise<void> {
    for (let left = Number.POSITIVE_INFINITY; left > 0; ) {
      left = await until('one payment more to end', async () => {
        const books = await Promise.all([this.#bookOf(this.payer), this.#bookOf(this.payee)]);
        const open = books.flatMap(({ movements }) => movements.filter(isOpen)).length;
        return open < left ? open : undefined;
      });
    }
    await until('the payee to have everything', async () =>
      (await this.#bookOf(this.payee)).running === amount ? true : undefined,
    ).catch(() => undefined);
  }

  /** Storage is stopped for it, so that the chain makes no more than the block that is under way. */
  async read(): Promise<EndOfRun> {
    const mined = await this.#chain();
    const [payer, payee] = await Promise.all([this.#bookOf(this.payer), this.#bookOf(this.payee)]);
    const waiting = await this.#waiting();
    await this.storage.stop();
    return { mined, payer, payee, waiting, ...(await this.#coins()) };
  }

  log(): string {
    return this.#all.map((node) => `--- ${node.role}\n${node.log()}`).join('\n');
  }

  async end(): Promise<void> {
    await this.#network.stopAll();
  }

  async #bookOf(node: NodeProcess): Promise<WalletBook> {
    const { api } = clientOf(node);
    const movements: BookedMovement[] = [];
    for (let cursor: number | null | undefined; cursor !== null; ) {
      const query = { limit: MAX_MOVEMENTS, order: 'oldest' as const, ...(cursor === undefined ? {} : { cursor }) };
      const page = await api.getWalletMovements({ query });
      movements.push(
        ...page.movements.map(({ tx_hash: hash, kind, direction, state, block_num: height, amount, net }) => {
          return {
            hash,
            kind,
            direction,
            state,
            height: numberOrNull(height),
            amount: BigInt(amount),
            net: BigInt(net),
          };
        }),
      );
      cursor = numberOrNull(page.next);
    }
    const { running_total_tokens: running, available_total_tokens: available } = await api.getWallet({ query: {} });
    return { movements, running: BigInt(running), available: BigInt(available) };
  }

  /** Every stored block but block 0. */
  async #chain(): Promise<Mined[]> {
    const { api } = clientOf(this.storage);
    const { block: latest } = await api.getLatestBlock();
    const mined: Mined[] = [];
    for (let height = 1; height <= Number(latest.block.header.b_num); height++) {
      const { data } = await api.getBlock({ params: { num: height } });
      const keys = (data as typeof latest).block.transactions;
      if (keys.length === 0) continue;
      for (const { key, data } of await api.queryBlockchainEntries({ body: { keys } })) {
        const outputs = parseTransaction(data).outputs.map(({ scriptPublicKey: address, value }) => {
          return { address, amount: value.amount };
        });
        mined.push({ hash: key, height, outputs });
      }
    }
    return mined;
  }

  async #waiting(): Promise<number> {
    const answer = await fetch(`${this.mempool.metricsUrl}/metrics`);
    const line = (await answer.text()).split('\n').find((one) => /^tessera_mempool_transactions[ {]/.test(one));
    if (line === undefined) throw new Error('the mempool node does not say how many transactions wait');
    return Number(line.split(' ').at(-1));
  }

  /** What all keys hold, and what was issued. */
  async #coins(): Promise<{ readonly held: bigint; readonly issued: bigint }> {
    const mempool = clientOf(this.mempool);
    const issuedNow = async (): Promise<bigint> => BigInt((await mempool.api.getSupply()).issued);
    return until('a moment between two blocks', async () => {
      const issued = await issuedNow();
      const keys = [this.payer, this.payee, this.#miner].map(async (node) =>
        Object.keys((await clientOf(node).api.exportKeypairs()).addresses),
      );
      const accounts = devAccounts().accounts.map(({ address }: DevAccount) => address);
      const held = await heldBy(mempool, [...accounts, ...(await Promise.all(keys)).flat()]);
      return issued === (await issuedNow()) ? { held: held + this.#elsewhere, issued } : undefined;
    });
  }
}

function isOpen({ state }: BookedMovement): boolean {
  return state === 'queued' || state === 'sent';
}

function numberOrNull(value: number | bigint | null): number | null {
  return value === null ? null : Number(value);
}

function clientOf({ apiUrl }: NodeProcess): NodeClient {
  return new NodeClient({ url: apiUrl, timeoutMs: CALL_TIMEOUT_MS });
}
