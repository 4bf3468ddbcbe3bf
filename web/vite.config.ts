/**
 * Build of the pages: one document for each site, and the scripts and styles that they share, under names with a hash of the
 * content, with packed forms beside them. The result goes to `dist/web`, from where a node serves it (src/api/pages).
 */

import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const { version, browser } = JSON.parse(readFileSync(here('../package.json'), 'utf8')) as {
  readonly version: string;
  readonly browser: Readonly<Record<string, string>>;
};

/** Smaller files gain nothing. */
const PACKED_FROM_BYTES = 512;

export default defineConfig({
  root: here('.'),
  base: '/',
  publicDir: false,
  logLevel: 'warn',
  // A cache beside the sources would be linted and watched.
  cacheDir: here('../node_modules/.vite'),
  define: { __TESSERA_VERSION__: JSON.stringify(version) },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  experimental: {
    // The page of the API loads its files from below its own path, for proxies that let only /v1 through.
    renderBuiltUrl: (file, { hostId, hostType }) =>
      hostType === 'html' && hostId.startsWith('docs/') ? `/v1/docs/${file}` : undefined,
  },
  build: {
    outDir: here('../dist/web'),
    emptyOutDir: true,
    target: ['chrome114', 'firefox115', 'safari16.4'],
    // Nothing inline: the policy of the pages forbids it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The notices of the packages that are copied into the scripts.
    license: { fileName: 'LICENSES.txt' },
    rolldownOptions: {
      // A busy machine is no news.
      checks: { pluginTimings: false },
      input: {
        docs: here('docs/index.html'),
        explorer: here('explorer/index.html'),
        wallet: here('wallet/index.html'),
      },
    },
  },
  plugins: [twins(), packed()],
});

/** Takes the twin `NAME.browser.ts` of each module that needs Node.js: `browser` of package.json names them as they are compiled. */
function twins(): Plugin {
  const names = new Set(Object.keys(browser).map((file) => basename(file)));
  return {
    name: 'tessera-twins',
    enforce: 'pre',
    resolveId(source, importer) {
      if (!source.startsWith('.') || !names.has(basename(source))) return null;
      return this.resolve(source.replace(/\.js$/, '.browser.ts'), importer);
    },
  };
}

/** Writes each text file also as Brotli and gzip packed it, with the strongest settings: a node only sends them. */
function packed(): Plugin {
  return {
    name: 'tessera-packed',
    apply: 'build',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        for (const [fileName, file] of Object.entries(bundle)) {
          const bytes = Buffer.from(file.type === 'chunk' ? file.code : file.source);
          if (bytes.length < PACKED_FROM_BYTES || !/\.(?:css|html|js|svg)$/.test(fileName)) continue;
          const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
          this.emitFile({ type: 'asset', fileName: `${fileName}.br`, source: brotli });
          this.emitFile({ type: 'asset', fileName: `${fileName}.gz`, source: gzipSync(bytes, { level: 9 }) });
        }
      },
    },
  };
}
