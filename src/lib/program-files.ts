/** Files of the package, which the program finds by itself. */

import { readFileSync } from 'node:fs';

/** The URL of a file of `dist/program`, from here and from the built program. From `src` (vitest, tsx) it needs `npm run build`. */
export function programFile(name: string): URL {
  return new URL(`../../dist/program/${name}`, import.meta.url);
}

/** The version of the program, such as `0.1.0`. */
export function programVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
