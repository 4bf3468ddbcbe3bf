/** The short form of `npm run simulate`: stories that are always the same, new ones, and a program without one of its guards. */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { bundle } from './bundle.js';
import { GUARDS } from './guards.js';

const FIRST_NEW = 1_000_000;
const NEW = 1_000_000_000;

let program = '';

beforeAll(async () => {
  program = await bundle();
});

/** All that a hunt says; its last line has the figures. */
async function hunt(file: string, ...options: readonly string[]): Promise<string> {
  const run = promisify(execFile)(process.execPath, [file, '--json', ...options], { maxBuffer: 2 ** 28 });
  const { stdout } = await run.catch((error: { readonly stdout: string }) => error);
  return stdout;
}

/** The figures; throws with all that the hunt says if a seed has failed. */
async function soundHunt(...options: readonly string[]): Promise<Record<string, unknown>> {
  const text = await hunt(program, ...options);
  const figures = JSON.parse(text.trim().split('\n').at(-1) ?? '{}');
  if (figures.failed?.length !== 0) throw new Error(text);
  return figures;
}

it('the same seed gives the same steps', async () => {
  expect(await soundHunt('--first', '17', '--seeds', '1', '--twice')).toMatchObject({ seeds: 1 });
});

it('stories that are always the same break no rule (rules P1, P4, P7)', async () => {
  expect(await soundHunt('--first', '9', '--seeds', '6')).toMatchObject({ seeds: 6 });
});

it('new stories break no rule either', async () => {
  const first = String(FIRST_NEW + Math.floor(Math.random() * NEW));
  expect(await soundHunt('--first', first, '--seeds', '3')).toMatchObject({ seeds: 3 });
});

it('every guard that can be taken out is there', async () => {
  for (const { name, file, find } of GUARDS) {
    const text = await readFile(new URL(`../../src/${file}`, import.meta.url), 'utf8');
    expect(text.split(find).length, name).toBe(2);
  }
});

it('the judge names what a program without a guard does, and how to see it again', async () => {
  const guard = GUARDS.find(({ name }) => name === 'an output is claimed twice');
  const text = await hunt(await bundle('without-claims', guard && [guard]), '--seeds', '3');
  expect(text).toMatch(/seed \d fails:/);
  expect(text).toMatch(/npm run simulate -- --seed \d/);
});
