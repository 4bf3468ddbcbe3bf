/**
 * Mining: joins every linked mempool node, puts its own coinbase into templates, searches for a nonce and submits the
 * proof. A template must follow the last known block, signed where there are producers. Rewards belong to the wallet.
 */

import { availableParallelism } from 'node:os';
import { coinbaseTransaction } from '../chain/builders.js';
import { blockCertificateFault, type Certificate, type Producers } from '../chain/certificate.js';
import { decodeHeader, encodeTransaction } from '../chain/codec.js';
import { U64_MAX } from '../chain/constants.js';
import { transactionHash } from '../chain/hash.js';
import { proofOfWorkFault, targetBytes } from '../chain/pow.js';
import type { BlockHeader, Transaction } from '../chain/types.js';
import { equalBytes, toHex } from '../lib/bytes.js';
import type { Timer } from '../lib/clock.js';
import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';
import { assertSound } from '../lib/fault.js';
import { Failure, type Service } from '../lib/service.js';
import { DoubleSigning } from '../observability/double-signing.js';
import { type CounterHandle, followTotal } from '../observability/metrics.js';
import type { HasClock, HasLogger, HasMetrics } from '../observability/modules.js';
import type { Link, Message, PeerNetwork } from '../peers/network.js';
import { PowPool } from './pow-pool.js';
import type { CurrentBlock, MinerService, RewardAddresses } from './service.js';

export interface MinerOptions {
  /** Number of mining threads; by default one less than the number of cores, and at least one. */
  readonly threads?: number;
  /** Keys that must have signed the previous block; undefined in a network that names no producers. */
  readonly producers?: Producers | undefined;
  /** Bytes of a nonce; 8 by default, fewer on networks of original nodes. */
  readonly nonceLength?: number | undefined;
}

export interface MinerModules extends HasClock, HasLogger, HasMetrics {
  readonly network: PeerNetwork;
  readonly rewards: RewardAddresses;
  /** The last block that this node has checked, if it checks blocks. */
  readonly tip?: (() => KnownTip) | undefined;
}

/** Milliseconds until a failed step is tried again: joining, asking for an address, submitting a proof. */
const RETRY_MS = 2_000;

interface Coinbase {
  readonly transaction: Transaction;
  readonly hash: string;
  readonly address: string;
}

/** The last block that a node knows. */
export interface KnownTip {
  /** Height of the block; -1 before the first block. */
  readonly height: number;
  readonly hash: string | undefined;
  /** True when a producer has signed the block. */
  readonly isCertified: boolean;
}

interface Work {
  readonly height: number;
  readonly template: Uint8Array;
  readonly reward: bigint;
  /** Header of the template as received; later with this node's coinbase. */
  header: BlockHeader;
  /** The link of the mempool node that gets the proof. */
  link: Link;
  /** Links of other mempool nodes that have sent the same template, and take the proof as well. */
  readonly others: Set<Link>;
  coinbase: Coinbase | undefined;
  nonce: Uint8Array | undefined;
  state: 'working' | 'idle';
}

/** Rewards that all go to one address. */
export function fixedRewardAddress(address: string): RewardAddresses {
  return { address: async () => address };
}

export class Miner implements MinerService, Service {
  readonly #modules: MinerModules;
  readonly #pool: PowPool;
  readonly #producers: Producers | undefined;
  readonly #proofs: { readonly accepted: CounterHandle; readonly refused: CounterHandle };
  readonly #doubleSigning: DoubleSigning;
  readonly #failure = new Failure();
  readonly failed = this.#failure.promise;
  readonly #timers = new Set<Timer>();
  readonly #unsubscribe: (() => void)[] = [];
  #work: Work | undefined;
  #running = false;

