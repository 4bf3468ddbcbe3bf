/** The built program and the code that V8 has compiled of it: that code is taken for the program that it was compiled of, and for no other. */

import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';

const execute = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-program-'));
  for (const name of ['package.json', 'dist/main.js', 'dist/program'])
    await cp(join(ROOT, name), join(folder, name), { recursive: true, filter: (path) => !path.endsWith('.map') });
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const program = (): string => join(folder, 'dist/program/program.cjs');
/** A sentence of a function that was called when the program was built. */
const refusal = async (): Promise<unknown> =>
  execute(process.execPath, [join(folder, 'dist/main.js'), 'fly']).catch(({ stderr }: { stderr: string }) => stderr);

it('is taken for its own program', async () => {
  expect(await refusal()).toContain('fly is not a command');
});

it('is not taken for another program of the same length', async () => {
  const text = await readFile(program(), 'latin1');
  await writeFile(program(), text.replaceAll(' is not a command', ' IS NOT A COMMAND'), 'latin1');
  expect(await refusal()).toContain('fly IS NOT A COMMAND');
});

it.each([
  ['is cut', () => truncate(`${program()}.code`, 1_000_000)],
  ['is cut within its sum', () => truncate(`${program()}.code`, 10)],
  ['is missing', () => rm(`${program()}.code`)],
  [
    'has changed',
    async () => {
      const code = await readFile(`${program()}.code`);
      code.writeUInt8(code.readUInt8(2_000_000) ^ 1, 2_000_000);
      await writeFile(`${program()}.code`, code);
    },
  ],
])('is not taken when it %s; the program begins all the same', async (_how, damage) => {
  await damage();
  expect(await refusal()).toContain('fly is not a command');
});
