/**
 * Answers of a storage node to other nodes: it takes signed blocks from the mempool of its operator, gives headers and blocks
 * to any storage node, and tells how many it has. A block is confirmed only when it is on disk (rule P1).
 */

import { type BlockPlace, blockCertificateFault, type Certificate, type Producers } from '../../chain/certificate.js';
import { decodeHeader } from '../../chain/codec.js';
import { MAX_BLOCK_AHEAD_SECONDS } from '../../chain/constants.js';
import { decodeFullBlockInPieces } from '../../chain/decode-in-pieces.js';
import { blockHash } from '../../chain/hash.js';
import type { BlockHeader, FullBlock } from '../../chain/types.js';
import type { Room } from '../../db/disk-room.js';
import { unixSeconds } from '../../lib/clock.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import { Mutex } from '../../lib/mutex.js';
import { TimeSlices } from '../../lib/time-slices.js';
import type { DoubleSigning } from '../../observability/double-signing.js';
import type { HasClock, HasLogger, HasMetrics } from '../../observability/modules.js';
import { joinBlocks, MAX_BLOCKS_PER_ANSWER, type MessageBody } from '../../peers/messages.js';
import type { Link, Message, PeerNetwork, Reply } from '../../peers/network.js';
import type { Archive } from '../archive/archive.js';

/** Bytes after which an answer to `blocks.get` ends; it holds at least one block. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Bytes after which an answer to a node without the secret ends, and an answer with headers to any node. */
const MAX_STRANGER_ANSWER_BYTES = 4 * 1024 * 1024;
/** Milliseconds that one answer with headers may take: to read a header, the list of its block is read too. */
const MAX_HEADERS_MS = 20;
/** The most characters of a reason that is sent to a peer. */
const MAX_REASON_LENGTH = 1_000;

export interface BlockReceiverModules extends HasClock, HasLogger, HasMetrics {
  readonly archive: Archive;
  readonly room: Pick<Room, 'problems'>;
  /** Keys that must have signed a block; undefined in a network that names no producers. */
  readonly producers: Producers | undefined;
  readonly network: Pick<PeerNetwork, 'handle'>;
  readonly doubleSigning: DoubleSigning;
  /** Called when the mempool is ahead: blocks before `height` are missing here. */
  onBehind(height: number): void;
  /** Called when a delivered block could not be stored. */
  onFailed(): void;
  /** Called when a mempool node has delivered a block that is stored here. */
  onDelivered(link: Link, height: number): void;
  /** Called when a node says how many blocks it has. */
  onTip(link: Link, tip: MessageBody<'chain.tip'>): void;
}

export class BlockReceiver {
  readonly #modules: BlockReceiverModules;
  /** Held while an answer is in memory, one at a time, however many peers ask. Strangers have a lock of their own, and delay no others. */
  readonly #answering = new Mutex();
  readonly #answeringStrangers = new Mutex();
  /** Held while a block is read and stored: blocks are taken in the order in which they came. */
  readonly #receiving = new Mutex();
  readonly #slices: TimeSlices;

  /** Sets the handlers of `block.deliver`, `headers.get`, `blocks.get`, `chain.tip.get` and `chain.tip`. */
  constructor(modules: BlockReceiverModules) {
    this.#modules = modules;
    this.#slices = new TimeSlices(modules.clock);
    const { network, clock, onTip } = modules;
    network.handle('block.deliver', (link, message) => this.#onDeliver(link, message));
    network.handle('headers.get', (link, message) => this.#onHeadersGet(link, message));
    network.handle('blocks.get', (link, message) => this.#onBlocksGet(link, message));
    network.handle('chain.tip.get', (link) => ({
      type: 'chain.tip',
      body: { ...tipBody(link, modules), time: clock.now() },
    }));
    network.handle('chain.tip', (link, { body }) => {
      onTip(link, body);
      return undefined;
    });
  }

  async #onDeliver(link: Link, message: Message<'block.deliver'>): Promise<Reply> {
    if (!link.trusted || link.role !== 'mempool') {
      return errorReply(new TesseraError('protocol_violation', 'only a trusted mempool node delivers blocks'));
    }
    try {
      return await this.#receiving.run(() => this.#receive(link, message));
    } catch (error) {
      const height = message.body.block_num;
      // Nothing is lost when a node stops: the block is delivered again.
      if (!isTesseraError(error, 'shutting_down'))
        this.#modules.logger.error({ err: error, height }, 'a delivered block could not be stored');
      this.#modules.onFailed();
      return errorReply(error);
    }
  }

  #onHeadersGet(link: Link, { body: { from, count } }: Message<'headers.get'>): Promise<Reply> {
    return this.#answer(link, () => this.#headers(from, count));
  }

  #onBlocksGet(link: Link, { body }: Message<'blocks.get'>): Promise<Reply> {
    const maxBytes = link.trusted ? MAX_ANSWER_BYTES : MAX_STRANGER_ANSWER_BYTES;
    return this.#answer(link, () => this.#blocks(body, maxBytes));
  }

