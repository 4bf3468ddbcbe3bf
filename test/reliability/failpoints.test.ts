/** Failpoints: the list is what the code has, and one ends the process only where a test has asked for it. */

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { FAILPOINTS, PLACES } from './failpoint-names.js';

const SRC = fileURLToPath(new URL('../../src/', import.meta.url));
const FILE = fileURLToPath(new URL('../../src/lib/failpoints.ts', import.meta.url));

const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && name !== join('lib', 'failpoints.ts'))
  .map((name) => readFileSync(join(SRC, name), 'utf8'));
const found = (pattern: RegExp): string[] =>
  [...new Set(sources.flatMap((text) => [...text.matchAll(pattern)].map(([, name = '']) => name)))].sort();

/** Arms a failpoint in a process of its own, passes it three times, and says how the process ended. */
function pass(env: Record<string, string>): { readonly signal: string | null; readonly output: string } {
  const script = `
    const { armFailpoint, failpoint } = await import(${JSON.stringify(FILE)});
    console.log(armFailpoint(process.env));
    for (const n of [1, 2, 3]) { failpoint('db.write.before', 'wallet'); console.log(n); }`;
  const { signal, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', script],
    { env: { ...process.env, ...env }, encoding: 'utf8' },
  );
  return { signal, output: `${stdout}${stderr}` };
}

describe('failpoints', () => {
  it('are in the list when they are in the code, and in the code when they are in the list', () => {
    expect(found(/\bfailpoint\('([^']+)'/g)).toEqual(Object.keys(PLACES).sort());
    expect(found(/\bfailpoint\(([^'])/g)).toEqual([]);
    expect(found(/\.open\('([a-z-]+)'[,)]/g)).toEqual([...PLACES['db.open.before']]);
  });

  it('are at least 60, with names of their own', () => {
    expect(new Set(FAILPOINTS.map(({ text }) => text)).size).toBe(FAILPOINTS.length);
    expect(FAILPOINTS.length).toBeGreaterThanOrEqual(60);
  });

  it('end the process where they were armed, and say so', () => {
    const { signal, output } = pass({ NODE_ENV: 'test', TESSERA_FAILPOINT: 'db.write.before:wallet@2' });
    expect(signal).toBe('SIGKILL');
    expect(output).toContain('failpoint db.write.before:wallet reached');
    expect(output).toContain('\n1\n');
    expect(output).not.toContain('\n2\n');
  });

  it('do nothing elsewhere, and nothing without NODE_ENV=test', () => {
    expect(pass({ NODE_ENV: 'test', TESSERA_FAILPOINT: 'db.write.before:journal' }).signal).toBeNull();
    const { signal, output } = pass({ NODE_ENV: 'production', TESSERA_FAILPOINT: 'db.write.before:wallet' });
    expect(signal).toBeNull();
    expect(output).toContain('for tests');
  });
});
