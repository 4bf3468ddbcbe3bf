/** The short form of `npm run simulate`: stories that are always the same, and new ones. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { bundle } from './bundle.js';

const FIRST_NEW = 1_000_000;
const NEW = 1_000_000_000;

let program = '';

beforeAll(async () => {
  program = await bundle('whole');
});

/** Figures of a hunt, or all that it says if a seed fails. */
async function hunt(...options: readonly string[]): Promise<Record<string, unknown>> {
  const run = promisify(execFile)(process.execPath, [program, '--json', ...options], { maxBuffer: 2 ** 28 });
  const { stdout } = await run.catch(({ stdout: text }: { readonly stdout: string }) => {
    throw new Error(text);
  });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

it('the same seed gives the same steps', async () => {
  expect(await hunt('--first', '17', '--seeds', '1', '--twice')).toMatchObject({ seeds: 1, failed: [] });
});

it('stories that are always the same break no rule (rules P1, P4, P7)', async () => {
  expect(await hunt('--first', '9', '--seeds', '6')).toMatchObject({ seeds: 6, failed: [] });
});

it('new stories break no rule either', async () => {
  const first = String(FIRST_NEW + Math.floor(Math.random() * NEW));
  expect(await hunt('--first', first, '--seeds', '3')).toMatchObject({ seeds: 3, failed: [] });
});