  async #answer({ trusted }: Link, make: () => Promise<Reply>): Promise<Reply> {
    try {
      return await (trusted ? this.#answering : this.#answeringStrangers).run(make);
    } catch (error) {
      return errorReply(error);
    }
  }

  async #receive(link: Link, { body, attachment }: Message<'block.deliver'>): Promise<Reply> {
    const height = body.block_num;
    let full: FullBlock;
    try {
      full = await decodeFullBlockInPieces(attachment, () => this.#slices.turn(), { isForRules: true });
    } catch (error) {
      return this.#refuse(height, `the block cannot be decoded: ${errorMessage(error)}`);
    }
    const { header } = full.block;
    const hash = blockHash(header);
    if (header.bNum !== BigInt(height) || hash !== body.hash) {
      const named = `the message names block ${height}, ${body.hash}`;
      return this.#refuse(height, `${named}, but brings block ${header.bNum}, ${hash}`);
    }
    return this.#store(link, { height, hash }, full, body);
  }

  async #store(
    link: Link,
    place: BlockPlace,
    full: FullBlock,
    { certificate, round }: MessageBody<'block.deliver'>,
  ): Promise<Reply> {
    const { archive, producers, metrics, onBehind } = this.#modules;
    const { height, hash } = place;
    const unsigned = producers === undefined ? null : blockCertificateFault(producers, place, certificate);
    if (unsigned !== null && height >= archive.nextHeight) {
      metrics.counter('tessera_storage_blocks_refused_total', 'certificate').inc();
      return this.#refuse(height, unsigned.message);
    }
    const early = height === archive.nextHeight ? await this.#earliness(full.block.header) : null;
    if (early !== null) {
      metrics.counter('tessera_storage_blocks_refused_total', 'time').inc();
      this.#modules.logger.error({ height, rule: 'time', reason: early }, 'a delivered block is not stored yet');
      return this.#refuse(height, early, 'time');
    }
    try {
      if (height === archive.nextHeight) await archive.store(full, certificate, round);
    } catch (error) {
      // Two deliveries of the same block may overlap: the second is refused for its height and confirmed below.
      if (!isTesseraError(error, 'block_refused')) throw error;
      if (height >= archive.nextHeight) return this.#refuseForGood(height, error);
    }
    if (height > archive.nextHeight) {
      onBehind(height);
      return this.#refuse(height, `block ${archive.nextHeight} must come first`);
    }
    const known = await archive.hashAt(height);
    if (known === hash) {
      this.#modules.onDelivered(link, height);
      return { type: 'block.stored', body: { block_num: height, hash } };
    }
    if (unsigned === null) await noteOther(this.#modules, place, certificate);
    return this.#refuse(height, `another block is stored as number ${height}: ${known}`);
  }

  /**
   * Why the next block comes too early; null when it does not. Times never go back, so one with the time of the last block could hold nothing new.
   * Blocks of other storage nodes are taken whatever their time is: they are in the chain (decision B19).
   */
  async #earliness({ timestamp }: BlockHeader): Promise<string | null> {
    const { archive, clock } = this.#modules;
    const ahead = Number(timestamp) - unixSeconds(clock);
    if (ahead <= MAX_BLOCK_AHEAD_SECONDS) return null;
    const last = await archive.headerBytes(archive.nextHeight - 1);
    if (last !== undefined && timestamp <= decodeHeader(last).timestamp) return null;
    return `its time is ${ahead} s ahead of the clock of this node, and at most ${MAX_BLOCK_AHEAD_SECONDS} s are taken: it is taken when its time has come that near`;
  }

  /** The refusal of a block that breaks a rule of the chain: it will be refused however often it is sent. */
  #refuseForGood(height: number, { message, details }: TesseraError): Reply {
    const rule = String(details.rule);
    this.#modules.logger.error({ height, rule, reason: message }, 'a delivered block breaks a rule and is not stored');
    return this.#refuse(height, message, rule);
  }

  #refuse(height: number, reason: string, rule?: string): Reply {
    const body = {
      block_num: height,
      next: this.#modules.archive.nextHeight,
      reason: reason.slice(0, MAX_REASON_LENGTH),
      ...(rule === undefined ? {} : { rule }),
    };
    return { type: 'block.refused', body };
  }

  async #headers(from: number, count: number): Promise<Reply> {
    const { archive, clock } = this.#modules;
    const headers: Uint8Array[] = [];
    const until = clock.monotonic() + MAX_HEADERS_MS;
    let bytes = 0;
    while (headers.length < count && bytes < MAX_STRANGER_ANSWER_BYTES && clock.monotonic() <= until) {
      const header = await archive.headerBytes(from + headers.length);
      if (header === undefined) break;
      headers.push(header);
      bytes += header.length;
    }
    const certificate = await archive.certificateAt(from + headers.length - 1);
    const body = { from, count: headers.length, ...(headers.length > 0 && certificate && { certificate }) };
    return { type: 'headers', body, attachment: joinBlocks(headers) };
  }

  async #blocks({ from, count, packed }: MessageBody<'blocks.get'>, maxBytes: number): Promise<Reply> {
    const { archive } = this.#modules;
    const isPacked = packed === true && archive.isInSegments;
    const blocks: Uint8Array[] = [];
    const certificates: { block_num: number; certificate: Certificate }[] = [];
    let bytes = 0;
    while (blocks.length < Math.min(count, MAX_BLOCKS_PER_ANSWER) && bytes < maxBytes) {
      const height = from + blocks.length;
      const block = await archive.fullBlockBytes(height, isPacked);
      if (block === undefined || (blocks.length > 0 && bytes + block.length > maxBytes)) break;
      blocks.push(block);
      bytes += block.length;
      const certificate = await archive.certificateAt(height);
      if (certificate !== undefined) certificates.push({ block_num: height, certificate });
    }
    const isWhole = from + blocks.length === archive.nextHeight;
    const round = isWhole ? await archive.roundFacts() : undefined;
    const body = { from, count: blocks.length, certificates, ...(round && { round }), ...(isPacked && { packed }) };
    return { type: 'blocks', body, attachment: joinBlocks(blocks) };
  }
}

