/** Does what a wallet in a browser does, without anything that only Node.js has, and prints it. */

import { register } from 'node:module';

const print = process.stdout.write.bind(process.stdout);
register('./browser-resolve.mjs', import.meta.url);
for (const name of ['Buffer', 'process', 'global', 'setImmediate', 'clearImmediate']) delete globalThis[name];

const dist = (path) => import(new URL(`../../../dist/${path}`, import.meta.url).href);
const { walletWork } = await import('./wallet-work.mjs');
print(JSON.stringify(await walletWork(dist)));
