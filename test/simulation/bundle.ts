/**
 * Puts a simulation and the program's sources into one file, as they are or with a guard taken out. What is imported later is in it too: loading
 * a file is nothing that a world could repeat.
 */

import { readFile } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { build, type Plugin } from 'vite';
import { LIMITS } from './limits.js';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'node_modules/.cache/simulation');

/** A change of one file of the sources. */
export interface Edit {
  /** Below src. */
  readonly file: string;
  readonly find: string;
  readonly put: string;
}

/** Sources that a world has others for, below src and below this folder. */
const STAND_INS: ReadonlyMap<string, string> = new Map([
  ['crypto/ed25519-backend.ts', 'world/signatures.ts'],
  ['db/data-dir.ts', 'world/folders.ts'],
  ['db/level-kv.ts', 'world/folders.ts'],
]);

const STAND_IN_NAMES: ReadonlySet<string> = new Set(
  [...STAND_INS.keys()].map((file) => basename(file).replace(/ts$/, 'js')),
);

/** Builds the file; gives its path. Throws if an edit has nothing to change. */
export async function bundle(name = 'whole', guards: readonly Edit[] = []): Promise<string> {
  const edits = [...LIMITS, ...guards];
  for (const { file, find } of edits) {
    const text = await readFile(join(ROOT, 'src', file), 'utf8');
    if (text.split(find).length !== 2) throw new Error(`${file} has not exactly one place with: ${find}`);
  }
  await build({
    root: ROOT,
    configFile: false,
    publicDir: false,
    logLevel: 'warn',
    ssr: { target: 'node' },
    build: {
      ssr: true,
      outDir: FOLDER,
      emptyOutDir: false,
      target: 'node20',
      minify: false,
      sourcemap: false,
      rolldownOptions: {
        input: { [name]: join(ROOT, 'test/simulation/main.ts') },
        output: { entryFileNames: '[name].js', codeSplitting: false },
      },
    },
    plugins: [edited(edits)],
  });
  return join(FOLDER, `${name}.js`);
}

function edited(edits: readonly Edit[]): Plugin {
  return {
    name: 'edited-sources',
    enforce: 'pre',
    async resolveId(source, importer) {
      if (!STAND_IN_NAMES.has(basename(source))) return null;
      const found = await this.resolve(source, importer, { skipSelf: true });
      const other = found === null ? undefined : STAND_INS.get(relative(join(ROOT, 'src'), found.id));
      return other === undefined ? null : join(import.meta.dirname, other);
    },
    transform(code, id) {
      let changed = code;
      for (const { file, find, put } of edits) {
        if (id.split('?')[0] === join(ROOT, 'src', file)) changed = changed.replace(find, () => put);
      }
      return changed === code ? null : { code: changed, map: null };
    },
  };
}
