/**
 * Keeps the wallet in step with the chain through one mempool node. With each new link, and whenever blocks are missing, it
 * asks what became of own transactions, refreshes all addresses, and only then lets payments be sent; from there on blocks
 * are taken in as they are mined. Only links that this node opened to its configured mempool nodes are believed: anyone
 * can say that it is a mempool node.
 */

import { setMaxListeners } from 'node:events';
import { decodeFullBlock } from '../chain/codec.js';
import { createdOutPoints, outPointKey, spentOutPoints } from '../chain/transaction.js';
import type { FullBlock, Transaction } from '../chain/types.js';
import type { Clock, Timer } from '../lib/clock.js';
import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import { createMutex } from '../lib/mutex.js';
import { createSignal, type Signal } from '../lib/signal.js';
import { MAX_LIST, type MessageBody } from '../peers/messages.js';
import type { Link, PeerNetwork } from '../peers/network.js';
import { decodeUtxos } from '../peers/payloads.js';
import type { OwnTransaction } from '../wallet/payments/outgoing.js';
import type { Wallet } from '../wallet/wallet.js';

/** Milliseconds that an answer about the chain may take; a large wallet asks for much. */
const REQUEST_TIMEOUT = 30_000;
/** Milliseconds until a synchronization that failed is tried again on the same link. */
const RETRY_AFTER = 2_000;
/** Milliseconds to find out which configured address a link belongs to. */
const IDENTIFY_TIMEOUT = 5_000;
/** Blocks kept while a synchronization is under way; more are fetched by the next one. */
const MAX_WAITING_BLOCKS = 32;
/** Times that an answer older than the wallet is asked for again. */
const MAX_STALE_ANSWERS = 5;

export interface ChainFollowerOptions {
  /** Configured mempool nodes, `host:port`. */
  readonly mempools: readonly string[];
}

export interface ChainFollowerModules {
  readonly wallet: Wallet;
  readonly network: PeerNetwork;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told how many of the addresses to refresh are done. */
  readonly onRefresh?: ((done: number, total: number) => void) | undefined;
}

/** A block that the followed mempool node says is mined. */
export interface MinedBlock {
  readonly blockNum: number;
  readonly hash: string;
  /** Without the mining transaction. */
  readonly transactions: number;
}

export interface ChainFollower {
  start(): void;
  stop(): Promise<void>;
  /** The link over which payments can be sent; undefined until the wallet is in step. */
  readonly link: Link | undefined;
  /** The wallet is in step over this link. */
  readonly ready: Signal<Link>;
  readonly blockMined: Signal<MinedBlock>;
  /** Asks for the outpoints of addresses; throws `mempool_unreachable` when it cannot, and does not wait for the answer. */
  requestRefresh(addresses: readonly string[]): void;
}

type Status = MessageBody<'statuses'>['statuses'][number];

