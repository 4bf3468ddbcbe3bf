/** `tessera import` that is ended by SIGKILL, again and again at different places, leaves in the end what an import in one go does. */

import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { MAIN } from '../support/processes.js';

const SOURCE = fileURLToPath(new URL('../fixtures/original/one-miner', import.meta.url));
/** The last two are where what the blocks have shown is written down. */
const PLACES = [
  'segment.append.after:blocks@4',
  'segment.sync.after:blocks@3',
  'archive.batch.before:archive@5',
  'archive.batch.after:archive@2',
  'db.open.after:archive',
  'db.write.before:archive@2',
  'segment.append.before:blocks@6',
  'archive.batch.before:archive@1',
  'file.write.before:genesis.json',
  'file.rename.after:genesis.json',
];

it('a killed import goes on, and ends as one in one go', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-import-killed-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const genesis = join(folder, 'genesis.json');
  const files = ['settings.toml', 'issuance.json', 'genesis.json'].map((file) => join(SOURCE, file));
  await tessera(['genesis', 'import', ...files, '--out', genesis]);
  const importInto = (name: string, failpoint = '') => {
    const config = [
      '--data',
      join(folder, name),
      '--set',
      `network.genesis_file=${join(folder, `${name}.d`, 'genesis.json')}`,
    ];
    return tessera(['import', '--from', SOURCE, ...config, '--set', 'storage.verify_threads=0', '--json'], failpoint);
  };
  for (const name of ['whole', 'killed']) cpSync(genesis, join(folder, `${name}.d`, 'genesis.json'));
  const whole = await importInto('whole');
  expect(whole).toMatchObject({ signal: null, report: { blocks: 42, imported: 42 } });
  for (const place of PLACES)
    expect([place, await importInto('killed', place)]).toMatchObject([place, { signal: 'SIGKILL' }]);
  const { report, ...ended } = await importInto('killed');
  expect(ended).toMatchObject({ signal: null });
  expect(report.imported).toBeLessThan(42);
  expect({ ...report, imported: 42 }).toEqual(whole.report);
  const [one, other] = ['whole', 'killed'].map((name) => [
    readFileSync(join(folder, `${name}.d`, 'genesis.json'), 'utf8'),
    ...readdirSync(join(folder, name, 'segments')).map((file) => [
      file,
      readFileSync(join(folder, name, 'segments', file)),
    ]),
  ]);
  expect(other).toEqual(one);
});

/** Runs the program; the report is what it printed. */
function tessera(args: readonly string[], failpoint = '') {
  const env = { ...process.env, NODE_ENV: 'test', TESSERA_FAILPOINT: failpoint };
  return new Promise<{ signal: string | null; err: string; report: Record<string, unknown> }>((resolve) => {
    execFile(process.execPath, [MAIN, ...args], { env }, (error, out, err) => {
      resolve({ signal: error?.signal ?? null, err, report: out.startsWith('{') ? JSON.parse(out) : {} });
    });
  });
}
