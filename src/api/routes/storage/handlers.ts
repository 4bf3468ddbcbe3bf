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
import { readEntries } from './read-entries.js';

export interface StorageRoutes {
  readonly router: Router;
  readonly modules: Pick<ApiModules, 'storage'>;
}

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
    return joined(await readEntries(body.keys, (key) => service.entry(key), router.long));
  });

  router.add(app, getBlocks, async ({ query }) => {
    const service = storage();
    return joined(await readEntries(query.num, (num) => blockByNumber(service, num), router.long));
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

const OPEN = Buffer.from('[');
const COMMA = Buffer.from(',');
const CLOSE = Buffer.from(']');

/** The bytes of a JSON list of the entries that exist. */
function joined(entries: readonly (StoredEntry | undefined)[]): ReadyJson {
  const parts = entries.flatMap((entry) => (entry === undefined ? [] : [COMMA, entry.json])).slice(1);
  return new ReadyJson(Buffer.concat([OPEN, ...parts, CLOSE]));
}
