/** Looks for the addresses of words in the chain: block by block at a storage node, and in unspent outputs at a mempool node. */

import type { BalancesResponse } from '../../api/routes/mempool/operations.js';
import { queryBalances } from '../../api/routes/mempool/operations.js';
import { getBlocks, getLatestBlock, queryBlockchainEntries } from '../../api/routes/storage/operations.js';
import { blockHash } from '../../chain/hash.js';
import { parseBlock, parseTransaction } from '../../chain/json-read.js';
import { namesOf } from '../../chain/transaction.js';
import type { Block, FullBlock, Transaction } from '../../chain/types.js';
import type { NodeClient } from '../../client/client.js';
import { NoAnswer } from '../../client/transport.js';
import { isTesseraError, TesseraError } from '../../lib/errors.js';
import type { AddressSearch } from '../../wallet/keys/address-search.js';
import type { Wallet } from '../../wallet/wallet.js';

/** Maximum number of blocks in one request, of transactions, and of addresses; fewer when an answer is too large. */
const BLOCKS = 50;
const TRANSACTIONS = 200;
const ADDRESSES = 500;
/** Rounds in which only the mempool node may name new addresses; without a bound a lying node would be asked for ever. */
const MAX_ROUNDS = 50;
/** Maximum number of readings of the chain: each one finds an address that the one before did not look for. */
const MAX_PASSES = 1_000;

export interface ChainSearchModules extends Patience {
  readonly storage: NodeClient;
  readonly mempool: NodeClient;
  readonly onProgress: (done: number, total: number) => void;
  readonly signal: AbortSignal;
}

export interface FoundBalance {
  readonly tokens: bigint;
  readonly items: ReadonlyMap<string, bigint>;
  /** Number of addresses with more outputs than one answer lists: their funds are not counted. */
  readonly uncounted: number;
}

export interface ChainSearchResult {
  readonly balance: FoundBalance;
  readonly height: number;
}

/** Shows the whole chain to the search until it finds nothing new. Throws the errors of the nodes. */
export function searchChain(search: AddressSearch, modules: ChainSearchModules): Promise<ChainSearchResult> {
  return new ChainSearch(search, modules).run();
}

class ChainSearch {
  readonly #search: AddressSearch;
  readonly #modules: ChainSearchModules;
  readonly #blocks: BlockReader;
  readonly #addresses: PatientReader;
  readonly #single: PatientReader;
  #passes = 0;
  #rounds = 0;

  constructor(search: AddressSearch, modules: ChainSearchModules) {
    this.#search = search;
    this.#modules = modules;
    this.#blocks = new BlockReader(modules);
    this.#addresses = new PatientReader(ADDRESSES, modules);
    this.#single = new PatientReader(1, modules);
  }

