/** The pages as `npm run build` makes them: small, whole, and with nothing that their policy would forbid. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { PageFiles } from '../../src/api/pages/page-files.js';
import { SITES } from '../../src/api/pages/page-paths.js';

const BUILT = fileURLToPath(new URL('../../dist/web/', import.meta.url));
const MAX_PACKED_BYTES = 100_000;

describe('the built pages', () => {
  it.each(SITES)('are at most 100 kB packed, with all that they may load: %s', async (site) => {
    const files = await PageFiles.load(BUILT);
    const others = SITES.filter((other) => other !== site).map((other) => `/assets/${other}-`);
    const own = [...files.assets].filter(([path]) => others.every((other) => !path.startsWith(other)));
    const all = [files.document(site), ...own.map(([, file]) => file)];
    expect(all.length).toBeGreaterThan(SITES.length);
    const sizeOf = (encoding: string) =>
      all.reduce((sum, file) => {
        const form = file?.forms.find((one) => one.encoding === encoding) ?? file?.forms.at(-1);
        return sum + (form?.bytes.length ?? Number.POSITIVE_INFINITY);
      }, 0);
    expect(sizeOf('gzip')).toBeLessThan(MAX_PACKED_BYTES);
    expect(sizeOf('br')).toBeLessThan(sizeOf('gzip'));
  });

  it.each(SITES)('have nothing inline and nothing from elsewhere: %s', async (site) => {
    const { assets } = await PageFiles.load(BUILT);
    const html = readFileSync(`${BUILT}${site}/index.html`, 'utf8');
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|https?:/);
    const loaded = [...html.matchAll(/(?:src|href)="(?:\/v1\/docs)?(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
    expect(loaded.length).toBeGreaterThan(2);
    for (const path of loaded) expect([...assets.keys()]).toContain(path);
  });
});
