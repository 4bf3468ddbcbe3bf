/** Finds the files that run in threads and processes of their own. They are files of the built program, for tests too. */

/** The URL of `dist/program/<name>.js`, from here and from the built program. From `src` (vitest, tsx) it needs `npm run build`. */
export function workerUrl(name: string): URL {
  return new URL(`../../dist/program/${name}.js`, import.meta.url);
}