  async run(): Promise<ChainSearchResult> {
    for (;;) {
      const height = await this.#readBlocks();
      // An unspent output may be in a block that storage does not have yet.
      let { isNews, balance } = await this.#readUnspent();
      if (!isNews) return { balance, height };
      while (isNews) ({ isNews, balance } = await this.#readUnspent());
    }
  }

  /** Reads the blocks, then again up to the last with news: earlier blocks may have addresses that are looked for only since then. */
  async #readBlocks(): Promise<number> {
    const height = await this.#height();
    let end = height;
    let done = 0;
    let total = end + 1;
    while (end >= 0) {
      this.#passes += 1;
      if (this.#passes > MAX_PASSES) throw this.#endless(this.#modules.storage, 'blocks');
      let last = -1;
      for (let at = 0; at <= end; at += BLOCKS) {
        const blocks = await this.#blocks.read(at, end);
        const to = at + blocks.length - 1;
        for (const address of blocks.flatMap(addressesOf)) if (this.#search.note(address)) last = to;
        done += blocks.length;
        this.#modules.onProgress(done, total);
      }
      end = last;
      total += end + 1;
    }
    return height;
  }

  async #height(): Promise<number> {
    const { storage, signal } = this.#modules;
    let height = -1;
    const ask = async (): Promise<number> => {
      try {
        return Number((await storage.call(getLatestBlock, {}, { signal })).block.block.header.b_num);
      } catch (error) {
        if (isTesseraError(error, 'no_blocks')) return -1;
        throw error;
      }
    };
    await this.#single.read([height], ask, (found) => {
      height = found;
    });
    return height;
  }

  async #readUnspent(): Promise<{ readonly isNews: boolean; readonly balance: FoundBalance }> {
    const { mempool, signal } = this.#modules;
    let isNews = false;
    let tokens = 0n;
    let uncounted = 0;
    const items = new Map<string, bigint>();
    const take = ({ balance }: BalancesResponse): void => {
      tokens += BigInt(balance.total.tokens);
      for (const [id, amount] of Object.entries(balance.total.items)) {
        items.set(id, (items.get(id) ?? 0n) + BigInt(amount));
      }
      for (const address of Object.keys(balance.address_list)) isNews = this.#search.note(address) || isNews;
    };
    const ask = async (some: readonly string[]): Promise<BalancesResponse | undefined> => {
      try {
        return await mempool.call(queryBalances, { body: { addresses: [...some] } }, { signal });
      } catch (error) {
        const [address, ...others] = some;
        if (!isTesseraError(error, 'too_many_outputs') || address === undefined || others.length > 0) throw error;
        // The address is in use, but the node does not list its outputs.
        isNews = this.#search.note(address) || isNews;
        uncounted += 1;
        return undefined;
      }
    };
    await this.#addresses.read(this.#search.watched, ask, (answer) => {
      if (answer !== undefined) take(answer);
    });
    if (isNews) this.#rounds += 1;
    if (this.#rounds > MAX_ROUNDS) throw this.#endless(mempool, 'outputs');
    return { isNews, balance: { tokens, items, uncounted } };
  }

  #endless({ url }: NodeClient, what: string): TesseraError {
    return new TesseraError(
      'protocol_violation',
      `${url} names ${what} of ever more addresses that no other node knows: ask other nodes, or try later`,
    );
  }
}

function addressesOf({ transactions, miningTransaction }: FullBlock): readonly string[] {
  return [...transactions, miningTransaction].flatMap(({ outputs, fees }) =>
    [...outputs, ...fees].flatMap(({ scriptPublicKey }) => scriptPublicKey ?? []),
  );
}

type ChainBlocksModules = Omit<ChainSearchModules, 'mempool'>;

/** Reads the blocks that the wallet has not seen, up to `end`. Throws the node's error, and `protocol_violation` for blocks that form none. */
export async function takeBlocks(wallet: Wallet, end: number, modules: ChainBlocksModules): Promise<void> {
  const first = wallet.chain.height + 1;
  const reader = new BlockReader(modules);
  for (let at = first; at <= end; ) {
    const blocks = await reader.read(at, end);
    for (const full of blocks) {
      await wallet.chain.apply({ full, hash: blockHash(full.block.header), isPast: true });
    }
    await wallet.chain.sync();
    at += blocks.length;
    modules.onProgress(at - first, end - first + 1);
  }
}

class BlockReader {
  readonly #modules: Pick<ChainSearchModules, 'storage' | 'signal'>;
  readonly #blocks: PatientReader;
  readonly #transactions: PatientReader;

  constructor(modules: ChainBlocksModules) {
    this.#modules = modules;
    this.#blocks = new PatientReader(BLOCKS, modules);
    this.#transactions = new PatientReader(TRANSACTIONS, modules);
  }

