/** The pages of a node: which paths they are, what goes out with them, and that everything else stays what it was. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { OPERATIONS } from '../../src/api/operations.js';
import { PageFiles } from '../../src/api/pages/page-files.js';
import { PAGE_PATHS } from '../../src/api/pages/page-paths.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { openApp, send } from '../support/api/app.js';

const EXPLORER = '<!doctype html><title>explorer</title>';
const WALLET = '<!doctype html><title>wallet</title>';
const SCRIPT = 'export const answer = 42;'.repeat(40);

/** A folder as the build makes it. */
async function builtPages(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-pages-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const part of ['explorer', 'wallet', 'assets']) await mkdir(join(folder, part));
  await writeFile(join(folder, 'explorer/index.html'), EXPLORER);
  await writeFile(join(folder, 'wallet/index.html'), WALLET);
  await writeFile(join(folder, 'assets/explorer-a1b2c3.js'), SCRIPT);
  await writeFile(join(folder, 'assets/explorer-a1b2c3.js.br'), brotliCompressSync(SCRIPT));
  await writeFile(join(folder, 'assets/notes.txt'), 'of no kind that pages load');
  return folder;
}

async function openPages(role: NodeRole, folder?: string) {
  const pages = await PageFiles.load(folder ?? (await builtPages()));
  return openApp(role, { modules: { pages } });
}

/** Each path with something in the place of its parameters. */
const filled = (path: string): string => path.replaceAll(/:\w+|\*/g, 'g0123');

describe('the pages', () => {
  it('are the explorer on storage nodes, at every path of it', async () => {
    const app = await openPages('storage');
    for (const path of PAGE_PATHS.explorer) {
      const { status, text, headers } = await send(app, { url: filled(path) });
      expect([path, status, text]).toEqual([path, 200, EXPLORER]);
      expect(headers['content-type']).toBe('text/html; charset=utf-8');
      expect(headers['cache-control']).toBe('no-cache');
    }
  });

  it('are the wallet on miner and user nodes, to which / leads', async () => {
    for (const role of ['miner', 'user'] as const) {
      const app = await openPages(role);
      for (const path of PAGE_PATHS.wallet) expect((await send(app, { url: filled(path) })).text).toBe(WALLET);
      const { status, headers } = await send(app, { url: '/' });
      expect([status, headers.location]).toEqual([302, '/wallet']);
      expect((await send(app, { url: '/blocks' })).status).toBe(404);
    }
  });

  it('are nowhere on mempool nodes, and nowhere without the module', async () => {
    const without = await openApp('storage');
    const mempool = await openPages('mempool');
    for (const path of [...PAGE_PATHS.explorer, ...PAGE_PATHS.wallet]) {
      expect((await send(without, { url: filled(path) })).status).toBe(404);
      expect((await send(mempool, { url: filled(path) })).status).toBe(404);
    }
  });

  it('say that they are not built, on a node that works', async () => {
    const app = await openPages('storage', join(tmpdir(), 'tessera-pages-that-are-not-there'));
    const { status, text } = await send(app, { url: '/' });
    expect(status).toBe(503);
    expect(text).toContain('npm run build');
    expect((await send(app, { url: '/v1/debug' })).status).toBe(200);
  });
});

describe('what is no page', () => {
  const unknown = [
    '/v1',
    '/v1/nothing',
    '/blocks/1/2',
    '/assets/',
    '/assets/missing.js',
    '/index.html',
    '/wallets',
    '/block',
  ];

  it.each(unknown)('%s is answered as without pages', async (url) => {
    const [withPages, without] = [await openPages('storage'), await openApp('storage')];
    const [one, other] = [await send(withPages, { url }), await send(without, { url })];
    expect(one.status).toBe(404);
    expect(one.headers['content-type']).toBe(other.headers['content-type']);
    expect(one.headers['content-security-policy']).toBeUndefined();
  });

  it('leaves the folder never: what names a file is a table', async () => {
    const app = await openPages('storage');
    for (const url of [
      '/assets/../explorer/index.html',
      '/assets/%2e%2e/explorer/index.html',
      '/assets/..%2fexplorer%2findex.html',
      '/assets/explorer-a1b2c3.js.br',
      '/assets/notes.txt',
      '//etc/passwd',
    ]) {
      expect((await send(app, { url })).status, url).toBe(404);
    }
  });

  it('takes other methods as before', async () => {
    const app = await openPages('storage');
    expect((await send(app, { method: 'POST', url: '/' })).status).toBe(404);
    expect((await send(app, { method: 'POST', url: '/blocks' })).status).toBe(404);
  });

  it('has no path in common with the API', () => {
    const pages: string[] = Object.values(PAGE_PATHS).flat();
    for (const { path } of OPERATIONS) expect(pages).not.toContain(path);
  });
});

describe('a page', () => {
  it('may run and load nothing but what the node serves, and be framed by nobody', async () => {
    const app = await openPages('storage');
    const { headers } = await send(app, { url: '/' });
    const policy = String(headers['content-security-policy']);
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "object-src 'none'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ]) {
      expect(policy.split('; ')).toContain(rule);
    }
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(headers['x-frame-options']).toBe('DENY');
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['referrer-policy']).toBe('no-referrer');
  });

  it('is answered with 304 while it is the same', async () => {
    const app = await openPages('storage');
    const { etag } = (await send(app, { url: '/' })).headers;
    const again = await send(app, { url: '/blocks', headers: { 'if-none-match': String(etag) } });
    expect([again.status, again.text]).toEqual([304, '']);
    expect((await send(app, { url: '/', headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  });

  it('loads files that are packed for those who take it, and kept for ever', async () => {
    const app = await openPages('storage');
    const url = '/assets/explorer-a1b2c3.js';
    const packed = await app.inject({ url, headers: { 'accept-encoding': 'gzip, br' } });
    expect(packed.headers['content-encoding']).toBe('br');
    expect(packed.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(packed.headers.vary).toBe('accept-encoding');
    expect(brotliDecompressSync(packed.rawPayload).toString()).toBe(SCRIPT);
    for (const refused of ['', 'gzip', 'br;q=0', 'identity']) {
      const plain = await app.inject({ url, headers: { 'accept-encoding': refused } });
      expect(plain.headers['content-encoding']).toBeUndefined();
      expect(plain.body).toBe(SCRIPT);
      expect(plain.headers.etag).not.toBe(packed.headers.etag);
    }
    expect((await app.inject({ method: 'HEAD', url })).statusCode).toBe(200);
  });
});
