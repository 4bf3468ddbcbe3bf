/** Finds the files that run in threads and processes of their own. They are files of the built program, for tests too. */

/**
 * The URL of `dist/program/<name>.js`. This file, compiled or not, and the files of the program are all two folders below the
 * package. A caller in `src` (vitest, tsx) needs `npm run build`.
 */
export function workerUrl(name: string): URL {
  return new URL(`../../dist/program/${name}.js`, import.meta.url);
}
