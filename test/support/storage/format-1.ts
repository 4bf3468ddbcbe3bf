/** An archive as programs of data format 1 have left it: blocks under their hashes, and a record for the name of each transaction. */

import type { Kv } from '../../../src/db/kv.js';
import { asBuffer, fromUtf8, utf8 } from '../../../src/lib/bytes.js';
import { blockAtKey, blockKey, HEIGHTS, heightOfKey, indexKey, NAMES } from '../../../src/storage/archive/layout.js';
import { readNames } from '../../../src/storage/archive/records.js';

/** Where the number of the first transaction is in the key of some names. */
const FIRST_AT = 9;

/** Gives all blocks that are stored these records. */
export async function toFormat1(kv: Kv): Promise<void> {
  const batch = kv.batch();
  for await (const [key, hash] of kv.entries(HEIGHTS)) {
    const height = heightOfKey(key);
    const record = await kv.get(blockAtKey(height));
    if (record === undefined) throw new Error(`block ${height} has no record`);
    batch.put(blockKey(fromUtf8(hash)), record).del(blockAtKey(height));
  }
  for await (const [key, record] of kv.entries(NAMES)) {
    const [height, first] = [heightOfKey(key), asBuffer(key).readUInt32BE(FIRST_AT)];
    for (const [i, name] of readNames(height, record).entries()) batch.put(indexKey(height, first + i), utf8(name));
    batch.del(key);
  }
  await kv.write(batch, { sync: true });
}