  /** Registers its message handlers at once; nothing else happens before `start`. */
  constructor(options: MinerOptions, modules: MinerModules) {
    const { threads = Math.max(1, availableParallelism() - 1), producers, nonceLength } = options;
    const { network, metrics, logger } = modules;
    this.#modules = modules;
    this.#producers = producers;
    this.#doubleSigning = new DoubleSigning({ logger, metrics });
    this.#pool = new PowPool({ threads, nonceLength }, modules);
    this.#proofs = {
      accepted: metrics.counter('tessera_miner_proofs_total', 'accepted'),
      refused: metrics.counter('tessera_miner_proofs_total', 'refused'),
    };
    // Counters are present from the start, with the value 0.
    for (const counter of Object.values(this.#proofs)) counter.inc(0);
    const hashes = followTotal(metrics.counter('tessera_miner_hashes_total'));
    metrics.beforeScrape(() => hashes(this.#pool.hashes));
    network.handle('mining.template', (link, message) => {
      this.#takeTemplate(link, message);
      return undefined;
    });
    network.handle('mining.stop', (link, { body }) => {
      if (this.#work?.link === link && this.#work.height === body.block_num) this.#drop(this.#work);
      return undefined;
    });
  }

  get threads(): number {
    return this.#pool.threads;
  }

  currentBlock(): CurrentBlock | null {
    return this.#work ? { header: this.#work.header, reward: this.#work.reward } : null;
  }

  /** Starts the threads, and joins the mempool nodes that are linked now and later. */
  async start(): Promise<void> {
    const { network } = this.#modules;
    await this.#pool.start();
    this.#running = true;
    const joinMempool = (link: Link): void => {
      if (link.role === 'mempool') void this.#join(link);
    };
    this.#unsubscribe.push(
      network.linkUp.on(joinMempool),
      network.linkDown.on(({ link }) => {
        this.#work?.others.delete(link);
        if (this.#work?.link === link && !this.#goOver(this.#work)) this.#drop(this.#work);
      }),
    );
    for (const link of network.links) joinMempool(link);
  }

  async stop(): Promise<void> {
    this.#running = false;
    for (const off of this.#unsubscribe.splice(0)) off();
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    await this.#pool.stop();
  }

  async #join(link: Link): Promise<void> {
    const { network, logger } = this.#modules;
    if (!this.#running || !network.links.has(link)) return;
    try {
      await link.request('mining.join', {});
      logger.info({ mempool: link.address }, 'joined a mempool for mining');
    } catch (error) {
      if (!this.#running || !network.links.has(link)) return;
      logger.warn({ mempool: link.address }, `the mempool node did not accept this miner: ${errorMessage(error)}`);
      this.#later(() => void this.#join(link));
    }
  }

  #takeTemplate(link: Link, { body, attachment }: Message<'mining.template'>): void {
    const reward = BigInt(body.reward);
    const header = headerOf(attachment, body.block_num);
    if (reward > U64_MAX) throw wrongTemplate('the reward is not a u64');
    if (!this.#isOnTop(header, body.previous)) return;
    if (!this.#running) return;
    const known = this.#work;
    const isSame = known !== undefined && known.reward === reward && equalBytes(known.template, attachment);
    if (!this.#isNext(link, body.block_num)) {
      // The node that sent the template last leads, most likely.
      if (isSame) this.#turnTo(known, link);
      return;
    }
    // The same mempool node has sent the template again while it is being worked on.
    if (isSame && known.link === link && known.state === 'working') return;
    const kept = isSame ? known : undefined;
    this.#pool.abandon();
    this.#work = {
      height: body.block_num,
      template: Uint8Array.from(attachment),
      reward,
      header: kept?.header ?? header,
      link,
      others: new Set(kept?.others),
      coinbase: kept?.coinbase,
      nonce: kept?.nonce,
      state: 'working',
    };
    this.#work.others.delete(link);
    void this.#proceed(this.#work);
  }

  /** False for a late template. Throws `protocol_violation` for one that does not follow the known or the signed block. */
  #isOnTop({ bNum, previousHash }: BlockHeader, certificate: Certificate | undefined): boolean {
    const height = Number(bNum);
    if ((height === 0) !== (previousHash === null)) throw wrongTemplate('every block but block 0 follows another');
    if (previousHash === null) return true;
    if (this.#producers !== undefined) {
      assertSound(blockCertificateFault(this.#producers, { height: height - 1, hash: previousHash }, certificate));
    }
    const tip = this.#modules.tip?.();
    if (tip === undefined || tip.height < height - 1) return true;
    if (tip.height >= height) {
      this.#modules.logger.warn({ height, known: tip.height }, 'a template for a block that is already stored');
      return false;
    }
    if (tip.hash === undefined || tip.hash === previousHash) return true;
    if (tip.isCertified && certificate !== undefined) {
      const { height: at, hash: kept } = tip;
      this.#doubleSigning.found({ height: at, kept, other: previousHash, producer: certificate.key });
    }
    throw wrongTemplate(`it follows ${previousHash.slice(0, 80)}, and block ${tip.height} is ${tip.hash}`);
  }

  /** True for a template that replaces the current one. */
  #isNext(link: Link, height: number): boolean {
    const work = this.#work;
    if (work === undefined || work.state === 'idle' || work.link === link) return true;
    return !this.#modules.network.links.has(work.link) || height > work.height;
  }

  async #proceed(work: Work): Promise<void> {
    const { network, logger } = this.#modules;
    try {
      await this.#ensureCoinbase(work);
      if (!this.#isCurrent(work) || !work.coinbase) return;
      work.nonce ??= await this.#search(work);
      if (work.nonce === undefined || !this.#isCurrent(work)) return;
      await this.#handIn(work, work.coinbase, work.nonce);
    } catch (error) {
      if (!this.#isCurrent(work)) return;
      logger.warn({ height: work.height, err: error }, `mining failed and is tried again: ${errorMessage(error)}`);
      this.#goOver(work);
      // When the link is gone too, the work waits until the template is sent again.
      if (network.links.has(work.link)) this.#later(() => void (this.#isCurrent(work) && this.#proceed(work)));
    }
  }

  async #ensureCoinbase(work: Work): Promise<void> {
    if (work.coinbase) return;
    const address = await this.#modules.rewards.address();
    const transaction = coinbaseTransaction(work.header.bNum, work.reward, address);
    work.coinbase = { transaction, hash: transactionHash(transaction), address };
    work.header = { ...work.header, nonce: new Uint8Array(0), miningTxHash: work.coinbase.hash };
  }

  async #search(work: Work): Promise<Uint8Array | undefined> {
    const nonce = await this.#pool.search(work.header);
    if (nonce === null || !this.#isCurrent(work)) return undefined;
    const weak = proofOfWorkFault({ ...work.header, nonce });
    if (weak === null) return nonce;
    throw new TesseraError('internal_error', `a mining thread found an invalid nonce: ${weak.message}`);
  }

  async #handIn(work: Work, coinbase: Coinbase, nonce: Uint8Array): Promise<void> {
    const { logger } = this.#modules;
    const { height } = work;
    const answer = await work.link.request(
      'mining.proof',
      { block_num: height, nonce: toHex(nonce) },
      { attachment: encodeTransaction(coinbase.transaction) },
    );
    const verdict = verdictOf(answer);
    this.#proofs[verdict.accepted ? 'accepted' : 'refused'].inc();
    if (!verdict.accepted) logger.warn({ height }, `the proof was refused: ${verdict.reason}`);
    const [other] = work.others;
    if (!verdict.accepted && other !== undefined && this.#isCurrent(work)) {
      // The node that leads may accept a proof that another one refuses.
      work.others.delete(other);
      work.link = other;
      return this.#handIn(work, coinbase, nonce);
    }
    // Another template may have arrived meanwhile; this proof counts all the same.
    work.state = 'idle';
    if (verdict.accepted) logger.debug({ height, coinbase: coinbase.hash }, 'the proof was accepted');
  }

  /** Sends the proof to this mempool node; the node chosen before takes it if that fails. */
  #turnTo(work: Work, link: Link): void {
    work.others.delete(link);
    work.others.add(work.link);
    work.link = link;
  }

  /** Turns to another mempool node that has sent the same template; false when there is none. */
  #goOver(work: Work): boolean {
    const [next] = work.others;
    if (next === undefined || work.state !== 'working') return false;
    work.others.delete(next);
    if (this.#modules.network.links.has(work.link)) work.others.add(work.link);
    work.link = next;
    return true;
  }

  #drop(work: Work): void {
    work.state = 'idle';
    this.#pool.abandon();
  }

  #isCurrent(work: Work): boolean {
    return this.#running && this.#work === work && work.state === 'working';
  }

  #later(run: () => void): void {
    const timer = this.#modules.clock.after(RETRY_MS, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.add(timer);
  }
}

/** The header of a template. Throws `protocol_violation`. */
function headerOf(attachment: Uint8Array, height: number): BlockHeader {
  try {
    const header = decodeHeader(attachment);
    if (header.bNum !== BigInt(height)) throw wrongTemplate('the header is of another block');
    if (!targetBytes(header.difficulty)) throw wrongTemplate('the difficulty has neither 0 nor 4 bytes');
    return header;
  } catch (error) {
    throw isTesseraError(error, 'malformed_transaction') ? wrongTemplate(error.message) : error;
  }
}

function wrongTemplate(text: string): TesseraError {
  return new TesseraError('protocol_violation', `mining.template: ${text}`);
}

function verdictOf(answer: Message): { readonly accepted: boolean; readonly reason: string } {
  if (answer.type === 'mining.verdict') return (answer as Message<'mining.verdict'>).body;
  throw new TesseraError('peer_unreachable', `the mempool answered a proof with ${answer.type}`);
}
