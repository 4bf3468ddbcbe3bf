/** Routes of storage nodes: stored JSON is sent as the bytes it is kept in. */

import type { FastifyPluginCallback } from 'fastify';
import { shownTotal } from '../../../chain/assets.js';
import { asBuffer } from '../../../lib/bytes.js';
import { TesseraError } from '../../../lib/errors.js';
import type { StorageService, StoredEntry } from '../../../storage/service.js';
import type { Router } from '../../http/route.js';
import { ReadyJson } from '../../operation.js';
import type { ApiModules } from '../../options.js';
import type { ExactInteger } from '../../schemas/scalars.js';
import { requireStorage } from '../require.js';
import {
  getBlock,
  getBlockchainEntry,
  getBlocks,
  getItem,
  getLatestBlock,
  queryBlockchainEntries,
} from './operations.js';

export interface StorageRoutes {
  readonly router: Router;
  readonly modules: Pick<ApiModules, 'storage'>;
}

/** Reads that are under way at once for one request. */
const READS_AT_ONCE = 32;
/** Bytes of entries that one answer may hold. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

export const storagePlugin: FastifyPluginCallback<StorageRoutes> = (app, { router, modules }, done) => {
  const storage = () => requireStorage(modules.storage);

  router.add(app, getBlockchainEntry, async ({ params }) => {
    const entry = await storage().entry(params.key);
    if (entry === undefined) throw new TesseraError('entry_not_found', 'No entry is stored under this key.');
    // A named key such as nLastBlockHashKey shows another entry later; a hash never does.
    return new ReadyJson(asBuffer(entry.json), entry.key, entry.key === params.key);
  });

  router.add(app, queryBlockchainEntries, async ({ body }) => {
    const service = storage();
    return joined(await readAll(body.keys, (key) => service.entry(key)));
  });

  router.add(app, getBlocks, async ({ query }) => {
    const service = storage();
    return joined(await readAll(query.num, (num) => blockByNumber(service, num)));
  });

  router.add(app, getLatestBlock, async () => {
    const latest = await storage().latest();
    if (latest === undefined) throw new TesseraError('no_blocks', 'No block has been stored yet.');
    return new ReadyJson(asBuffer(latest.json), latest.hash);
  });

  router.add(app, getBlock, async ({ params }) => {
    const block = await blockByNumber(storage(), params.num);
    if (block === undefined) {
      throw new TesseraError('block_not_found', `No block has been stored at number ${params.num}.`);
    }
    return new ReadyJson(asBuffer(block.json), block.key, true);
  });

  router.add(app, getItem, async ({ params }) => {
    const item = await storage().item(params.genesis_hash);
    if (item === undefined) {
      throw new TesseraError('item_not_found', 'No item was created under this genesis hash.');
    }
    return {
      genesis_hash: item.genesisHash,
      metadata: item.metadata,
      total_amount: shownTotal(item.totalAmount),
      created: { block_num: item.blockNum, tx_hash: item.txHash },
      creator_address: item.creatorAddress,
    };
  });
  done();
};

/** No chain reaches 2^53 blocks: a number beyond it names none. */
function blockByNumber(storage: StorageService, num: ExactInteger) {
  return typeof num === 'bigint' ? Promise.resolve(undefined) : storage.blockByNumber(num);
}

/** All that exist, in the order asked. Throws `invalid_request` when they are too much for one answer. */
export async function readAll<K>(
  keys: readonly K[],
  read: (key: K) => Promise<StoredEntry | undefined>,
): Promise<StoredEntry[]> {
  const found: StoredEntry[] = [];
  let bytes = 0;
  for (let i = 0; i < keys.length; i += READS_AT_ONCE) {
    for (const entry of await Promise.all(keys.slice(i, i + READS_AT_ONCE).map(read))) {
      if (entry === undefined) continue;
      found.push(entry);
      bytes += entry.json.length;
    }
    if (bytes > MAX_ANSWER_BYTES) {
      throw new TesseraError(
        'invalid_request',
        `These entries have more than ${MAX_ANSWER_BYTES} bytes together; ask for fewer at once.`,
      );
    }
  }
  return found;
}

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

/** The bytes of a JSON list of the entries. */
function joined(entries: readonly StoredEntry[]): ReadyJson {
  const parts = entries.flatMap((entry, index) => (index === 0 ? [entry.json] : [COMMA, entry.json]));
  return new ReadyJson(Buffer.concat([OPEN, ...parts, CLOSE]));
}