/** Reports a block with a valid certificate at a height where another block is stored and proven. */
export async function noteOther(
  { archive, doubleSigning }: Pick<BlockReceiverModules, 'archive' | 'doubleSigning'>,
  { height, hash: other }: BlockPlace,
  certificate: Certificate | undefined,
): Promise<void> {
  const kept = await archive.hashAt(height);
  // The certificate of the last block proves all blocks before it.
  if (kept === undefined || kept === other || certificate === undefined || archive.tipCertificate === undefined) return;
  doubleSigning.found({ height, kept, other, producer: certificate.key });
}

/** The body of `chain.tip` for this link. */
export function tipBody(
  { role, trusted }: Link,
  { archive, room }: Pick<BlockReceiverModules, 'archive' | 'room'>,
): MessageBody<'chain.tip'> {
  const { tip, tipCertificate: certificate } = archive;
  const problem = role === 'mempool' && trusted ? room.problems.join('; ').slice(0, MAX_REASON_LENGTH) : '';
  return { next: tip.next, hash: tip.hash, ...(certificate && { certificate }), ...(problem && { problem }) };
}

function errorReply(error: unknown): Reply {
  const code = isTesseraError(error) ? error.code : 'internal_error';
  // The text of an unexpected error is not told to other nodes.
  const detail = isTesseraError(error) ? error.message : 'Something broke inside the storage node.';
  return { type: 'error', body: { code, detail: detail.slice(0, MAX_REASON_LENGTH) } };
}
