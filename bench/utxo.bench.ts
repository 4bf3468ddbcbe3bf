/** The table of unspent outputs: bytes an output and time of a look-up, against a Map of objects where that fits. */

import type { OutPoint, TxOut } from '../src/chain/types.js';
import { HASH_KEY_BYTES } from '../src/ledger/utxo/keyed-hash.js';
import { UtxoTable } from '../src/ledger/utxo/utxo-table.js';
import { systemRandom } from '../src/lib/random.js';
import { printRow, printSection } from './report.js';
import { threadTime } from './turns.js';

const SIZES = [10_000, 1_000_000, 10_000_000];
/** A Map of objects of more entries than this takes longer than the rest of the benchmark. */
const MAP_LIMIT = 1_000_000;
const READS = 200_000;
/** Outputs that are inserted between two looks at the time. */
const STEP = 500;

/** 32 hex digits as random as those of a hash, for a number. */
function digits(i: number): string {
  let text = '';
  for (let k = 1; k <= 4; k++) {
    let x = (Math.imul(i, 4) + k) | 0;
    x = Math.imul(x ^ (x >>> 16), 0x21f0_aaad);
    x = Math.imul(x ^ (x >>> 15), 0x735a_2d97);
    text += ((x ^ (x >>> 15)) >>> 0).toString(16).padStart(8, '0');
  }
  return text;
}

const outPointOf = (i: number): OutPoint => ({ tHash: `g${digits(i).slice(0, 31)}`, n: i & 1 });
const outOf = (i: number): TxOut => ({
  value: { kind: 'token', amount: BigInt(i) },
  locktime: 0n,
  scriptPublicKey: digits(i) + digits(i + 7),
});

function readTime(count: number, read: (outPoint: OutPoint) => unknown): number {
  const wanted = Array.from({ length: READS }, (_, i) => outPointOf((Math.imul(i, 0x1000_0193) >>> 0) % count));
  const start = performance.now();
  for (const outPoint of wanted) read(outPoint);
  return (1e6 * (performance.now() - start)) / READS;
}

/** Milliseconds of the main thread, with what it takes to make the outputs. */
function insertTimes(table: UtxoTable, count: number): { readonly total: number; readonly longest: number } {
  const begun = threadTime();
  let last = begun;
  let longest = 0;
  for (let i = 0; i < count; i++) {
    table.insert(outPointOf(i), outOf(i));
    if (i % STEP !== STEP - 1) continue;
    const now = threadTime();
    longest = Math.max(longest, now - last);
    last = now;
  }
  return { total: last - begun, longest };
}

export async function utxoBench(): Promise<void> {
  printSection('Unspent outputs in memory (every output with an address of its own)');
  for (const count of SIZES) {
    const name = count.toLocaleString('en-US');
    const table = new UtxoTable(systemRandom.bytes(HASH_KEY_BYTES));
    const { total, longest } = insertTimes(table, count);
    const indices = (outPoint: OutPoint): unknown => {
      const slot = table.find(outPoint);
      return slot === 0 ? undefined : table.output(slot);
    };
    printRow({ name: `${name}: bytes an output`, value: table.bytes / count, unit: 'B' });
    printRow({ name: `${name}: insert`, value: (1e6 * total) / count, unit: 'ns' });
    printRow({ name: `${name}: the slowest ${STEP} inserts`, value: longest, unit: 'ms' });
    const tableTime = readTime(count, indices);
    if (count > MAP_LIMIT) {
      printRow({ name: `${name}: find and read`, value: tableTime, unit: 'ns' });
      continue;
    }
    const before = process.memoryUsage().heapUsed;
    const map = new Map<string, TxOut>();
    for (let i = 0; i < count; i++) map.set(`${outPointOf(i).n}-${outPointOf(i).tHash}`, outOf(i));
    const mapBytes = (process.memoryUsage().heapUsed - before) / count;
    printRow({ name: `${name}: bytes in a Map of objects`, value: mapBytes, unit: 'B' });
    const mapTime = readTime(count, ({ tHash, n }) => map.get(`${n}-${tHash}`));
    printRow({ name: `${name}: find and read`, value: tableTime, unit: 'ns', against: ['a Map', mapTime] });
  }
}
