/**
 * What a storage node answers to other nodes: it takes blocks from the mempool of its operator, hands blocks to other
 * storage nodes, and says how far it is. A block is confirmed only when it is on disk (rule P1).
 */

import { decodeFullBlock } from '../../chain/codec.js';
import { blockHash } from '../../chain/hash.js';
import type { FullBlock } from '../../chain/types.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import { Mutex } from '../../lib/mutex.js';
import { joinBlocks } from '../../peers/block-list.js';
import { MAX_BLOCKS_PER_ANSWER } from '../../peers/messages.js';
import type { Link, Message, PeerNetwork, Reply } from '../../peers/network.js';
import type { Archive } from '../archive/archive.js';

/** Bytes after which an answer to `blocks.get` ends; it holds at least one block. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Characters of a reason that goes to a peer. */
const MAX_REASON_LENGTH = 1_000;

export interface BlockReceiverModules {
  readonly archive: Archive;
  readonly network: Pick<PeerNetwork, 'handle'>;
  readonly logger: Logger;
  /** Called when the mempool is ahead: blocks before `height` are missing here. */
  onBehind(height: number): void;
  /** Called when a storage node says how many blocks it has. */
  onTip(link: Link, next: number): void;
}

export class BlockReceiver {
  readonly #modules: BlockReceiverModules;
  /** One answer at a time is in memory, however many peers ask. */
  readonly #answering = new Mutex();

  /** Sets the handlers of `block.deliver`, `blocks.get`, `chain.tip.get` and `chain.tip`. */
  constructor(modules: BlockReceiverModules) {
    this.#modules = modules;
    const { archive, network, onTip } = modules;
    network.handle('block.deliver', (link, message) => this.#onDeliver(link, message));
    network.handle('blocks.get', (_link, message) => this.#onBlocksGet(message));
    network.handle('chain.tip.get', () => ({ type: 'chain.tip', body: tipBody(archive) }));
    network.handle('chain.tip', (link, { body }) => {
      onTip(link, body.next);
      return undefined;
    });
  }

  async #onDeliver(link: Link, message: Message<'block.deliver'>): Promise<Reply> {
    if (!link.trusted || link.role !== 'mempool') {
      return errorReply(new TesseraError('protocol_violation', 'only a trusted mempool node delivers blocks'));
    }
    try {
      return await this.#receive(message);
    } catch (error) {
      const height = message.body.block_num;
      this.#modules.logger.error({ err: error, height }, 'a delivered block could not be stored');
      return errorReply(error);
    }
  }

  async #onBlocksGet({ body: { from, count } }: Message<'blocks.get'>): Promise<Reply> {
    try {
      return await this.#answering.run(() => this.#blocks(from, Math.min(count, MAX_BLOCKS_PER_ANSWER)));
    } catch (error) {
      return errorReply(error);
    }
  }

  async #receive({ body, attachment }: Message<'block.deliver'>): Promise<Reply> {
    const height = body.block_num;
    let full: FullBlock;
    try {
      full = decodeFullBlock(attachment);
    } catch (error) {
      return this.#refuse(height, `the block cannot be decoded: ${errorMessage(error)}`);
    }
    const { header } = full.block;
    const hash = blockHash(header);
    if (header.bNum !== BigInt(height) || hash !== body.hash) {
      const named = `the message names block ${height}, ${body.hash}`;
      return this.#refuse(height, `${named}, but brings block ${header.bNum}, ${hash}`);
    }
    return this.#store(height, hash, full);
  }

  async #store(height: number, hash: string, full: FullBlock): Promise<Reply> {
    const { archive, onBehind } = this.#modules;
    try {
      if (height === archive.nextHeight) await archive.store(full);
    } catch (error) {
      // Two deliveries of the same block may overlap: the second is refused for its height and confirmed below.
      if (!isTesseraError(error, 'block_refused')) throw error;
      if (height >= archive.nextHeight) return this.#refuse(height, error.message);
    }
    if (height > archive.nextHeight) {
      onBehind(height);
      return this.#refuse(height, `block ${archive.nextHeight} must come first`);
    }
    const known = await archive.hashAt(height);
    return known === hash
      ? { type: 'block.stored', body: { block_num: height, hash } }
      : this.#refuse(height, `another block is stored as number ${height}: ${known}`);
  }

  #refuse(height: number, reason: string): Reply {
    const body = {
      block_num: height,
      next: this.#modules.archive.nextHeight,
      reason: reason.slice(0, MAX_REASON_LENGTH),
    };
    return { type: 'block.refused', body };
  }

  async #blocks(from: number, count: number): Promise<Reply> {
    const { archive } = this.#modules;
    const blocks: Uint8Array[] = [];
    let bytes = 0;
    while (blocks.length < count && bytes < MAX_ANSWER_BYTES) {
      const block = await archive.fullBlockBytes(from + blocks.length);
      if (block === undefined || (blocks.length > 0 && bytes + block.length > MAX_ANSWER_BYTES)) break;
      blocks.push(block);
      bytes += block.length;
    }
    return { type: 'blocks', body: { from, count: blocks.length }, attachment: joinBlocks(blocks) };
  }
}

/** The body of `chain.tip`. */
export function tipBody({ tip }: Archive): { next: number; hash: string | null } {
  return { next: tip.next, hash: tip.hash };
}

function errorReply(error: unknown): Reply {
  const code = isTesseraError(error) ? error.code : 'internal_error';
  // What is inside an unexpected error is not for other nodes.
  const detail = isTesseraError(error) ? error.message : 'Something broke inside the storage node.';
  return { type: 'error', body: { code, detail: detail.slice(0, MAX_REASON_LENGTH) } };
}
