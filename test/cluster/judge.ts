/** What is there when a fault is over and everything has come to rest, and what is wrong with it. */

import { createHash } from 'node:crypto';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { errorMessage } from '../../src/lib/errors.js';
import { stringifyExact } from '../../src/lib/json.js';
import { ChainRecord, readChain } from '../reliability/chain-record.js';
import { until } from '../support/processes.js';
import { violationsOf } from './check-history.js';
import type { Clients } from './clients.js';
import { type Cluster, PATIENCE_MS, type Placed, publicClientOf } from './cluster.js';
import type { End, EndState } from './history.js';

const CALL_TIMEOUT_MS = 10_000;
/** Statuses in one question. */
const BATCH = 500;
/** Lines of the log of a node that has ended by itself. */
const LAST_LINES = 5;

export class Judge {
  readonly #cluster: Cluster;
  readonly #clients: Clients;
  /** What each storage node has shown. */
  readonly #records: ReadonlyMap<Placed, ChainRecord>;
  /** Requests whose fate was open at the last look: their transactions. */
  #open = new Set<string>();
  #seen = 0;

  constructor(cluster: Cluster, clients: Clients) {
    this.#cluster = cluster;
    this.#clients = clients;
    this.#records = new Map(cluster.storages.map((storage) => [storage, new ChainRecord()]));
  }

  get blocks(): number {
    return Math.max(...[...this.#records.values()].map(({ next }) => next));
  }

  isMined(hash: string): boolean {
    return [...this.#records.values()].some((record) => record.heightOf(hash) !== undefined);
  }

  /** Waits until all nodes are ready and at rest, and holds the history against what they have; nobody posts meanwhile. */
  async judge(): Promise<string[]> {
    const faults: string[] = [];
    let states: readonly EndState[] = [];
    try {
      await this.allReady();
      await this.#allStored(faults);
      states = await this.#atRest();
    } catch (error) {
      faults.push(described(error));
    }
    const chains = new Map([...this.#records].map(([{ name }, { blocks }]) => [name, blocks]));
    return [...faults, ...this.#violations({ chains, states })];
  }

  /** Reads every block of every storage node once more. Throws when one has changed. */
  async readAll(): Promise<string> {
    const faults: string[] = [];
    for (const [storage, record] of this.#records) {
      const wrong = await readChain(record, publicClientOf(storage), true);
      faults.push(...wrong.map((fault) => `${storage.name}: ${fault}`));
    }
    if (faults.length > 0) throw new Error(faults.join('; '));
    return `${this.blocks} blocks`;
  }

  /** Resolves when every node is. Throws with the end of the log of a node that has ended by itself. */
  async allReady(): Promise<void> {
    for (const placed of this.#cluster.nodes) await whenReady(placed);
  }

  #violations(end: End): string[] {
    const { operations } = this.#clients.history;
    return violationsOf(operations, end).map(({ rule, detail }) => `${rule}: ${detail}`);
  }

  /** Reads new blocks until both storage nodes have everything that was accepted. */
  async #allStored(faults: string[]): Promise<void> {
    const accepted = this.#clients.history.operations.flatMap((one) =>
      one.kind === 'post' && one.answer === 'accepted' ? [one.hash] : [],
    );
    for (const [storage, record] of this.#records) {
      let missing: readonly string[] = [];
      await until(
        `everything accepted to be in a block of ${storage.name}`,
        async () => {
          faults.push(...(await readChain(record, publicClientOf(storage))));
          missing = record.missing(accepted);
          return missing.length === 0 || faults.length > 0 ? true : undefined;
        },
        PATIENCE_MS,
      ).catch(async (error: unknown) => {
        throw new Error(`${described(error)}: ${missing.length}, ${await this.#fate(missing[0] ?? '')}`);
      });
    }
  }

  /** What the mempool nodes say of a transaction that is missing. */
  async #fate(hash: string): Promise<string> {
    const said = this.#cluster.mempools.map(async (placed) => {
      const answer = publicClientOf(placed).api.queryTransactionStatus({ body: { hashes: [hash] } });
      return `${placed.name}: ${await answer.then(
        (found) => stringifyExact(found[hash] ?? null),
        (error: unknown) => errorMessage(error),
      )}`;
    });
    return `${hash} is ${(await Promise.all(said)).join(', ')}`;
  }

  /** The states when nothing waits and all are equal, or as they are when they do not become so. */
  async #atRest(): Promise<readonly EndState[]> {
    let states: readonly EndState[] = [];
    const settled = async (): Promise<true | undefined> => {
      if (await this.#isAnythingPending()) return undefined;
      const addresses = [...devAccounts().accounts.map(({ address }) => address), ...(await this.#walletAddresses())];
      states = await Promise.all(this.#cluster.mempools.map((placed) => stateOf(placed, addresses)));
      for (const [storage, record] of this.#records) await readChain(record, publicClientOf(storage));
      const heights = new Set([...this.#records.values()].map(({ next }) => next));
      const digests = new Set(states.map(({ digest }) => digest));
      const isWhole = states.every(({ held, issued }) => held === issued);
      return heights.size === 1 && digests.size === 1 && isWhole ? true : undefined;
    };
    await until('all nodes to have equal states', settled, PATIENCE_MS).catch((error: unknown) => {
      if (states.length === 0) throw error;
    });
    return states;
  }

  #walletAddresses(): Promise<string[]> {
    return this.#cluster.walletAddresses();
  }

  /** Whether a node has a transaction in its pool whose fate was not told. */
  async #isAnythingPending(): Promise<boolean> {
    const { operations } = this.#clients.history;
    for (const one of operations.slice(this.#seen)) {
      if (one.kind === 'post' && one.answer === 'unknown') this.#open.add(one.hash);
    }
    this.#seen = operations.length;
    const hashes = [...this.#open].filter((hash) => !this.isMined(hash)).slice(-BATCH);
    this.#open = new Set(hashes);
    if (hashes.length === 0) return false;
    for (const placed of this.#cluster.mempools) {
      const found = await publicClientOf(placed).api.queryTransactionStatus({ body: { hashes } });
      if (Object.values(found).some(({ status }) => status === 'Pending')) return true;
    }
    return false;
  }
}

/** Resolves when the node answers that it is ready. */
export function whenReady({ name, node }: Placed): Promise<true> {
  return until<true>(
    `${name} to be ready`,
    async () => {
      if (!node.isRunning) {
        const { code, signal } = await node.ended();
        const lines = node.log().split('\n').slice(-LAST_LINES).join(' ');
        throw new Error(`${name} has ended with ${code ?? signal}: ${lines}`);
      }
      const answer = await fetch(`${node.apiUrl}/readyz`, { signal: AbortSignal.timeout(CALL_TIMEOUT_MS) });
      if (answer.status === 200) return true;
      throw new Error(await answer.text());
    },
    PATIENCE_MS,
  );
}

/** All that the addresses hold, as one node sees it. */
async function stateOf(placed: Placed, addresses: readonly string[]): Promise<EndState> {
  const { api } = publicClientOf(placed);
  const { issued } = await api.getSupply();
  const { balance } = await api.queryBalances({ body: { addresses: [...addresses] } });
  const outputs = Object.values(balance.address_list)
    .flat()
    .map((entry) => stringifyExact(entry))
    .toSorted();
  const digest = createHash('sha256')
    .update(`${issued}\n${outputs.join('\n')}`)
    .digest('hex')
    .slice(0, 16);
  return { node: placed.name, digest, held: BigInt(balance.total.tokens), issued: BigInt(issued) };
}

function described(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? `: ${errorMessage(error.cause)}` : '';
  return errorMessage(error) + cause;
}
