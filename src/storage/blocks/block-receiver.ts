/**
 * What a storage node answers to other nodes: it takes blocks from the mempool of its operator, hands blocks to other
 * storage nodes, and says how far it is. A block is confirmed only when it is on disk (rule P1).
 */

import { decodeFullBlock } from '../../chain/codec.js';
import { blockHash } from '../../chain/hash.js';
import type { FullBlock } from '../../chain/types.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import { createMutex } from '../../lib/mutex.js';
import { MAX_BLOCKS_PER_ANSWER } from '../../peers/messages.js';
import type { Link, Message, PeerNetwork, Reply } from '../../peers/network.js';
import type { Archive } from '../archive/archive.js';
import { joinBlocks } from './full-block.js';

/** Bytes after which an answer to `blocks.get` ends; it holds at least one block. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Characters of a reason that goes to a peer. */
const MAX_REASON_LENGTH = 1_000;

export interface DeliverModules {
  readonly archive: Archive;
  readonly network: Pick<PeerNetwork, 'handle'>;
  readonly logger: Logger;
  /** Called when the mempool is ahead: blocks before `blockNum` are missing here. */
  onBehind(blockNum: number): void;
  /** Called when a storage node says how many blocks it has. */
  onTip(link: Link, next: number): void;
}

/** Sets the handlers of `block.deliver`, `blocks.get`, `chain.tip.get` and `chain.tip`. */
export function handleStorageMessages(modules: DeliverModules): void {
  const { archive, network, logger, onBehind, onTip } = modules;
  // One answer at a time is in memory, however many peers ask.
  const answering = createMutex();

  network.handle('block.deliver', async (link, message) => {
    if (!link.trusted || link.role !== 'mempool') {
      return errorReply(new TesseraError('protocol_violation', 'only a trusted mempool node delivers blocks'));
    }
    try {
      return await receive(archive, message, onBehind);
    } catch (error) {
      logger.error({ err: error, blockNum: message.body.block_num }, 'a delivered block could not be stored');
      return errorReply(error);
    }
  });

  network.handle('blocks.get', (_, { body }) =>
    answering.run(() => blocksReply(archive, body.from, Math.min(body.count, MAX_BLOCKS_PER_ANSWER))).catch(errorReply),
  );

  network.handle('chain.tip.get', () => ({ type: 'chain.tip', body: tipBody(archive) }));

  network.handle('chain.tip', (link, { body }) => {
    onTip(link, body.next);
    return undefined;
  });
}

/** The body of `chain.tip`. */
export function tipBody({ tip }: Archive): { next: number; hash: string | null } {
  return { next: tip.next, hash: tip.hash };
}

async function receive(
  archive: Archive,
  { body, attachment }: Message<'block.deliver'>,
  onBehind: (blockNum: number) => void,
): Promise<Reply> {
  const blockNum = body.block_num;
  const refuse = (reason: string): Reply => ({
    type: 'block.refused',
    body: { block_num: blockNum, next: archive.nextHeight, reason: reason.slice(0, MAX_REASON_LENGTH) },
  });
  const stored: Reply = { type: 'block.stored', body: { block_num: blockNum, hash: body.hash } };

  let full: FullBlock;
  try {
    full = decodeFullBlock(attachment);
  } catch (error) {
    return refuse(`the block cannot be decoded: ${errorMessage(error)}`);
  }
  const { header } = full.block;
  const hash = blockHash(header);
  if (header.bNum !== BigInt(blockNum) || hash !== body.hash) {
    return refuse(`the message names block ${blockNum}, ${body.hash}, but brings block ${header.bNum}, ${hash}`);
  }
  try {
    if (blockNum === archive.nextHeight) await archive.store(full);
  } catch (error) {
    // Two deliveries of the same block may overlap: the second is refused for its number and confirmed below.
    if (!isTesseraError(error, 'block_refused')) throw error;
    if (blockNum >= archive.nextHeight) return refuse(error.message);
  }
  if (blockNum > archive.nextHeight) {
    onBehind(blockNum);
    return refuse(`block ${archive.nextHeight} must come first`);
  }
  const known = await archive.hashAt(blockNum);
  return known === hash ? stored : refuse(`another block is stored as number ${blockNum}: ${known}`);
}

async function blocksReply(archive: Archive, from: number, count: number): Promise<Reply> {
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

function errorReply(error: unknown): Reply {
  const code = isTesseraError(error) ? error.code : 'internal_error';
  // What is inside an unexpected error is not for other nodes.
  const detail = isTesseraError(error) ? error.message : 'Something broke inside the storage node.';
  return { type: 'error', body: { code, detail: detail.slice(0, MAX_REASON_LENGTH) } };
}
