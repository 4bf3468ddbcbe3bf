/**
 * Clients that generators make of the documents in openapi/: each tool takes the documents without a warning, what it makes
 * compiles, and a program on it pays on a real network, with exact integers (docs/openapi.md#clients-from-generators).
 */

import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { createClient } from '@hey-api/openapi-ts';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { useDevNetwork } from '../support/dev-network.js';
import { findTool } from '../support/tools.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PROGRAMS = join(ROOT, 'test/openapi/programs');
const PYTHON_GENERATOR = findTool('openapi-python-client');
/** For a busy machine: nothing here waits for the clock. */
const PATIENCE = 300_000;
const run = (program: string, args: readonly string[], cwd: string) =>
  promisify(execFile)(program, args, { cwd, timeout: PATIENCE, env: { ...process.env, NO_COLOR: '1' } });

const network = useDevNetwork();
/** In these two is all that the others have. LONG_TESTS=1 takes every document. */
const WHOLE = ['dev.json', 'network.json'];
const all = (await readdir(join(ROOT, 'openapi'))).filter((name) => name.endsWith('.json'));
const documents = process.env.LONG_TESTS === undefined ? WHOLE : all;
const pathOf = (document: string): string => join(ROOT, 'openapi', document);

let folder = '';
beforeAll(async () => {
  // Inside the checkout, so that programs find what they import.
  await mkdir(join(ROOT, 'node_modules/.cache'), { recursive: true });
  folder = await mkdtemp(join(ROOT, 'node_modules/.cache/tessera-generated-'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What the work writes to the console. */
async function saidBy(work: () => Promise<unknown>): Promise<string[]> {
  const said: string[] = [];
  const spies = (['log', 'info', 'warn', 'error'] as const).map((name) =>
    vi.spyOn(console, name).mockImplementation((...args) => void said.push(args.join(' '))),
  );
  try {
    await work();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return said;
}

/** 64-bit integers as `number | bigint`, as `exact-json.ts` reads them. */
function exactIntegers({ format, type }: { readonly format?: string; readonly type?: unknown }) {
  if (format !== 'int64' && format !== 'uint64') return undefined;
  const kinds = [ts.SyntaxKind.NumberKeyword, ts.SyntaxKind.BigIntKeyword] as const;
  const members: ts.TypeNode[] = kinds.map((kind) => ts.factory.createKeywordTypeNode(kind));
  if (Array.isArray(type) && type.includes('null')) {
    members.push(ts.factory.createLiteralTypeNode(ts.factory.createNull()));
  }
  return ts.factory.createUnionTypeNode(members);
}

async function programFolder(name: string): Promise<string> {
  const place = join(folder, name);
  await mkdir(join(place, 'generated'), { recursive: true });
  for (const file of [`${name}.ts`, 'exact-json.ts']) await copyFile(join(PROGRAMS, file), join(place, file));
  return place;
}

/** The program compiles, strictly, with what was generated. */
async function compile(place: string, name: string): Promise<void> {
  const options = '--noEmit --strict --target ES2023 --module NodeNext --types node --skipLibCheck'.split(' ');
  const tsc = join(ROOT, 'node_modules/typescript-7/bin/tsc');
  await run(process.execPath, [tsc, '--ignoreConfig', ...options, `${name}.ts`], place).catch((error) => {
    throw new Error(`it does not compile:\n${error.stdout}`);
  });
}

/** Runs the program, which pays, and compares what it says with what the network says. */
async function pays(program: string, args: readonly string[], place: string, account: number): Promise<void> {
  const { url = '', accounts } = network();
  const address = accounts.accounts[account]?.address ?? '';
  const amount = 72_072_001n + BigInt(account);
  const before = await tokensOf(address);
  const { stdout } = await run(program, [...args, url, address, String(amount)], place);
  const said = JSON.parse(stdout);
  expect(said).toEqual({ hash: expect.stringMatching(/^g/), paid: String(amount), issued: await issued() });
  expect(await tokensOf(address)).toBe(before + amount);
}

const textOf = async (path: string): Promise<string> => (await fetch(`${network().url}${path}`)).text();
const tokensOf = async (address: string): Promise<bigint> =>
  BigInt(/"tokens":(\d+)/.exec(await textOf(`/v1/balances?address=${address}`))?.[1] ?? -1);
const issued = async (): Promise<string | undefined> => /"issued":(\d+)/.exec(await textOf('/v1/supply'))?.[1];

it('no document has an operation or a schema that is not in those that the generators are given', async () => {
  const partsOf = async (name: string): Promise<string[]> => {
    const { paths, components } = JSON.parse(await readFile(pathOf(name), 'utf8'));
    const operations = Object.entries<object>(paths).flatMap(([path, one]) =>
      Object.keys(one).map((method) => `${method} ${path}`),
    );
    return [...operations, ...Object.keys(components.schemas)];
  };
  const given = new Set((await Promise.all(documents.map(partsOf))).flat());
  const missing = (await Promise.all(all.map(partsOf))).flat().filter((part) => !given.has(part));
  expect(missing).toEqual([]);
});

describe('openapi-typescript', () => {
  it('takes the documents, and its types pay', { timeout: PATIENCE }, async () => {
    const place = await programFolder('openapi-typescript');
    const said = await saidBy(async () => {
      for (const document of documents) {
        const nodes = await openapiTS(pathToFileURL(pathOf(document)), { transform: exactIntegers });
        const file = document === 'network.json' ? 'schema.ts' : document.replace('.json', '.ts');
        await writeFile(join(place, 'generated', file), astToString(nodes));
      }
    });
    expect(said).toEqual([]);
    await compile(place, 'openapi-typescript');
    await pays(process.execPath, ['--import', 'tsx', 'openapi-typescript.ts'], place, 0);
  });
});

describe('@hey-api/openapi-ts', () => {
  it('takes the documents, and its client pays with bigints', { timeout: PATIENCE }, async () => {
    const place = await programFolder('hey-api');
    const said = await saidBy(() =>
      createClient(
        documents.map((document) => ({
          input: pathOf(document),
          output:
            document === 'network.json' ? join(place, 'generated') : join(place, `of-${document.replace('.json', '')}`),
          logs: { level: 'silent' as const, file: false },
          plugins: [
            '@hey-api/client-fetch' as const,
            '@hey-api/typescript' as const,
            { name: '@hey-api/transformers' as const, bigInt: true },
            { name: '@hey-api/sdk' as const, transformer: true },
          ],
        })),
      ),
    );
    expect(said).toEqual([]);
    await compile(place, 'hey-api');
    await pays(process.execPath, ['--import', 'tsx', 'hey-api.ts'], place, 1);
  });
});

describe.runIf(PYTHON_GENERATOR !== undefined)('openapi-python-client', () => {
  it('takes the documents without a warning, and its client pays', { timeout: PATIENCE }, async () => {
    const place = join(folder, 'python');
    await mkdir(place);
    for (const file of ['generate.py', 'openapi-python-client.py'])
      await copyFile(join(PROGRAMS, file), join(place, file));
    const python = (PYTHON_GENERATOR ?? '').replace(/openapi-python-client$/, 'python');
    const outputs = documents.map((document) => [
      pathOf(document),
      document === 'network.json' ? 'generated' : `of-${document}`,
    ]);
    const made = await run(python, ['generate.py', ...outputs.flat()], place);
    const said = `${made.stdout}${made.stderr}`
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('Generating '));
    expect(said).toEqual([]);
    await pays(python, ['openapi-python-client.py'], place, 2);
  });
});
