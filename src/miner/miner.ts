/**
 * Mining: joins every mempool that the node is linked to, puts its own coinbase into the templates it is given, has a nonce
 * searched, and hands the proof in. One template is worked on at a time. Owns no keys: what a won block pays is the wallet's.
 */

import { availableParallelism } from 'node:os';
import { coinbaseTransaction } from '../chain/builders.js';
import { decodeHeader, encodeTransaction } from '../chain/codec.js';
import { U64_MAX } from '../chain/constants.js';
import { transactionHash } from '../chain/hash.js';
import { proofOfWorkFault, targetBytes } from '../chain/pow.js';
import type { BlockHeader, Transaction } from '../chain/types.js';
import { equalBytes, toHex } from '../lib/bytes.js';
import type { Clock, Timer } from '../lib/clock.js';
import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import { createSignal, type Signal } from '../lib/signal.js';
import type { Link, Message, PeerNetwork } from '../peers/network.js';
import { createPowPool } from './pow-pool.js';
import type { AcceptedProof, MinerService, RewardAddresses } from './service.js';

export interface MinerOptions {
  /** Threads that search; by default one less than the processor has cores, and at least one. */
  readonly threads?: number;
}

export interface MinerModules {
  readonly network: PeerNetwork;
  readonly rewards: RewardAddresses;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Miner extends MinerService {
  /** Starts the threads and joins the mempools linked now and later. */
  start(): Promise<void>;
  /** Drops the work and ends the threads. */
  stop(): Promise<void>;
  readonly proofAccepted: Signal<AcceptedProof>;
  /** Threads that live. */
  readonly threads: number;
  figures(): MinerFigures;
}

/** Counts since the start. */
export interface MinerFigures {
  /** Nonces tried. */
  readonly hashes: number;
  /** Proofs that the mempool took, and those it refused. */
  readonly accepted: number;
  readonly refused: number;
}

/** Milliseconds until something that failed is tried again: joining, asking for an address, handing in a proof. */
const RETRY_MS = 2_000;

interface Coinbase {
  readonly transaction: Transaction;
  readonly hash: string;
  readonly address: string;
}

/** A template and what became of it so far. */
interface Work {
  readonly blockNum: number;
  readonly template: Uint8Array;
  readonly reward: bigint;
  /** As received, then with the own coinbase in it. */
  header: BlockHeader;
  /** The mempool that is given the proof. */
  link: Link;
  coinbase: Coinbase | undefined;
  nonce: Uint8Array | undefined;
  state: 'working' | 'idle';
}

/** Rewards that all go to one address. */
export function fixedRewardAddress(address: string): RewardAddresses {
  return { address: async () => address };
}

/** Registers its message handlers at once; nothing else happens before `start`. */
export function createMiner(options: MinerOptions, modules: MinerModules): Miner {
  const { network, rewards, clock, logger } = modules;
  const threads = options.threads ?? Math.max(1, availableParallelism() - 1);
  const pool = createPowPool({ threads }, { clock, logger });
  const proofAccepted = createSignal<AcceptedProof>((error) => {
    logger.error({ err: error }, 'a listener of accepted proofs broke');
  });
  const timers = new Set<Timer>();
  const unsubscribe: (() => void)[] = [];
  let work: Work | undefined;
  let running = false;
  const proofs = { accepted: 0, refused: 0 };

  const later = (run: () => void): void => {
    const timer = clock.after(RETRY_MS, () => {
      timers.delete(timer);
      run();
    });
    timers.add(timer);
  };
  const isCurrent = (mine: Work): boolean => running && work === mine && mine.state === 'working';

  const join = async (link: Link): Promise<void> => {
    if (!running || !network.links.has(link)) return;
    try {
      await link.request('mining.join', {});
      logger.info({ mempool: link.address }, 'joined a mempool for mining');
    } catch (error) {
      if (!running || !network.links.has(link)) return;
      logger.warn({ mempool: link.address }, `the mempool did not take this miner: ${errorMessage(error)}`);
      later(() => void join(link));
    }
  };

  const ensureCoinbase = async (mine: Work): Promise<void> => {
    if (mine.coinbase) return;
    const address = await rewards.address();
    const transaction = coinbaseTransaction(mine.header.bNum, mine.reward, address);
    mine.coinbase = { transaction, hash: transactionHash(transaction), address };
    mine.header = { ...mine.header, nonce: new Uint8Array(0), miningTxHash: mine.coinbase.hash };
  };

  const handIn = async (mine: Work, coinbase: Coinbase, nonce: Uint8Array): Promise<void> => {
    const answer = await mine.link.request(
      'mining.proof',
      { block_num: mine.blockNum, nonce: toHex(nonce) },
      { attachment: encodeTransaction(coinbase.transaction) },
    );
    const verdict = verdictOf(answer);
    // Meanwhile another template may have come; this one was accepted all the same.
    mine.state = 'idle';
    proofs[verdict.accepted ? 'accepted' : 'refused'] += 1;
    if (!verdict.accepted) {
      logger.warn({ blockNum: mine.blockNum }, `the proof was refused: ${verdict.reason}`);
      return;
    }
    logger.debug({ blockNum: mine.blockNum, coinbase: coinbase.hash }, 'the proof was accepted');
    const { blockNum, reward } = mine;
    proofAccepted.emit({
      blockNum,
      coinbase: coinbase.transaction,
      coinbaseHash: coinbase.hash,
      address: coinbase.address,
      reward,
    });
  };

  /** Goes on from where the work is: coinbase, nonce, proof. */
  const proceed = async (mine: Work): Promise<void> => {
    try {
      await ensureCoinbase(mine);
      if (!isCurrent(mine) || !mine.coinbase) return;
      if (!mine.nonce) {
        const nonce = await pool.search(mine.header);
        if (nonce === null || !isCurrent(mine)) return;
        const fault = proofOfWorkFault({ ...mine.header, nonce });
        if (fault)
          throw new TesseraError('internal_error', `a mining thread found a nonce that is none: ${fault.message}`);
        mine.nonce = nonce;
      }
      await handIn(mine, mine.coinbase, mine.nonce);
    } catch (error) {
      if (!isCurrent(mine)) return;
      logger.warn({ blockNum: mine.blockNum, err: error }, `mining was held up: ${errorMessage(error)}`);
      // Without its link the work waits for the template to come again.
      if (network.links.has(mine.link)) later(() => void (isCurrent(mine) && proceed(mine)));
    }
  };

  /** True for a template that is to take the place of what is worked on now. */
  const isNext = (link: Link, blockNum: number): boolean =>
    !work || work.state === 'idle' || work.link === link || !network.links.has(work.link) || blockNum > work.blockNum;

  const takeTemplate = (link: Link, { body, attachment }: Message<'mining.template'>): void => {
    const reward = BigInt(body.reward);
    const header = headerOf(attachment, body.block_num);
    if (reward > U64_MAX) throw new TesseraError('protocol_violation', 'mining.template: the reward is no u64');
    if (!running || !isNext(link, body.block_num)) return;
    const isSame = work !== undefined && work.reward === reward && equalBytes(work.template, attachment);
    // Told twice by the same mempool while it is worked on.
    if (isSame && work?.link === link && work.state === 'working') return;
    const kept = isSame ? work : undefined;
    pool.abandon();
    work = {
      blockNum: body.block_num,
      template: Uint8Array.from(attachment),
      reward,
      header: kept?.header ?? header,
      link,
      coinbase: kept?.coinbase,
      nonce: kept?.nonce,
      state: 'working',
    };
    void proceed(work);
  };

  const drop = (mine: Work | undefined): void => {
    if (!mine || mine !== work) return;
    mine.state = 'idle';
    pool.abandon();
  };

  network.handle('mining.template', (link, message) => {
    takeTemplate(link, message);
    return undefined;
  });
  network.handle('mining.stop', (link, { body }) => {
    if (work?.link === link && work.blockNum === body.block_num) drop(work);
    return undefined;
  });

  return {
    proofAccepted,
    get threads() {
      return pool.threads;
    },
    figures: () => ({ hashes: pool.hashes, ...proofs }),
    currentBlock: () => (work ? { header: work.header, reward: work.reward } : null),
    async start() {
      await pool.start();
      running = true;
      const joinMempool = (link: Link): void => {
        if (link.role === 'mempool') void join(link);
      };
      unsubscribe.push(
        network.linkUp.on(joinMempool),
        network.linkDown.on(({ link }) => {
          if (work?.link === link) drop(work);
        }),
      );
      for (const link of network.links) joinMempool(link);
    },
    async stop() {
      running = false;
      for (const off of unsubscribe.splice(0)) off();
      for (const timer of timers) timer.cancel();
      timers.clear();
      await pool.stop();
    },
  };
}

/** The header of a template. Throws `protocol_violation`. */
function headerOf(attachment: Uint8Array, blockNum: number): BlockHeader {
  const wrong = (text: string) => new TesseraError('protocol_violation', `mining.template: ${text}`);
  try {
    const header = decodeHeader(attachment);
    if (header.bNum !== BigInt(blockNum)) throw wrong('the header is that of another block');
    if (!targetBytes(header.difficulty)) throw wrong('the difficulty has neither 0 nor 4 bytes');
    return header;
  } catch (error) {
    throw isTesseraError(error, 'malformed_transaction') ? wrong(error.message) : error;
  }
}

function verdictOf(answer: Message): { readonly accepted: boolean; readonly reason: string } {
  if (answer.type === 'mining.verdict') return (answer as Message<'mining.verdict'>).body;
  throw new TesseraError('peer_unreachable', `the mempool answered a proof with ${answer.type}`);
}
