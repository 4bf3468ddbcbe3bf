/** The table of unspent outputs: bytes an output and time of a look-up, against a Map of objects where that fits. */

import type { OutPoint, TxOut } from '../src/chain/types.js';
import { HASH_KEY_BYTES } from '../src/ledger/utxo/keyed-hash.js';
import { GROUP } from '../src/ledger/utxo/output-words.js';
import { UtxoTable } from '../src/ledger/utxo/utxo-table.js';
import { systemRandom } from '../src/lib/random.js';
import { manyOutPoint, manyOutput } from './many-outputs.js';
import { printRow, printSection } from './report.js';
import { measured } from './rounds.js';
import type { SizeOptions } from './sizes.js';
import { threadTime } from './turns.js';

const SIZES = [10_000, 1_000_000, 10_000_000];
const SHORT_SIZES = [10_000, 100_000];
/** A Map of objects of more entries than this takes longer than the rest of the benchmark. */
const MAP_LIMIT = 1_000_000;
const READS = 200_000;
const READ_ROUNDS = 5;
/** Outputs that are inserted between two looks at the time. */
const STEP = 500;

/** For each way to read the same outputs, in random order, the nanoseconds of the main thread for one: taken in turn. */
function readTimes(count: number, ways: readonly ((outPoints: readonly OutPoint[]) => void)[]): readonly number[] {
  const wanted = Array.from({ length: READS }, (_, i) => manyOutPoint((Math.imul(i, 0x1000_0193) >>> 0) % count));
  const times = ways.map((): number[] => []);
  // The first time warms up; of the others the median.
  for (let round = 0; round <= READ_ROUNDS; round++) {
    for (const [i, read] of ways.entries()) {
      const start = threadTime();
      read(wanted);
      times[i]?.push((1e6 * (threadTime() - start)) / READS);
    }
  }
  return times.map((all) => measured(all.slice(1)).median);
}

const oneByOne =
  (read: (outPoint: OutPoint) => unknown) =>
  (outPoints: readonly OutPoint[]): void => {
    for (const outPoint of outPoints) read(outPoint);
  };

/** Milliseconds of the main thread, with what it takes to make the outputs. */
function insertTimes(table: UtxoTable, count: number): { readonly total: number; readonly longest: number } {
  const begun = threadTime();
  let last = begun;
  let longest = 0;
  for (let i = 0; i < count; i++) {
    table.insert(manyOutPoint(i), manyOutput(i));
    if (i % STEP !== STEP - 1) continue;
    const now = threadTime();
    longest = Math.max(longest, now - last);
    last = now;
  }
  return { total: last - begun, longest };
}

export async function utxoBench({ short, sizes = short ? SHORT_SIZES : SIZES }: SizeOptions): Promise<void> {
  printSection('Unspent outputs in memory (every output with an address of its own)');
  let smallest: number | undefined;
  for (const count of sizes) {
    const name = count.toLocaleString('en-US');
    const table = new UtxoTable(systemRandom.bytes(HASH_KEY_BYTES));
    const { total, longest } = insertTimes(table, count);
    const findAndRead = oneByOne((outPoint) => {
      const slot = table.find(outPoint);
      return slot === 0 ? undefined : table.output(slot);
    });
    const grouped = (outPoints: readonly OutPoint[]): void => {
      for (let from = 0; from < outPoints.length; from += GROUP) {
        const group = outPoints.slice(from, from + GROUP);
        table.approach(group);
        findAndRead(group);
      }
    };
    printRow({ name: `${name}: bytes an output`, value: table.bytes / count, unit: 'B' });
    printRow({ name: `${name}: insert`, value: (1e6 * total) / count, unit: 'ns' });
    printRow({ name: `${name}: the slowest ${STEP} inserts`, value: longest, unit: 'ms' });
    const [tableTime = 0, groupTime = 0] = readTimes(count, [findAndRead, grouped]);
    smallest ??= tableTime;
    printRow({ name: `${name}: find and read`, value: tableTime, unit: 'ns', against: ['the smallest', smallest] });
    const inGroups = `${name}: the same, ${GROUP} at a time`;
    printRow({ name: inGroups, value: groupTime, unit: 'ns', against: ['the smallest', smallest] });
    if (count > MAP_LIMIT) continue;
    const before = process.memoryUsage().heapUsed;
    const map = new Map<string, TxOut>();
    for (let i = 0; i < count; i++) map.set(`${manyOutPoint(i).n}-${manyOutPoint(i).tHash}`, manyOutput(i));
    const mapBytes = (process.memoryUsage().heapUsed - before) / count;
    printRow({ name: `${name}: bytes in a Map of objects`, value: mapBytes, unit: 'B' });
    const [mapTime = 0] = readTimes(count, [oneByOne(({ tHash, n }) => map.get(`${n}-${tHash}`))]);
    printRow({ name: `${name}: in the Map`, value: mapTime, unit: 'ns', against: ['the table', tableTime] });
  }
}
