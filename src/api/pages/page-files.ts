/** The built pages (`dist/web`), read into memory once: no request ever names a file on the disk. */

import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { readWhole } from '../../lib/read-bounded.js';
import { ifMissing } from '../../lib/system-error.js';
import { SITES, type Site } from './page-paths.js';

const ASSETS = 'assets';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

/** Compressed encodings, best first. The build writes these forms beside each file, where they are smaller. */
const PACKED = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

export type Encoding = 'identity' | (typeof PACKED)[number][0];

export interface PageFile {
  readonly mediaType: string;
  /** Tag of the content, without quotes. */
  readonly etag: string;
  /** The forms in which the file can be sent, best first; the last is `identity`. */
  readonly forms: readonly { readonly encoding: Encoding; readonly bytes: Buffer }[];
}

export class PageFiles {
  readonly #documents: ReadonlyMap<Site, PageFile>;
  /** Assets by path, `/assets/…`: their names hold a hash of the content. */
  readonly assets: ReadonlyMap<string, PageFile>;

  private constructor(documents: ReadonlyMap<Site, PageFile>, assets: ReadonlyMap<string, PageFile>) {
    this.#documents = documents;
    this.assets = assets;
  }

  /** Reads the folder. A missing file is no error: its page says so, and the node works. */
  static async load(folder: string): Promise<PageFiles> {
    const documents = new Map<Site, PageFile>();
    for (const site of SITES) {
      const file = await readFile(join(folder, site, 'index.html'));
      if (file !== undefined) documents.set(site, file);
    }
    const assets = new Map<string, PageFile>();
    for (const name of await namesIn(join(folder, ASSETS))) {
      const file = await readFile(join(folder, ASSETS, name));
      if (file !== undefined) assets.set(`/${ASSETS}/${name}`, file);
    }
    return new PageFiles(documents, assets);
  }

  /** The document of a site; undefined when it is not built. */
  document(site: Site): PageFile | undefined {
    return this.#documents.get(site);
  }
}

async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder).catch(ifMissing)) ?? [];
}

/** The file; undefined for a missing one, and for one of an unknown kind, such as the compressed forms themselves. */
async function readFile(path: string): Promise<PageFile | undefined> {
  const mediaType = MEDIA_TYPES[extname(path)];
  if (mediaType === undefined) return undefined;
  const bytes = await readWhole(path).catch(ifMissing);
  if (bytes === undefined) return undefined;
  const forms: { encoding: Encoding; bytes: Buffer }[] = [];
  for (const [encoding, suffix] of PACKED) {
    const packed = await readWhole(`${path}${suffix}`).catch(ifMissing);
    if (packed !== undefined) forms.push({ encoding, bytes: packed });
  }
  const etag = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  return { mediaType, etag, forms: [...forms, { encoding: 'identity', bytes }] };
}
