/**
 * Scripts that tests run as processes of their own: each is put into one file once, with the sources that it imports. A start then costs
 * what a start of the program costs; with a loader that translates every source, it costs three times as much.
 */

import { createHash } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Rolldown } from 'vite';

const ROOT = resolve(import.meta.dirname, '../..');
/** As deep as the sources, which name other files by their place. */
const FOLDER = join(ROOT, 'node_modules/.test-scripts');

const built = new Map<string, Promise<string>>();

/** The path of the script as a file that Node.js runs as it is. */
export function builtScript(script: URL): Promise<string> {
  const source = fileURLToPath(script);
  const known = built.get(source) ?? buildScript(source);
  built.set(source, known);
  return known;
}

async function buildScript(source: string): Promise<string> {
  const { output } = (await build({
    root: ROOT,
    configFile: false,
    publicDir: false,
    logLevel: 'warn',
    ssr: { target: 'node' },
    build: {
      ssr: true,
      write: false,
      target: 'node20',
      minify: false,
      sourcemap: false,
      rolldownOptions: { input: source, output: { codeSplitting: false } },
    },
  })) as Rolldown.RolldownOutput;
  const { code } = output[0];
  // Files of tests run side by side, in several worktrees too: nobody sees half a script, nor that of another state.
  const digest = createHash('sha256').update(code).digest('hex').slice(0, 16);
  const path = join(FOLDER, `${basename(source, '.ts')}-${digest}.mjs`);
  await mkdir(FOLDER, { recursive: true });
  const part = `${path}.${process.pid}`;
  await writeFile(part, code);
  await rename(part, path);
  return path;
}
