/**
 * `tessera import` of a chain of original nodes from files: the whole program, from its start to its summary. Its rate beside what the same
 * threads verify when they do nothing else, its processor time, and the most memory that it had.
 */

import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { parseGenesis } from '../src/chain/genesis.js';
import { parseExactJson, stringifyExact } from '../src/lib/json.js';
import { createOriginalChain, type Entry } from '../test/support/original-chain.js';
import { MAIN } from '../test/support/processes.js';
import { THREADS, verifyAlone } from './catch-up.bench.js';
import { benchGenesis, benchPayments } from './payments.js';
import { printRow, printSection } from './report.js';
import { inFolders, type SizeOptions } from './sizes.js';

/** Payments of a block. */
const SIZES = [2_000];
const SHORT_SIZES = [200];
const BLOCKS = 12;
const ERAS = [{ from: 0, made_by: 'original' }];
/** Says at the end what the process has used: KiB, and microseconds of all threads and of the main one. */
const USAGE = `import { readFileSync } from 'node:fs';
process.on('exit', () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  const main = readFileSync('/proc/self/task/' + process.pid + '/schedstat', 'latin1').split(' ')[0] / 1_000;
  process.stderr.write('used ' + maxRSS + ' ' + (userCPUTime + systemCPUTime) + ' ' + Math.round(main) + '\\n');
});`;

async function writeEntries(file: string, entries: readonly Entry[]): Promise<void> {
  const texts = entries.map((entry, i) => `${i === 0 ? '[' : ','}\n${stringifyExact(entry)}`);
  await pipeline(Readable.from([...texts, ']']), createWriteStream(file));
}

/** Writes an export and the genesis file. */
async function makeExport(folder: string, payments: number): Promise<void> {
  const genesisText = benchGenesis(payments * BLOCKS, { mempool_genesis_tx_in: 'bench', eras: ERAS });
  await writeFile(join(folder, 'genesis.json'), genesisText);
  const chain = createOriginalChain(parseGenesis(parseExactJson(genesisText)));
  chain.add();
  for (let block = 0; block < BLOCKS; block++) chain.add(benchPayments(block * payments, payments));
  const { blocks, transactions } = chain.answers();
  await mkdir(join(folder, 'export'));
  await writeEntries(join(folder, 'export', 'blocks.json'), blocks);
  await writeEntries(join(folder, 'export', 'transactions.json'), transactions);
}

async function measure(folder: string, payments: number): Promise<void> {
  await makeExport(folder, payments);
  const config = { 'network.genesis_file': join(folder, 'genesis.json'), 'storage.verify_threads': THREADS };
  const flags = Object.entries(config).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
  const command = ['import', '--from', join(folder, 'export'), '--data', join(folder, 'storage'), ...flags, '--json'];
  const begun = performance.now();
  const preload = `data:text/javascript,${encodeURIComponent(USAGE)}`;
  const ran = await promisify(execFile)(process.execPath, ['--import', preload, MAIN, ...command]);
  const seconds = (performance.now() - begun) / 1_000;
  const [, kib = '0', used = '0', main = '0'] = /used (\d+) (\d+) (\d+)\n$/.exec(ran.stderr) ?? [];
  const count = BLOCKS * payments;
  const alone = await verifyAlone(benchPayments(0, Math.min(2 * payments, count)));
  const signatures = Math.min(2 * payments, count);
  const verified = (1_000 * signatures) / alone.clock;
  const name = `${BLOCKS} blocks of ${payments.toLocaleString('en-US')} payments`;
  printRow({
    name: `${name}: imported`,
    value: count / seconds,
    unit: 'tx/s',
    against: ['verification alone', verified],
  });
  printRow({ name: '  processor time, all threads', value: Number(used) / count, unit: 'µs/tx' });
  printRow({ name: '  of the main thread', value: Number(main) / count, unit: 'µs/tx' });
  printRow({ name: '  verification alone, all threads', value: (1_000 * alone.all) / signatures, unit: 'µs/tx' });
  printRow({ name: '  the most memory', value: Number(kib) / 1024, unit: 'MiB' });
}

export async function importBench({ short, sizes = short ? SHORT_SIZES : SIZES }: SizeOptions): Promise<void> {
  printSection('A chain of original nodes that is imported from files, with the start of the program');
  await inFolders('import', sizes, measure);
}
