/**
 * What no storage node that catches up can leave out, besides signatures, in a process of its own: `GIVER-DIR GENESIS-FILE OWN-DIR`. Blocks of
 * an archive are decoded and hashed, packed, appended to a file that is synced, and written to LevelDB: a look-up, a deletion and three records for
 * each payment. It has no rule and no turns of the event loop. It tells its parent µs of processor time of all threads for a payment.
 */

import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compiled } from './contest.js';

const { parseGenesis } = await compiled<typeof import('../src/chain/genesis.js')>('chain/genesis.js');
const { decodeFullBlockInPieces } =
  await compiled<typeof import('../src/chain/decode-in-pieces.js')>('chain/decode-in-pieces.js');
const { encodeTransaction } = await compiled<typeof import('../src/chain/codec.js')>('chain/codec.js');
const { transactionHash } = await compiled<typeof import('../src/chain/hash.js')>('chain/hash.js');
const { DataDir } = await compiled<typeof import('../src/db/data-dir.js')>('db/data-dir.js');
const { parseExactJson } = await compiled<typeof import('../src/lib/json.js')>('lib/json.js');
const { systemClock } = await compiled<typeof import('../src/lib/clock.js')>('lib/clock.js');
const { TimeSlices } = await compiled<typeof import('../src/lib/time-slices.js')>('lib/time-slices.js');
const { openArchiveFiles } = await compiled<typeof import('../src/node/archive-files.js')>('node/archive-files.js');
const { Archive } = await compiled<typeof import('../src/storage/archive/archive.js')>('storage/archive/archive.js');
const { encodedBlock } = await compiled<typeof import('../src/storage/archive/places.js')>('storage/archive/places.js');
const { unspentKey, transactionPlaceKey } =
  await compiled<typeof import('../src/storage/archive/layout.js')>('storage/archive/layout.js');
const { pack } = await compiled<typeof import('../src/storage/segments/pack.js')>('storage/segments/pack.js');
const { readRecord } = await compiled<typeof import('../src/storage/segments/record.js')>('storage/segments/record.js');

/** µs of processor time for a payment, by what it is spent on. */
export type Parts = Readonly<Record<'decoding' | 'packing' | 'segment' | 'database', number>>;

/** Bytes of the records that LevelDB gets: a plain output, and the place of a transaction. */
const OUTPUT_BYTES = 38;
const PLACE_BYTES = 9;
/** Blocks that are not counted: the code is compiled with them. */
const UNCOUNTED = 3;

const [giver = '', genesisFile = '', own = ''] = process.argv.slice(2);
const dataDir = await DataDir.open(giver, { role: 'storage', networkName: 'bench' });
const rules = { genesis: parseGenesis(parseExactJson(await readFile(genesisFile, 'utf8'))), activationHeight: 3 };
const archive = await Archive.open({ rules }, await openArchiveFiles(dataDir));
const ownDir = await DataDir.open(own, { role: 'storage', networkName: 'bench' });
const kv = await ownDir.open('archive');
const segment = await open(join(own, 'segment'), 'w');
const slices = new TimeSlices(systemClock);

const used = { decoding: 0, packing: 0, segment: 0, database: 0 };
let payments = 0;
async function spend<T>(part: keyof Parts, work: () => T | Promise<T>): Promise<T> {
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  used[part] += user + system;
  return result;
}

for (let height = 0; height < archive.nextHeight; height++) {
  if (height === UNCOUNTED) {
    payments = 0;
    for (const part of Object.keys(used) as (keyof Parts)[]) used[part] = 0;
  }
  const record = await archive.fullBlockBytes(height, true);
  if (record === undefined) throw new Error(`block ${height} is missing`);
  const decoded = await spend('decoding', async () => {
    const bytes = await encodedBlock(readRecord(record), slices);
    const { transactions } = await decodeFullBlockInPieces(bytes, async () => undefined, { isForRules: true });
    return transactions.map((transaction) => ({ transaction, hash: transactionHash(transaction) }));
  });
  await spend('packing', () => decoded.map(({ transaction }) => pack(encodeTransaction(transaction))));
  await spend('segment', async () => {
    await segment.write(record);
    await segment.datasync();
  });
  await spend('database', async () => {
    const spent = decoded.flatMap(({ transaction }) =>
      transaction.inputs.flatMap(({ previousOut }) => (previousOut === null ? [] : [unspentKey(previousOut)])),
    );
    await kv.getMany(spent);
    const batch = kv.batch();
    for (const key of spent) batch.del(key);
    for (const { transaction, hash } of decoded) {
      batch.put(transactionPlaceKey(hash), new Uint8Array(PLACE_BYTES));
      for (const n of transaction.outputs.keys())
        batch.put(unspentKey({ tHash: hash, n }), new Uint8Array(OUTPUT_BYTES));
    }
    await kv.write(batch, { sync: true });
  });
  payments += decoded.length;
}
const each = Object.fromEntries(Object.entries(used).map(([part, us]) => [part, us / payments]));
process.send?.(each);
process.disconnect?.();
await segment.close();
await ownDir.close();
await dataDir.close();
