/**
 * Fetches the blocks that were made while this node was away, or all of them, from other storage nodes. Peers are asked in
 * turn for ranges; a peer that is silent or has nothing is passed over until it speaks again, a peer that sends an invalid
 * block is cut off. Nothing that a peer says is believed: every block goes through the archive's own rules, and in a
 * network with producers its hash must be proven by a certificate before it is asked for. Only nodes that know the secret
 * may bring blocks that no certificate proves, and only until the archive has one, or has one behind a damaged block.
 */

import {
  type BlockPlace,
  blockCertificateFault,
  type Certificate,
  isNamed,
  type Producers,
} from '../../chain/certificate.js';
import { decodeFullBlockInPieces } from '../../chain/decode-in-pieces.js';
import { blockHash } from '../../chain/hash.js';
import type { FullBlock } from '../../chain/types.js';
import type { Clock, Timer } from '../../lib/clock.js';
import { type ErrorCode, errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import { assertSound } from '../../lib/fault.js';
import { FewLines } from '../../lib/few-lines.js';
import type { Logger } from '../../lib/logger.js';
import { type Signal, SignalSource } from '../../lib/signal.js';
import { TimeSlices } from '../../lib/time-slices.js';
import type { DoubleSigning } from '../../observability/double-signing.js';
import { noMetrics } from '../../observability/metrics.js';
import type { HasClock, HasLogger, HasMetrics } from '../../observability/modules.js';
import {
  MAX_BLOCKS_PER_ANSWER,
  type MessageBody,
  type MessageType,
  type RoundFactsBody,
  splitBlocks,
} from '../../peers/messages.js';
import type { Link, Message, PeerNetwork } from '../../peers/network.js';
import { certificatesOf, isFork, ProvenHashes } from '../../peers/proven-hashes.js';
import type { Archive } from '../archive/archive.js';
import { encodedBlock } from '../archive/places.js';
import { readRecord } from '../segments/record.js';
import { noteOther } from './block-receiver.js';
import { PeerDoubts } from './peer-doubts.js';
import { verifyAhead } from './verify-ahead.js';

const DEFAULT_REQUEST_TIMEOUT_MS = 10_000;
/** Errors that are no peer's fault, and that no peer can help with. */
const OWN_FAULTS: ReadonlySet<ErrorCode> = new Set(['data_corrupt', 'database_failed', 'write_failed']);
const DEFAULT_RETRY_MS = 5_000;
export interface CatchUpOptions {
  /** Signers of blocks; undefined in a network that names none. */
  readonly producers?: Producers | undefined;
  /** Milliseconds that a peer may take to answer. */
  readonly requestTimeoutMs?: number;
  /** Milliseconds after a failure until peers are asked for their tips again. */
  readonly retryMs?: number;
  readonly blocksPerRequest?: number;
}

export interface CatchUpModules extends HasClock, HasLogger, Partial<HasMetrics> {
  readonly archive: Archive;
  readonly network: Pick<PeerNetwork, 'links' | 'linkUp' | 'linkDown'>;
  readonly doubleSigning: DoubleSigning;
}

/** `height` is the number of blocks stored, `target` the number that the furthest peer says it has. */
export interface CatchUpProgress {
  readonly height: number;
  readonly target: number;
}

/** Data that came with a block. */
interface FetchedWith {
  readonly certificate: Certificate | undefined;
  readonly proof: ProvenHashes | undefined;
  readonly facts: RoundFactsBody | undefined;
}

export class CatchUp {
  readonly #archive: Archive;
  readonly #network: CatchUpModules['network'];
  readonly #clock: Clock;
  readonly #slices: TimeSlices;
  readonly #logger: Logger;
  readonly #lines: FewLines;
  readonly #doubleSigning: DoubleSigning;
  readonly #producers: Producers | undefined;
  readonly #requestTimeoutMs: number;
  readonly #retryMs: number;
  readonly #blocksPerRequest: number;
  readonly #doubts: PeerDoubts;
  /** Number of blocks that each linked storage node says it has. */
  readonly #tips = new Map<Link, number>();
  readonly #progress = new SignalSource<CatchUpProgress>();
  readonly #idle = new SignalSource<CatchUpProgress>();
  readonly #stopping = new AbortController();
  readonly #subscriptions: (() => void)[] = [];
  readonly #questions = new Set<Promise<void>>();
  #running: Promise<void> | undefined;
  #retry: Timer | undefined;
  #turn = 0;
  /** Hashes of the next blocks, where a certificate proves them. */
  #proven: ProvenHashes | undefined;
  /** The peer that was asked last. */
  #asked: Link | undefined;
  /** Question for the blocks after those that are being stored, asked ahead. */
  #ahead: { readonly link: Link; readonly from: number; readonly reply: Promise<Message> } | undefined;
  /** Peers that have given a block which was stored: only they are asked ahead, before their last answer is checked. */
  readonly #givers = new WeakSet<Link>();

  constructor(options: CatchUpOptions, modules: CatchUpModules) {
    const { archive, network, clock, logger, metrics = noMetrics, doubleSigning } = modules;
    this.#archive = archive;
    this.#network = network;
    this.#clock = clock;
    this.#slices = new TimeSlices(clock);
    this.#logger = logger;
    this.#lines = new FewLines(logger, clock);
    this.#doubleSigning = doubleSigning;
    this.#producers = options.producers;
    this.#requestTimeoutMs = options.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS;
    this.#retryMs = options.retryMs ?? DEFAULT_RETRY_MS;
    this.#blocksPerRequest = Math.min(options.blocksPerRequest ?? MAX_BLOCKS_PER_ANSWER, MAX_BLOCKS_PER_ANSWER);
    this.#doubts = new PeerDoubts(clock, this.#retryMs);
    const behind = metrics.gauge('tessera_storage_blocks_behind');
    metrics.beforeScrape(() =>
      behind.set(this.#running === undefined ? 0 : this.#status().target - archive.nextHeight),
    );
  }

  /** Progress while blocks are being fetched; undefined when there is nothing to do. */
  get current(): CatchUpProgress | undefined {
    // A peer that has broken its word before is asked, but does not count as catching up.
    const counts = this.#asked === undefined || !this.#doubts.has(this.#asked);
    return this.#running && counts ? this.#status() : undefined;
  }

  get progress(): Signal<CatchUpProgress> {
    return this.#progress;
  }

  /** Fires when there is nothing more to fetch for now. */
  get idle(): Signal<CatchUpProgress> {
    return this.#idle;
  }

  start(): void {
    this.#subscriptions.push(
      this.#network.linkUp.on((link) => this.#ask(link)),
      this.#network.linkDown.on(({ link }) => this.#tips.delete(link)),
    );
    this.lookAround();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#retry?.cancel();
    for (const unsubscribe of this.#subscriptions.splice(0)) unsubscribe();
    await this.#running;
    await Promise.all(this.#questions);
  }

  /**
   * Notes how many blocks a storage node says it has: believed from nodes with the secret, and from others with a certificate
   * of the last one. Throws `protocol_violation` when that is forged.
   */
  hear(link: Link, { next, hash, certificate }: MessageBody<'chain.tip'>): void {
    if (this.#isStopping || !this.#isSource(link) || this.#doubts.isActive(link)) return;
    if (this.#producers !== undefined && hash !== null && isNamed(this.#producers, certificate)) {
      const place = { height: next - 1, hash };
      assertSound(blockCertificateFault(this.#producers, place, certificate));
      if (place.height < this.#archive.nextHeight) this.#compare(place, certificate);
      // If only one block is missing, its own certificate is proof enough.
      if (place.height === this.#archive.nextHeight) this.#proven = ProvenHashes.single(place.height, hash);
    } else if (!link.trusted) return;
    this.#tips.set(link, next);
    this.#wake();
  }

  #compare(place: BlockPlace, certificate: Certificate): void {
    const modules = { archive: this.#archive, doubleSigning: this.#doubleSigning };
    // Errors of reading are reported by the archive itself.
    noteOther(modules, place, certificate).catch(() => undefined);
  }

  /** Asks all storage nodes how many blocks they have. */
  lookAround(): void {
    for (const link of this.#network.links) this.#ask(link);
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  #isSource({ role, trusted }: Link): boolean {
    return role === 'storage' && (trusted || this.#producers !== undefined);
  }

  #status(): CatchUpProgress {
    const height = this.#archive.nextHeight;
    return { height, target: Math.max(height, ...this.#tips.values()) };
  }

  /** Peers that say they have more blocks than this node. */
  #sources(): Link[] {
    return [...this.#tips].filter(([, next]) => next > this.#archive.nextHeight).map(([link]) => link);
  }

  #wake(): void {
    if (this.#running !== undefined || this.#isStopping || this.#sources().length === 0) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      this.#idle.emit(this.#status());
      this.#wake();
    });
  }

  async #run(): Promise<void> {
    const { height, target } = this.#status();
    // A mirror fetches each new block, and logs it when it is stored; only more than one is worth another line.
    const level = target - height > 1 ? 'info' : 'debug';
    this.#logger[level]({ height, target }, 'catching up with other storage nodes');
    while (!this.#isStopping) {
      const link = this.#nextSource();
      if (link === undefined) break;
      try {
        await this.#fetchFrom(link);
      } catch (error) {
        if (this.#isStopping) return;
        this.#passOver(link, error);
      }
    }
    this.#logger[level](this.#status(), 'caught up as far as other storage nodes can be used');
  }

  /** The peer that has been asked ahead, else the next peer in turn. */
  #nextSource(): Link | undefined {
    const sources = this.#sources();
    const { link: asked } = this.#ahead ?? {};
    if (asked !== undefined && sources.includes(asked)) return asked;
    return sources[this.#turn++ % Math.max(sources.length, 1)];
  }

  /** The answer to a question for blocks, which may have been asked ahead. */
  #blocks(link: Link, from: number, count: number): Promise<Message> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    if (ahead?.link === link && ahead.from === from) return ahead.reply;
    const options = { timeoutMs: this.#requestTimeoutMs, signal: this.#stopping.signal };
    return link.request('blocks.get', { from, count, packed: true }, options);
  }

  /** Asks for the next blocks while the last ones are stored: the slower of both takes the time, not their sum. */
  #askAhead(from: number, current: Link): void {
    if (this.#ahead !== undefined) return;
    const mayGive = (link: Link): boolean => link !== current || this.#givers.has(link);
    const sources = [...this.#tips].flatMap(([link, next]) => (next > from && mayGive(link) ? [link] : []));
    const link = sources[this.#turn++ % Math.max(sources.length, 1)];
    // Blocks that the segments have behind a damaged one need not be fetched.
    if (link === undefined || this.#archive.ahead > 0 || this.#isStopping) return;
    const reply = this.#blocks(link, from, this.#blocksPerRequest);
    reply.catch(() => undefined);
    this.#ahead = { link, from, reply };
  }

  async #fetchFrom(link: Link): Promise<void> {
    this.#asked = link;
    await this.#archive.load(undefined, this.#stopping.signal);
    const from = this.#archive.nextHeight;
    if ((this.#tips.get(link) ?? 0) <= from) return;
    const wanted = Math.min(this.#archive.missing ?? this.#blocksPerRequest, this.#blocksPerRequest);
    const proof = await this.#prove(link, from);
    const reply = await this.#blocks(link, from, wanted);
    if (!isMessage(reply, 'blocks')) throw new TesseraError('peer_unreachable', `the peer answered with ${reply.type}`);
    if (reply.body.from !== from)
      throw new TesseraError('protocol_violation', 'the peer sent other blocks than asked for');
    if (reply.body.count === 0) throw new TesseraError('peer_unreachable', 'the peer has no such blocks after all');
    const certificates = certificatesOf(reply.body);
    const { count, round, packed } = reply.body;
    this.#askAhead(from + count, link);
    const blocks = splitBlocks(reply.attachment, count);
    // Blocks that no proof covers yet are asked for again.
    const isOfUse = (i: number): boolean => i < count && (proof === undefined || proof.at(from + i) !== undefined);
    let coming = this.#decode(isOfUse(0) ? blocks[0] : undefined, packed);
    try {
      for (let i = 0; isOfUse(i) && !this.#isStopping; i++) {
        const full = await coming;
        if (full === undefined) break;
        // Nothing proves what a peer says about a round, so only a node of this operator is believed.
        const facts = link.trusted && i === count - 1 ? round : undefined;
        const storing = this.#store(full, { certificate: certificates.get(from + i), proof, facts });
        coming = this.#decode(isOfUse(i + 1) ? blocks[i + 1] : undefined, packed, this.#givers.has(link));
        await storing;
        this.#doubts.clear(link);
        this.#givers.add(link);
        this.#askAhead(from + count, link);
        this.#progress.emit(this.#status());
      }
    } finally {
      await coming.catch(() => undefined);
    }
    // A range that was stored in the meantime is progress too; otherwise the peer would be asked forever.
    if (this.#archive.nextHeight === from)
      throw new TesseraError('protocol_violation', 'the peer sent blocks of other numbers');
  }

  /** Decodes a block while the one before it is stored; with `isExpected` its signatures are verified meanwhile. */
  #decode(bytes: Uint8Array | undefined, isPacked = false, isExpected = false): Promise<FullBlock | undefined> {
    const decode = async (given: Uint8Array): Promise<FullBlock> => {
      const encoded = isPacked ? await encodedBlock(readRecord(given), this.#slices) : given;
      const full = await decodeFullBlockInPieces(encoded, () => this.#slices.turn(), { isForRules: true });
      if (isExpected) await verifyAhead(full, this.#archive.scripts, this.#slices);
      return full;
    };
    const decoded = bytes === undefined ? Promise.resolve(undefined) : decode(bytes);
    // A block may turn out wrong before anybody awaits it in its turn.
    decoded.catch(() => undefined);
    return decoded;
  }

  /** Proof of the next blocks; undefined where none is needed. Throws an error that says what the peer did wrong. */
  async #prove(link: Link, from: number): Promise<ProvenHashes | undefined> {
    if (this.#producers === undefined) return undefined;
    if (this.#proven?.at(from) !== undefined) return this.#proven;
    const range = { from, to: this.#tips.get(link) ?? from, previousHash: this.#archive.tip.hash };
    const question = { timeoutMs: this.#requestTimeoutMs, signal: this.#stopping.signal };
    this.#proven = await ProvenHashes.ask(link, this.#producers, range, question);
    if (this.#proven !== undefined || (link.trusted && !this.#archive.isCertified)) return this.#proven;
    throw new TesseraError('peer_unreachable', 'the peer has no certificate for its blocks');
  }

  /** Stores a block, unless the mempool has delivered it first: that is not the peer's fault. */
  async #store(full: FullBlock, { certificate, proof, facts }: FetchedWith): Promise<void> {
    const height = Number(full.block.header.bNum);
    const isStored = (): boolean => height < this.#archive.nextHeight;
    if (isStored()) return;
    if (proof !== undefined && blockHash(full.block.header) !== proof.at(height)) {
      throw new TesseraError('protocol_violation', `the peer sent a block ${height} that is not the certified one`);
    }
    try {
      await this.#archive.store(full, certificate, facts);
    } catch (error) {
      if (!(isTesseraError(error, 'block_refused') && isStored())) throw error;
    }
  }

  /** Excludes a peer until it speaks again, or forever. */
  #passOver(link: Link, error: unknown): void {
    this.#tips.delete(link);
    this.#scheduleRetry();
    const facts = { peer: link.address, reason: errorMessage(error) };
    const lines = this.#lines.about(link);
    if (isTesseraError(error, 'peer_unreachable')) {
      this.#doubts.addBrokenWord(link);
      lines.warn(facts, 'a storage node does not give its blocks');
      return;
    }
    if (isTesseraError(error) && OWN_FAULTS.has(error.code)) {
      // No peer is to blame or can help: wait for the retry, or for the node to stop.
      this.#logger.error({ peer: link.address, err: error }, 'a fetched block cannot be stored');
      this.#tips.clear();
      return;
    }
    this.#doubts.addWrongBlock(link);
    lines.warn(facts, 'a storage node sent a block that is not valid here');
    if (isFork(error)) this.#compare(error.details.fork, error.details.certificate);
    // A block that merely does not follow our last one may be right, and this node on the wrong chain: no reason to cut the
    // peer off.
    if (!(isTesseraError(error) && error.details.rule === 'link')) link.close(`invalid block: ${errorMessage(error)}`);
  }

  #scheduleRetry(): void {
    this.#retry ??= this.#clock.after(this.#retryMs, () => {
      this.#retry = undefined;
      this.lookAround();
    });
  }

  #ask(link: Link): void {
    if (this.#isStopping || !this.#isSource(link)) return;
    if (this.#doubts.isActive(link)) {
      this.#scheduleRetry();
      return;
    }
    const question = this.#askTip(link).finally(() => this.#questions.delete(question));
    this.#questions.add(question);
  }

  async #askTip(link: Link): Promise<void> {
    try {
      const options = { timeoutMs: this.#requestTimeoutMs, signal: this.#stopping.signal };
      const reply = await link.request('chain.tip.get', {}, options);
      if (isMessage(reply, 'chain.tip')) this.hear(link, reply.body);
    } catch (error) {
      if (this.#isStopping) return;
      if (isTesseraError(error, 'protocol_violation')) return link.close(errorMessage(error));
      const facts = { peer: link.address, reason: errorMessage(error) };
      this.#lines.about(link).warn(facts, 'a storage node does not say how far it is');
      if (this.#network.links.has(link)) this.#scheduleRetry();
    }
  }
}

function isMessage<T extends MessageType>(message: Message, type: T): message is Message<T> {
  return message.type === type;
}
