/** Answers of the routes of the index: the hash of the last block is the ETag of what changes with the chain. */

import type { FastifyReply } from 'fastify';
import { addressGroup } from '../../../lib/ip-address.js';
import { stringifyExact } from '../../../lib/json.js';
import type { ChainIndexService, ChainView, PageQuery } from '../../../storage/chain-index/service.js';
import type { StoredOptions } from '../../http/answers.js';
import { clientAddress } from '../../http/client-address.js';
import type { ExactInteger } from '../../schemas/scalars.js';
import { DEFAULT_ENTRIES } from './parts.js';

/** The ETag of answers about an empty chain. */
const NO_BLOCK = 'none';

/** Reads the chain; who asks for much shares the turns of its address. */
export function readChain<T>(
  { request }: FastifyReply,
  index: ChainIndexService,
  read: (chain: ChainView) => Promise<T>,
): Promise<T> {
  return index.at(read, addressGroup(clientAddress(request)));
}

/** Sends what the chain says now, with the number of the block after which it says so. */
export async function answerNow(
  reply: FastifyReply,
  index: ChainIndexService,
  read: (chain: ChainView) => Promise<object>,
): Promise<FastifyReply> {
  const { answer, etag } = await readChain(reply, index, async (chain) => {
    const { tip } = chain;
    return { answer: { ...(await read(chain)), as_of_block: tip?.height ?? null }, etag: tip?.hash ?? NO_BLOCK };
  });
  return sendAnswer(reply, answer, { etag });
}

export function sendAnswer(reply: FastifyReply, answer: object, options: StoredOptions): FastifyReply {
  return reply.stored(Buffer.from(stringifyExact(answer)), options);
}

export function pageOf({ limit, cursor }: { limit?: ExactInteger; cursor?: string }): PageQuery {
  return { limit: Number(limit ?? DEFAULT_ENTRIES), cursor };
}

/** Numbers beyond the safe ones are beyond every chain. */
export function safe(value: ExactInteger | undefined): number | undefined {
  return typeof value === 'bigint' ? Number.MAX_SAFE_INTEGER : value;
}
