/** The short form of `npm run simulate`: stories that are always the same, new ones, and a program without one of its guards. */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { bundle } from './bundle.js';
import { GUARDS } from './guards/guards.js';
import { storyOf } from './story.js';
import { THEMES } from './themes.js';

/** Stories that are always the same, and the seed from which on they are taken: the first of each theme, then those in a row. */
const ALWAYS = 50;
const FIRST = 215_684;
const FIRST_NEW = 1_000_000;
const NEW = 1_000_000_000;
const NEW_STORIES = 20;
/**
 * A storage node starts on a disk that refuses `mkdir`, and ends by `database_failed`, as the program names it (2921); a journal, of whose end
 * a killed process had not synced all, is started, and loses its power (887); a damaged mempool node is away for more states than the others remember,
 * comes back while one of these is away, and speaks of old states late (313); no mempool node is left that has a state for the journal of a restored etcd, and none
 * can be made of blocks (129389); a damaged node leads for a moment while another is away and the third suspended (7003727, 7002428).
 */
const ONCE_FAILED = ['2921', '887', '313', '129389', '7003727', '7002428'];

let program = '';

beforeAll(async () => {
  program = await bundle();
});

function firstOf(theme: string): string {
  for (let seed = FIRST; ; seed++) if (storyOf(String(seed)).theme === theme) return String(seed);
}

function alwaysPlayed(): readonly string[] {
  const seeds = new Set([...ONCE_FAILED, ...Object.keys(THEMES).map(firstOf)]);
  for (let seed = FIRST; seeds.size < ALWAYS; seed++) seeds.add(String(seed));
  return [...seeds];
}

/** All that a hunt says; its last line has the figures. */
async function hunt(file: string, ...options: readonly string[]): Promise<string> {
  const run = promisify(execFile)(process.execPath, [file, '--json', ...options], { maxBuffer: 2 ** 28 });
  const { stdout } = await run.catch((error: { readonly stdout: string }) => error);
  return stdout;
}

/** The figures of stories; throws with all that the hunt says if one has failed. */
async function soundHunt(...options: readonly string[]): Promise<Record<string, unknown>> {
  const text = await hunt(program, ...options);
  const figures = JSON.parse(text.trim().split('\n').at(-1) ?? '{}');
  if (figures.failed?.length !== 0) throw new Error(text);
  return figures;
}

it('the same seed gives the same steps, also after other worlds', async () => {
  expect(await soundHunt('--first', '17', '--seeds', '2', '--twice')).toMatchObject({ seeds: 2 });
});

// In one process, which has compiled what it plays after some stories.
it('stories that are always the same break no rule (rules P1, P4, P7), those that have once failed and new ones neither', async () => {
  const also = alwaysPlayed();
  expect(also.length).toBe(ALWAYS);
  const first = String(FIRST_NEW + Math.floor(Math.random() * NEW));
  const all = ['--also', also.join(','), '--first', first, '--seeds', String(NEW_STORIES)];
  expect(await soundHunt(...all)).toMatchObject({ seeds: also.length + NEW_STORIES });
});

it('every guard that can be taken out is there', async () => {
  for (const { name, edits } of GUARDS) {
    for (const { file, find } of edits) {
      const text = await readFile(new URL(`../../src/${file}`, import.meta.url), 'utf8');
      expect(text.split(find).length, name).toBe(2);
    }
  }
});

it('the judge names what a program without a guard does, and the shortest story in which it does so again', async () => {
  const guard = GUARDS.find(({ name }) => name === 'the journal is not synced');
  const broken = await bundle('without-sync', guard?.edits);
  const text = await hunt(broken, '--first', '155', '--seeds', '1');
  const [, seed = '', all = '', kept = ''] =
    /seed (\d+) fails:[\s\S]* of (\d+) faults:[\s\S]*npm run simulate -- --seed \d+ --keep ([\d,]+)/.exec(text) ?? [];
  expect(kept.split(',').length, text).toBeLessThan(Number(all));
  expect(await hunt(broken, '--seed', seed, '--keep', kept)).toContain('VIOLATION');
  expect(await hunt(program, '--seed', seed, '--keep', kept)).not.toContain('VIOLATION');
});
