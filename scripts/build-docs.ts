/**
 * `npm run docs`: builds the site of the documents into `site/`, to be opened from there or put on any server of files.
 *
 *   npm run docs -- --out DIR        elsewhere
 *   npm run docs -- --serve 8090     and serves it on loopback
 */

import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildSite } from './docs-site/site.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.webp': 'image/webp',
};

const { values } = parseArgs({
  options: { out: { type: 'string', default: join(ROOT, 'site') }, serve: { type: 'string' } },
});
const out = resolve(values.out);

/** The file that a path of a request means; undefined when there is none. */
async function fileOf(path: string): Promise<string | undefined> {
  const file = join(out, path.endsWith('/') ? `${path}index.html` : path);
  if (!file.startsWith(out + sep)) return undefined;
  const facts = await stat(file).catch(() => undefined);
  return facts?.isFile() === true ? file : undefined;
}

function serve(port: number): void {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const file = await fileOf(decodeURIComponent(pathname)).catch(() => undefined);
    if (file === undefined) return void response.writeHead(404).end('There is no such page.\n');
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
    createReadStream(file).pipe(response);
  });
  server.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}`));
}

const started = performance.now();
try {
  await rm(out, { recursive: true, force: true });
  const { pages } = await buildSite(ROOT, out);
  console.log(`${pages.length} pages in ${out}, built in ${((performance.now() - started) / 1_000).toFixed(1)} s`);
  if (values.serve !== undefined) serve(Number(values.serve));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
