/** The examples of `tessera-node/testing`, run as their readers would run them, in a copy with the package installed. */

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { findTool } from '../support/tools.js';

const PACKAGE = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** A copy of an example that finds this package, and the runner of its tests, which is in that folder. */
function installed(name: string, runner: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-example-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(PACKAGE, 'examples', name), folder, { recursive: true });
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(PACKAGE, join(folder, 'node_modules', 'tessera-node'));
  symlinkSync(runner, join(folder, 'node_modules', name));
  return folder;
}

/** What a runner prints, without the marks of the runner around it. */
async function output(folder: string, ...args: readonly string[]): Promise<string> {
  const outer = ['NODE_OPTIONS', 'VITEST', 'VITEST_POOL_ID', 'VITEST_WORKER_ID', 'VITEST_MODE', 'NODE_ENV', 'TEST'];
  const env = Object.entries(process.env).filter(([name]) => !outer.includes(name));
  const { stdout, stderr } = await run(process.execPath, args, { cwd: folder, env: Object.fromEntries(env) });
  return stdout + stderr;
}

it('examples/vitest passes', async () => {
  const folder = installed('vitest', join(PACKAGE, 'node_modules/vitest'));
  expect(await output(folder, 'node_modules/vitest/vitest.mjs', 'run', '--no-color')).toMatch(/Tests\s+2 passed/);
});

it.runIf(findTool('jest') !== undefined)('examples/jest passes', async () => {
  const folder = installed('jest', findTool('jest') ?? '');
  const jest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js'];
  expect(await output(folder, ...jest, '--no-cache')).toMatch(/Tests:\s+2 passed/);
});