  /** The blocks from `from` to `to`, or the first of them. Throws `data_lost` when the node does not have all of them. */
  async read(from: number, to: number): Promise<readonly FullBlock[]> {
    const { storage, signal } = this.#modules;
    const numbers = Array.from({ length: Math.min(BLOCKS, to - from + 1) }, (_, i) => from + i);
    const blocks: Block[] = [];
    await this.#blocks.read(
      numbers,
      (num) => storage.call(getBlocks, { query: { num: [...num] } }, { signal }),
      (entries) => blocks.push(...entries.map(({ data }) => parseBlock(data.block))),
    );
    const found = new Map<string, Transaction>();
    await this.#transactions.read(
      blocks.flatMap(namesOf),
      (keys) => storage.call(queryBlockchainEntries, { body: { keys: [...keys] } }, { signal }),
      (entries) => {
        for (const { key, data } of entries) found.set(key, parseTransaction(data));
      },
    );
    const whole = blocks.flatMap((block) => fullBlock(block, found) ?? []);
    if (whole.length === numbers.length) return whole;
    throw new TesseraError('data_lost', `${storage.url} has not all of the blocks ${from} to ${numbers.at(-1)}`);
  }
}

function fullBlock(block: Block, found: ReadonlyMap<string, Transaction>): FullBlock | undefined {
  const transactions = block.transactions.flatMap((hash) => found.get(hash) ?? []);
  const miningTransaction = found.get(block.header.miningTxHash);
  if (miningTransaction === undefined || transactions.length !== block.transactions.length) return undefined;
  return { block, transactions, miningTransaction };
}

const ATTEMPTS = 9;
/** Milliseconds until a request is repeated: the first pause, doubled each time, and the longest. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 30_000;
/** Longest pause that a node may ask for, in ms. */
const LONGEST_ASKED = 120_000;
/** Answers that ask to try again: too many requests, and a node or a proxy that cannot serve now. */
const PASSING: ReadonlySet<unknown> = new Set([429, 502, 503, 504]);

export interface Patience {
  readonly pause: (ms: number) => Promise<void>;
  /** Called with a failure before the pause after it. */
  readonly onWait?: ((error: Error) => void) | undefined;
}

class PatientReader {
  readonly #most: number;
  readonly #patience: Patience;
  #size: number;

  constructor(most: number, patience: Patience) {
    this.#most = most;
    this.#size = most;
    this.#patience = patience;
  }

  /** Asks for all keys, a few at a time. Throws the error of a request that cannot be repeated, or that has failed too often. */
  async read<K, A>(
    keys: readonly K[],
    ask: (some: readonly K[]) => Promise<A>,
    take: (answer: A) => void,
  ): Promise<void> {
    for (let at = 0, failures = 0; at < keys.length; ) {
      const some = keys.slice(at, at + this.#size);
      let answer: A;
      try {
        answer = await ask(some);
      } catch (error) {
        const isSmaller = this.#askForFewer(some.length, error);
        if (isSmaller && isTooMuch(error)) continue;
        failures += 1;
        if (!isPassing(error) || failures === ATTEMPTS) throw error;
        this.#patience.onWait?.(error);
        await this.#patience.pause(pauseAfter(error, failures));
        continue;
      }
      take(answer);
      at += some.length;
      failures = 0;
      // The size grows slowly: the next answers are probably as large.
      this.#size = Math.min(this.#most, this.#size + Math.ceil(this.#size / 8));
    }
  }

  /** Asks for fewer keys from now on; false when that is no help. A lost answer may have been too long for the line. */
  #askForFewer(asked: number, error: unknown): boolean {
    if (asked === 1 || !(isTooMuch(error) || error instanceof NoAnswer)) return false;
    this.#size = Math.ceil(asked / 2);
    return true;
  }
}

/** True when the node refuses the request because it asks for too much in one answer. */
function isTooMuch(error: unknown): boolean {
  const codes = ['invalid_request', 'too_many_outputs', 'payload_too_large'] as const;
  return codes.some((code) => isTesseraError(error, code));
}

function isPassing(error: unknown): error is Error {
  return error instanceof NoAnswer || (isTesseraError(error) && PASSING.has(error.details.status));
}

function pauseAfter(error: unknown, failures: number): number {
  const asked = isTesseraError(error) ? Number(error.details.retryAfter) * 1_000 : 0;
  const own = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (failures - 1));
  return asked > 0 ? Math.max(own, Math.min(asked, LONGEST_ASKED)) : own;
}
