/**
 * Where the compiled file of a worker thread is. Workers run JavaScript: from `dist` the file beside the caller, and from
 * `src` (tests under vitest, tsx) the same file in `dist`, which `npm run build` has made.
 */

/** The URL of `./name.js` beside the module whose `import.meta.url` is given. */
export function workerUrl(moduleUrl: string, file: string): URL {
  const url = new URL(file, moduleUrl);
  if (moduleUrl.endsWith('.ts')) url.pathname = url.pathname.replace(/\/src\/(?!.*\/src\/)/, '/dist/');
  return url;
}
