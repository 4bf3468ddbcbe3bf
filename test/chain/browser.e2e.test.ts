/** The chain's code in a browser: without Buffer and without modules of Node.js, it gives the same bytes. */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { walletWork } from './support/wallet-work.mjs';

it('does the work of a wallet as on a node (docs/adr/0008-chain-in-a-browser.md)', async () => {
  const program = fileURLToPath(new URL('support/browser-program.mjs', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', program]);
  const onNode = await walletWork(
    (path) => import(/* @vite-ignore */ new URL(`../../dist/${path}`, import.meta.url).href),
  );
  expect(JSON.parse(stdout)).toEqual(onNode);
  expect(onNode).toMatchObject({ fault: null, signatures: [[expect.any(String), expect.any(String), true]] });
});
