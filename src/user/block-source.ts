/** Blocks for a wallet, from any storage node: a producer's certificate proves each (`ProvenHashes`), or the node loses its link. */

import { blockCertificateFault, isNamed, type Producers } from '../chain/certificate.js';
import { decodeHeader } from '../chain/codec.js';
import { openFullBlock } from '../chain/decode-in-pieces.js';
import { blockHash } from '../chain/hash.js';
import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';
import { assertSound } from '../lib/fault.js';
import { TimeSlices } from '../lib/time-slices.js';
import { MAX_BLOCKS_PER_ANSWER, splitBlocks } from '../peers/messages.js';
import type { Link, Message, PeerNetwork } from '../peers/network.js';
import { certificatesOf, ProvenHashes } from '../peers/proven-hashes.js';
import type { ToldBlock } from '../wallet/block-check.js';
import type { ChainPoint } from '../wallet/block-intake.js';
import type { UserModules } from './modules.js';

/** Time limit for an answer, and for a link to open, in ms. */
const REQUEST_TIMEOUT = 30_000;
const DIAL_TIMEOUT = 5_000;

export interface BlockSourceOptions {
  readonly storages: readonly string[];
  readonly producers: Producers;
}

export interface BlockSourceModules {
  readonly network: Pick<PeerNetwork, 'dial'>;
  readonly slices: TimeSlices;
  /** Rejects with `protocol_violation` for a block that is not what it says. */
  readonly check: (told: ToldBlock) => Promise<void>;
}

export interface BlockRange {
  readonly from: number;
  readonly to: number;
  readonly previousHash: string | null;
}

export class BlockSource {
  readonly #options: BlockSourceOptions;
  readonly #modules: BlockSourceModules;
  /** Proof of the next blocks. */
  #proven: ProvenHashes | undefined;
  /** The node that answered last is asked first. */
  #turn = 0;

  constructor(options: BlockSourceOptions, modules: BlockSourceModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** The first blocks of the range, one at least. Throws `peer_unreachable` with the failure of each node. */
  read(range: BlockRange, signal: AbortSignal): Promise<readonly ToldBlock[]> {
    return this.#inTurn(`block ${range.from}`, signal, async (link) => {
      const proof = await this.#prove(link, range, signal);
      return this.#ask(link, range, proof, signal);
    });
  }

  /** The last block up to `to` made before a time (Unix seconds). Undefined if none, or one without a certificate. Throws as `read`. */
  async lastBefore(time: number, to: number, signal: AbortSignal): Promise<ChainPoint | undefined> {
    let found: ChainPoint | undefined;
    for (let [low, high] = [0, to]; low <= high; ) {
      const height = Math.floor((low + high) / 2);
      const one = await this.#inTurn(`block ${height}`, signal, (link) => this.#certifiedHeader(link, height, signal));
      if (one === undefined) return undefined;
      if (one.time < time) [found, low] = [one.point, height + 1];
      else high = height - 1;
    }
    return found;
  }

  async #inTurn<T>(what: string, signal: AbortSignal, ask: (link: Link) => Promise<T>): Promise<T> {
    const { storages } = this.#options;
    const reasons: string[] = [];
    let isOtherChain = true;
    for (let tried = 0; tried < storages.length; tried++) {
      const address = storages[this.#turn % storages.length] ?? '';
      try {
        return await this.#askAt(address, signal, ask);
      } catch (error) {
        if (signal.aborted) throw error;
        reasons.push(`${address}: ${errorMessage(error)}`);
        isOtherChain &&= isLinkFault(error);
        this.#turn += 1;
        this.#proven = undefined;
      }
    }
    throw new TesseraError('peer_unreachable', `no storage node gives ${what}: ${reasons.join('; ')}`, {
      details: isOtherChain ? { rule: 'link' } : {},
    });
  }

  async #askAt<T>(address: string, signal: AbortSignal, ask: (link: Link) => Promise<T>): Promise<T> {
    const link = await this.#modules.network.dial(address, { timeoutMs: DIAL_TIMEOUT, signal });
    if (link.role !== 'storage') throw new TesseraError('peer_unreachable', `it is a ${link.role} node`);
    try {
      return await ask(link);
    } catch (error) {
      if (isTesseraError(error, 'protocol_violation') && !isLinkFault(error)) link.close(errorMessage(error));
      throw error;
    }
  }

  async #prove(link: Link, { from, previousHash }: BlockRange, signal: AbortSignal): Promise<ProvenHashes> {
    const known = this.#proven?.at(from) === undefined ? undefined : this.#proven;
    // A block behind the range may be the one with the certificate.
    const question = { from, to: Number.MAX_SAFE_INTEGER, previousHash };
    const options = { timeoutMs: REQUEST_TIMEOUT, signal };
    this.#proven = known ?? (await ProvenHashes.ask(link, this.#options.producers, question, options));
    if (this.#proven === undefined)
      throw new TesseraError('peer_unreachable', `it has no certificate for block ${from}`);
    return this.#proven;
  }

  async #certifiedHeader(link: Link, height: number, signal: AbortSignal) {
    const { producers } = this.#options;
    const question = { from: height, count: 1 };
    const reply = await link.request('headers.get', question, { timeoutMs: REQUEST_TIMEOUT, signal });
    if (reply.type !== 'headers') throw new TesseraError('peer_unreachable', `it answered with ${reply.type}`);
    const { body, attachment } = reply as Message<'headers'>;
    const [bytes] = splitBlocks(attachment, body.count);
    if (bytes === undefined) throw new TesseraError('peer_unreachable', 'it has no such block');
    const header = decodeHeader(bytes);
    const point = { height, hash: blockHash(header), certificate: body.certificate };
    if (header.bNum !== BigInt(height)) throw new TesseraError('protocol_violation', 'it sent another header');
    if (!isNamed(producers, body.certificate)) return undefined;
    assertSound(blockCertificateFault(producers, point, body.certificate));
    return { point, time: Number(header.timestamp) };
  }

  async #ask(
    link: Link,
    { from, to }: BlockRange,
    proof: ProvenHashes,
    signal: AbortSignal,
  ): Promise<readonly ToldBlock[]> {
    const count = Math.min(to - from + 1, MAX_BLOCKS_PER_ANSWER);
    const reply = await link.request('blocks.get', { from, count }, { timeoutMs: REQUEST_TIMEOUT, signal });
    if (reply.type !== 'blocks') throw new TesseraError('peer_unreachable', `it answered with ${reply.type}`);
    const { body, attachment } = reply as Message<'blocks'>;
    if (body.from !== from || body.count > count) {
      throw new TesseraError('protocol_violation', 'it sent other blocks than were asked for');
    }
    const certificates = certificatesOf(body);
    const told: ToldBlock[] = [];
    for (const [i, bytes] of splitBlocks(attachment, body.count).entries()) {
      const hash = proof.at(from + i);
      // Blocks that no proof covers yet are asked for again.
      if (hash === undefined) break;
      const full = await openFullBlock(bytes, () => this.#modules.slices.turn());
      if (blockHash(full.block.header) !== hash) {
        throw new TesseraError('protocol_violation', `it sent another block ${from + i} than the certified one`);
      }
      const one: ToldBlock = { full, hash, certificate: certificates.get(from + i), isProven: true, isPast: true };
      await this.#modules.check(one);
      told.push(one);
    }
    if (told.length === 0) throw new TesseraError('peer_unreachable', `it has no block ${from} after all`);
    return told;
  }
}