export function createChainFollower({ mempools }: ChainFollowerOptions, modules: ChainFollowerModules): ChainFollower {
  const { wallet, network, clock, logger, onRefresh } = modules;
  const listenerFailed = (error: unknown): void => logger.error({ error: errorMessage(error) }, 'a listener failed');
  const ready = createSignal<Link>(listenerFailed);
  const blockMined = createSignal<MinedBlock>(listenerFailed);
  const stopping = new AbortController();
  // Every request under way listens to it.
  setMaxListeners(0, stopping.signal);
  const steps = createMutex();
  const believed = new Set<Link>();
  const waitingBlocks: { readonly block: FullBlock; readonly hash: string }[] = [];
  const off: (() => void)[] = [];
  let current: Link | undefined;
  let inStep = false;
  let retry: Timer | undefined;

  const request = <T extends 'utxos.get' | 'statuses.get'>(link: Link, type: T, body: MessageBody<T>) =>
    link.request(type, body, { timeoutMs: REQUEST_TIMEOUT, signal: stopping.signal });

  async function believe(link: Link): Promise<void> {
    if (link.role !== 'mempool') return;
    const options = { timeoutMs: IDENTIFY_TIMEOUT, signal: stopping.signal };
    const isOurs = async (address: string): Promise<void> => {
      if ((await network.dial(address, options)) !== link) throw new TesseraError('peer_unreachable', 'another link');
    };
    try {
      await Promise.any(mempools.map(isOurs));
    } catch {
      logger.warn({ link: link.id, peer: link.address }, 'this mempool node is not configured: its blocks are ignored');
      return;
    }
    if (stopping.signal.aborted || !network.links.has(link)) return;
    believed.add(link);
    if (current === undefined) follow(link);
  }

  function follow(link: Link | undefined): void {
    current = link;
    inStep = false;
    retry?.cancel();
    if (link) synchronize(link);
  }

  function onLinkDown(link: Link): void {
    believed.delete(link);
    if (link === current) follow([...believed][0]);
  }

  function synchronize(link: Link): void {
    inStep = false;
    void steps.run(async () => {
      if (link !== current || inStep || stopping.signal.aborted) return;
      try {
        await catchUp(link);
        logger.info({ link: link.id, block: wallet.blockNum }, 'the wallet is in step with the chain');
        ready.emit(link);
      } catch (error) {
        if (stopping.signal.aborted || link !== current) return;
        logger.warn({ link: link.id, error: errorMessage(error) }, 'the wallet could not be refreshed; trying again');
        retry = clock.after(RETRY_AFTER, () => synchronize(link));
      }
    });
  }

  async function catchUp(link: Link): Promise<void> {
    // Statuses first: what is confirmed now is in every answer that comes later.
    const flying = wallet.inFlight().map((entry) => ({ ...entry }));
    const statuses = await fetchStatuses(link, flying);
    const interesting = new Set(flying.flatMap(({ hash, transaction }) => outpointsOf(hash, transaction)));
    const { blockNum, present } = await refreshAll(link, wallet.addresses(), interesting);
    const returned = new Set<string>();
    for (const entry of flying) {
      for (const address of await judge(entry, statuses.get(entry.hash), present)) returned.add(address);
    }
    // What a rejected payment had taken comes back only if the chain still has it.
    if (returned.size > 0) await refreshAll(link, [...returned], new Set());
    if (blockNum !== undefined) await wallet.advanceTo(blockNum);
    for (let next = waitingBlocks.shift(); next; next = waitingBlocks.shift()) {
      await wallet.applyBlock(next.block, next.hash);
    }
    // In the same turn as the look at the waiting blocks: none may wait for nothing.
    inStep = true;
  }

  async function fetchStatuses(link: Link, flying: readonly OwnTransaction[]): Promise<Map<string, Status>> {
    const found = new Map<string, Status>();
    for (const chunk of chunks(flying.map(({ hash }) => hash))) {
      const answer = await request(link, 'statuses.get', { hashes: chunk });
      if (answer.type !== 'statuses') throw unexpected(link, answer.type);
      for (const status of (answer.body as MessageBody<'statuses'>).statuses) found.set(status.hash, status);
    }
    return found;
  }

  /** `blockNum`: the oldest block that an answer is of. `present`: which of the interesting outpoints are unspent. */
  async function refreshAll(
    link: Link,
    addresses: readonly string[],
    interesting: ReadonlySet<string>,
  ): Promise<{ readonly blockNum: number | undefined; readonly present: ReadonlySet<string> }> {
    const present = new Set<string>();
    let blockNum: number | undefined;
    // An empty wallet asks too: it learns the block number.
    const open = addresses.length === 0 ? [[]] : chunks(addresses);
    let done = 0;
    onRefresh?.(done, addresses.length);
    for (let chunk = open.pop(); chunk; chunk = open.pop()) {
      const answer = await refreshChunk(link, chunk).catch((error: unknown) => {
        // Too many outputs for one answer: ask for fewer addresses at once.
        if (chunk.length < 2 || !isTesseraError(error, 'invalid_request')) throw error;
        return undefined;
      });
      if (answer === undefined) {
        const half = Math.ceil(chunk.length / 2);
        open.push(chunk.slice(0, half), chunk.slice(half));
        continue;
      }
      blockNum = Math.min(answer.blockNum, blockNum ?? answer.blockNum);
      for (const key of answer.keys) if (interesting.has(key)) present.add(key);
      done += chunk.length;
      onRefresh?.(done, addresses.length);
    }
    return { blockNum, present };
  }

  async function refreshChunk(link: Link, addresses: readonly string[]): Promise<{ blockNum: number; keys: string[] }> {
    for (let i = 0; i < MAX_STALE_ANSWERS; i++) {
      const answer = await request(link, 'utxos.get', { addresses: [...addresses] });
      if (answer.type !== 'utxos') throw unexpected(link, answer.type);
      const blockNum = (answer.body as MessageBody<'utxos'>).block_num;
      const utxos = decodeUtxos(answer.attachment);
      if (await wallet.replaceAddresses(addresses, utxos, blockNum)) {
        return { blockNum, keys: utxos.map(([outPoint]) => outPointKey(outPoint)) };
      }
    }
    throw new TesseraError('mempool_unreachable', `the mempool node is behind block ${wallet.blockNum} of this wallet`);
  }

  /**
   * What became of an own transaction, by its status or, where that is forgotten, by what is left of it on the chain.
   * Resolves with the addresses of the inputs of a rejected one.
   */
  async function judge(
    before: OwnTransaction,
    status: Status | undefined,
    present: ReadonlySet<string>,
  ): Promise<readonly string[]> {
    const { hash, transaction, state } = before;
    // An answer that came meanwhile knows better.
    if (wallet.inFlightByHash(hash)?.state !== state) return [];
    if (status?.status === 'Rejected') return wallet.markRejected(hash, status.info);
    const outputIsThere = createdOutPoints(transaction, hash).some(({ outPoint }) =>
      present.has(outPointKey(outPoint)),
    );
    const inputsAreThere = spentOutPoints(transaction).every((outPoint) => present.has(outPointKey(outPoint)));
    if (status?.status === 'Pending') await wallet.markSent(hash);
    // Once admitted, nothing else can spend its inputs: that they are gone means that it is in the chain.
    else if (status || outputIsThere || (state === 'sent' && !inputsAreThere)) await wallet.markConfirmed(hash);
    else if (state === 'sent') await wallet.requeue(hash);
    return [];
  }

  async function onBlock(link: Link, attachment: Uint8Array, hash: string): Promise<void> {
    if (!believed.has(link) || link !== current) return;
    const block = decodeFullBlock(attachment);
    const { header, transactions } = block.block;
    blockMined.emit({ blockNum: Number(header.bNum), hash, transactions: transactions.length });
    if (!inStep) {
      waitingBlocks.push({ block, hash });
      if (waitingBlocks.length > MAX_WAITING_BLOCKS) waitingBlocks.shift();
      return;
    }
    const outcome = await steps.run(() => wallet.applyBlock(block, hash));
    if (outcome !== 'gap' || link !== current) return;
    logger.info({ block: Number(block.block.header.bNum), known: wallet.blockNum }, 'blocks are missing: refreshing');
    synchronize(link);
  }

  network.handle('block.mined', async (link, { attachment, body }) => {
    await onBlock(link, attachment, body.hash);
    return undefined;
  });

  return {
    start() {
      off.push(network.linkUp.on((link) => void believe(link)));
      off.push(network.linkDown.on(({ link }) => onLinkDown(link)));
      for (const link of network.links) void believe(link);
    },
    async stop() {
      stopping.abort();
      retry?.cancel();
      for (const remove of off.splice(0)) remove();
      await steps.run(() => undefined);
    },
    get link() {
      return inStep ? current : undefined;
    },
    ready,
    blockMined,
    requestRefresh(addresses) {
      const link = current;
      if (link === undefined) throw new TesseraError('mempool_unreachable', 'no mempool node is linked');
      void steps.run(async () => {
        try {
          await refreshAll(link, addresses, new Set());
        } catch (error) {
          if (stopping.signal.aborted) return;
          logger.warn({ error: errorMessage(error) }, 'a refresh failed: refreshing everything');
          if (link === current) synchronize(link);
        }
      });
    },
  };
}

function outpointsOf(hash: string, transaction: Transaction): string[] {
  const created = createdOutPoints(transaction, hash).map(({ outPoint }) => outPoint);
  return [...spentOutPoints(transaction), ...created].map(outPointKey);
}

function chunks(list: readonly string[]): string[][] {
  const parts: string[][] = [];
  for (let i = 0; i < list.length; i += MAX_LIST) parts.push(list.slice(i, i + MAX_LIST));
  return parts;
}

function unexpected(link: Link, type: string): TesseraError {
  return new TesseraError('protocol_violation', `${link.address} answered ${type}, which was not asked for`);
}
