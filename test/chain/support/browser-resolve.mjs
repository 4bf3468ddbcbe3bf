/**
 * Resolves modules as a bundler for browsers would: files that the `browser` field of package.json replaces are replaced,
 * and what only Node.js has is refused.
 */

import { readFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';

const root = new URL('../../../', import.meta.url);
const { browser } = JSON.parse(await readFile(new URL('package.json', root), 'utf8'));
const replacements = new Map(
  Object.entries(browser).map(([from, to]) => [new URL(from, root).href, new URL(to, root).href]),
);

export async function resolve(specifier, context, next) {
  if (isBuiltin(specifier)) throw new Error(`a browser has no ${specifier}, which ${context.parentURL} imports`);
  const found = await next(specifier, context);
  const url = replacements.get(found.url);
  return url === undefined ? found : { ...found, url };
}
