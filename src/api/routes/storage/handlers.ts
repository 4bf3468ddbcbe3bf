/** Routes of storage nodes: stored JSON is sent as the bytes in which it is kept. */

import type { FastifyPluginCallback } from 'fastify';
import { shownTotal } from '../../../chain/assets.js';
import { asBuffer } from '../../../lib/bytes.js';
import { TesseraError } from '../../../lib/errors.js';
import type { StorageService, StoredEntry } from '../../../storage/service.js';
import type { LongAnswers } from '../../http/long-answers.js';
import { addRoutes } from '../../http/route.js';
import type { ApiModules } from '../../options.js';
import type { ExactInteger } from '../../schemas/scalars.js';
import { storageOperations } from './operations.js';

export const storageRoutes: FastifyPluginCallback<Pick<ApiModules, 'isRevertible'>> = (app, options, done) => {
  const { services, longAnswers } = app;
  const isFinal = options.isRevertible !== true;

  addRoutes(app, storageOperations, {
    async getBlockchainEntry({ params }, reply) {
      const entry = await services.storage.entry(params.key);
      if (entry === undefined) throw new TesseraError('entry_not_found', 'No entry is stored under this key.');
      // A named key such as nLastBlockHashKey gives another entry later; a hash never does.
      const isByHash = entry.key === params.key;
      // The entry of a transaction has the number of its block, so its hash names it only where blocks are final.
      return reply.stored(asBuffer(entry.json), isFinal || !isByHash ? { etag: entry.key, immutable: isByHash } : {});
    },

    async queryBlockchainEntries({ body }, reply) {
      const { storage } = services;
      return reply.stored(joined(await readEntries(body.keys, (key) => storage.entry(key), longAnswers)));
    },

    async getBlocks({ query }, reply) {
      const { storage } = services;
      return reply.stored(joined(await readEntries(query.num, (num) => blockAt(storage, num), longAnswers)));
    },

    async getLatestBlock(_request, reply) {
      const latest = await services.storage.latest();
      if (latest === undefined) throw new TesseraError('no_blocks', 'No block has been stored yet.');
      return reply.stored(asBuffer(latest.json), { etag: latest.hash });
    },

    async getBlock({ params }, reply) {
      const block = await blockAt(services.storage, params.num);
      if (block === undefined) {
        throw new TesseraError('block_not_found', `No block has been stored at number ${params.num}.`);
      }
      return reply.stored(asBuffer(block.json), { etag: block.key, immutable: isFinal });
    },

    async getItem({ params }) {
      const item = await services.storage.item(params.genesis_hash);
      if (item === undefined) {
        throw new TesseraError('item_not_found', 'No item was created under this genesis hash.');
      }
      return {
        genesis_hash: item.genesisHash,
        metadata: item.metadata,
        total_amount: shownTotal(item.totalAmount),
        created: { block_num: item.height, tx_hash: item.txHash },
        creator_address: item.creatorAddress,
      };
    },
  });
  done();
};

/** The block with a number; undefined for numbers from 2^53 on, which no chain reaches. */
function blockAt(storage: StorageService, num: ExactInteger) {
  return typeof num === 'bigint' ? Promise.resolve(undefined) : storage.blockAt(num);
}

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

/** The bytes of a JSON list of the entries that exist. */
function joined(entries: readonly (StoredEntry | undefined)[]): Buffer {
  const parts = entries.flatMap((entry) => (entry === undefined ? [] : [COMMA, entry.json])).slice(1);
  return Buffer.concat([OPEN, ...parts, CLOSE]);
}

/** Concurrent reads for one request: a few until it is known whether the answer is a long one. */
const FIRST_READS = 4;
const READS_AT_ONCE = 32;
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** An answer of this many bytes or more counts as a long one. */
const LONG_BYTES = 256 * 1024;

type Read<K, E> = (key: K) => Promise<E | undefined>;

/** The entries under the keys, in order. Throws `invalid_request` if too large for one answer, `overloaded` at too many long answers. */
export async function readEntries<K, E extends StoredEntry>(
  keys: readonly K[],
  read: Read<K, E>,
  long: LongAnswers,
): Promise<(E | undefined)[]> {
  const found: (E | undefined)[] = [];
  let bytes = 0;
  const readSome = async (): Promise<void> => {
    const count = Math.min(READS_AT_ONCE, FIRST_READS + found.length);
    const some = await Promise.all(keys.slice(found.length, found.length + count).map(read));
    found.push(...some);
    for (const entry of some) bytes += entry?.json.length ?? 0;
    if (bytes > MAX_ANSWER_BYTES) throw tooMuch();
  };
  while (found.length < keys.length && bytes <= LONG_BYTES) await readSome();
  if (bytes <= LONG_BYTES) return found;
  return long.make(async () => {
    while (found.length < keys.length) await readSome();
    return found;
  });
}

function tooMuch(): TesseraError {
  return new TesseraError(
    'invalid_request',
    `These entries have more than ${MAX_ANSWER_BYTES} bytes together; ask for fewer at once.`,
  );
}