/** True for a chain that does not follow the wallet's last block: it may be right, and the wallet on the wrong one. */
function isLinkFault(error: unknown): boolean {
  return isTesseraError(error) && error.details.rule === 'link';
}

/** Seconds by which the clock of this node may be ahead of the time in blocks: a day. */
const CLOCK_MARGIN = 86_400;

interface MissedBlocksOptions {
  readonly storages: readonly string[];
  readonly producers?: Producers | undefined;
}

interface MissedBlocksModules extends UserModules {
  /** Called with the number of missed blocks that have been taken in. */
  readonly onMissed?: ((done: number, total: number) => void) | undefined;
}

export class MissedBlocks {
  readonly #modules: MissedBlocksModules;
  readonly #source: BlockSource | undefined;

  constructor({ storages, producers }: MissedBlocksOptions, modules: MissedBlocksModules) {
    const { wallet, network, clock, logger } = modules;
    this.#modules = modules;
    if (storages.length > 0 && producers !== undefined) {
      const check = wallet.chain.check.bind(wallet.chain);
      this.#source = new BlockSource({ storages, producers }, { network, slices: new TimeSlices(clock), check });
      return;
    }
    const why = storages.length === 0 ? 'peers.storage names no storage node' : 'network.producer_keys is empty';
    logger.info({}, `${why}: what comes while this node is away will have neither block nor sender in the history`);
  }

  /** Takes in the blocks up to a point; true if there were any. Throws `peer_unreachable` when no storage node gives them. */
  async reach(point: ChainPoint, signal: AbortSignal): Promise<boolean> {
    const { wallet } = this.#modules;
    if (this.#source === undefined || point.height <= wallet.chain.height) return false;
    // A folder of an early version lacks the hash: the next refresh puts the wallet on a block that is known by its hash.
    if (wallet.chain.height >= 0 && wallet.chain.tipHash === undefined) return false;
    try {
      await this.#takeIn(this.#source, point.height, signal);
      return true;
    } catch (error) {
      // The wallet's last block is unsigned, and not on this chain: the refresh replaces it.
      if (isLinkFault(error) && wallet.chain.height >= 0 && !wallet.chain.isTipCertified) return false;
      throw error;
    }
  }

  async #takeIn(source: BlockSource, end: number, signal: AbortSignal): Promise<void> {
    const { wallet, logger, onMissed } = this.#modules;
    if (wallet.chain.height < 0 && wallet.chain.bornAt !== undefined) {
      const last = await source.lastBefore(wallet.chain.bornAt - CLOCK_MARGIN, end, signal);
      if (last !== undefined) await wallet.chain.advanceTo(last);
    }
    const first = wallet.chain.height + 1;
    logger.info({ from: first, to: end }, 'reading the blocks that were missed from a storage node');
    while (wallet.chain.height < end) {
      const range = { from: wallet.chain.height + 1, to: end, previousHash: wallet.chain.tipHash ?? null };
      for (const told of await source.read(range, signal)) {
        signal.throwIfAborted();
        const outcome = await wallet.chain.apply(told).catch(notOfTheMempool);
        if (outcome === 'gap') throw new TesseraError('peer_unreachable', `block ${range.from} does not follow`);
      }
      await wallet.chain.sync();
      onMissed?.(wallet.chain.height - first + 1, end - first + 1);
    }
  }
}

/** Rethrows the fault of a storage node as `peer_unreachable`, so that the followed mempool node is not blamed. */
function notOfTheMempool(error: unknown): never {
  if (!isTesseraError(error, 'protocol_violation')) throw error;
  throw new TesseraError('peer_unreachable', error.message, { cause: error });
}
