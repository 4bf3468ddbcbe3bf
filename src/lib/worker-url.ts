/**
 * Finds the compiled file of a worker thread. Workers run JavaScript: for a caller in `dist`, the file beside it; for one in
 * `src` (vitest, tsx), the same file in `dist`, which needs `npm run build`.
 */

/** The URL of `./name.js` beside the module whose `import.meta.url` is given. */
export function workerUrl(moduleUrl: string, file: string): URL {
  const url = new URL(file, moduleUrl);
  if (moduleUrl.endsWith('.ts')) url.pathname = url.pathname.replace(/\/src\/(?!.*\/src\/)/, '/dist/');
  return url;
}
