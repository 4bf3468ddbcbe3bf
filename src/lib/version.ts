/** The version of the program, from package.json. */

import { readFileSync } from 'node:fs';

/** `0.1.0` */
export function programVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
