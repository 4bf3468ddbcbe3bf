/**
 * Every option that names a file of content, with what is no such file behind the name: a device without end, a folder, a file of
 * 10 GB. Each is `invalid_config` with the option or the file in it.
 */

import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { OPTIONS } from '../../src/config/option-table.js';
import { FILE_VARIANTS, IN_CODE } from '../../src/config/sources.js';
import { errorMessage, isTesseraError } from '../../src/lib/errors.js';
import { readGenesis } from '../../src/node/genesis-file.js';
import { readTlsFiles } from '../../src/node/tls-files.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tessera-named-'));
  writeFileSync(join(folder, 'large'), '');
  truncateSync(join(folder, 'large'), 10_000_000_000);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const WRONG = [
  ['a device without end', () => '/dev/zero', /\/dev\/zero holds more than \d+ bytes; is it the right file\?/],
  ['a folder', () => folder, /is a folder; name a file in it/],
  ['10 GB', () => join(folder, 'large'), /large holds more than \d+ bytes; is it the right file\?/],
  ['nothing', () => join(folder, 'none'), /ENOENT/],
] as const;

async function refusal(read: () => unknown): Promise<string> {
  try {
    await read();
  } catch (error) {
    if (!isTesseraError(error, 'invalid_config')) throw error;
    return errorMessage(error);
  }
  return 'it was read';
}

describe.each(WRONG)('%s', (_, name, told) => {
  it('is no config file', async () => {
    expect(await refusal(() => loadConfig({ role: 'user', file: name() }))).toMatch(told);
  });

  it.each(FILE_VARIANTS)('is no $file', async ({ file }) => {
    const load = () =>
      loadConfig({ role: 'user', file: null, flags: [{ option: file, value: name(), flag: IN_CODE }] });
    const text = await refusal(load);
    expect(text).toContain(`${file} (code): cannot be read`);
    expect(text).toMatch(told);
  });

  it('is no genesis file', async () => {
    const text = await refusal(() => readGenesis(name()));
    expect(text).toContain('network.genesis_file');
    expect(text).toMatch(told);
  });

  it('is no certificate, key or authority', async () => {
    const good = 'package.json';
    for (const files of [
      { certFile: name(), keyFile: good },
      { certFile: good, keyFile: name() },
      { certFile: good, keyFile: good, caFile: name() },
    ]) {
      expect(await refusal(() => readTlsFiles(files))).toMatch(told);
    }
  });
});

it('are all the options that name a file', () => {
  const named = OPTIONS.map(({ path }) => path).filter((path) => path.endsWith('_file'));
  const tls = ['api.tls', 'peers.tls', 'journal.tls'].flatMap((group) =>
    ['cert_file', 'key_file', 'ca_file'].map((name) => `${group}.${name}`),
  );
  const known = new Set(['network.genesis_file', ...tls, ...FILE_VARIANTS.map(({ file }) => file)]);
  expect(named.filter((path) => !known.has(path))).toEqual([]);
});

describe('a genesis file that is no JSON', () => {
  it.each([
    ['cut off', '{\n  "mempool_seed_utxo": {', 'it ends too early (line 2, column 25)'],
    ['of another kind', 'name = "genesis"\n', 'unexpected character where a value should be (line 1, column 1)'],
    [
      'with a comma too much',
      '{\n  "a": 1,\n}\n',
      'unexpected character where a member name should be (line 3, column 1)',
    ],
    ['with a name twice', '{"a": 1,\n "a": 2}', 'a member name occurs twice in one object (line 2, column 2)'],
    ['not in UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'it is not valid UTF-8'],
  ])('%s says where it is wrong, and speaks of no body', async (_, content, told) => {
    const file = join(folder, 'genesis.json');
    writeFileSync(file, content);
    expect(await refusal(() => readGenesis(file))).toBe(
      `network.genesis_file ${file}: it is not acceptable JSON: ${told}`,
    );
  });
});
