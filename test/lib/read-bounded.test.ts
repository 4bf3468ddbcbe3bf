import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readBounded } from '../../src/lib/read-bounded.js';

const LIMIT = 1_000;
const SHORT = { noWriter: 1, silentWriter: 1 };
const LONG = { noWriter: 3_000, silentWriter: 3_000 };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tessera-bounded-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function file(content: string): string {
  const path = join(folder, 'file');
  writeFileSync(path, content);
  return path;
}

function pipe(): string {
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  return path;
}

it.each([0, 1, LIMIT])('gives all of a file of %i bytes', (length) => {
  expect(readBounded(file('x'.repeat(length)), LIMIT).toString()).toBe('x'.repeat(length));
});

it('reserves what a file needs, not what it may have: 64 MiB for each genesis file took a third of the time of tests', () => {
  expect(readBounded(file('x'.repeat(5_000)), 64 * 1024 * 1024).buffer.byteLength).toBeLessThan(16 * 1024);
});

it('gives all that a program writes into a pipe, which has no size', () => {
  const path = pipe();
  spawn('sh', ['-c', `head -c 20000 /dev/zero > ${path}`], { stdio: 'ignore' });
  expect(readBounded(path, 64 * 1024 * 1024, LONG)).toEqual(Buffer.alloc(20_000));
});

it('names a file that is one byte too large, and one of 10 GB, whose content it does not read', () => {
  const path = file('x'.repeat(LIMIT + 1));
  const refusal = `${path} holds more than 1000 bytes; is it the right file?`;
  expect(() => readBounded(path, LIMIT)).toThrow(refusal);
  truncateSync(path, 10_000_000_000);
  expect(() => readBounded(path, LIMIT)).toThrow(refusal);
});

it('reads a device that never ends no further than the limit', () => {
  expect(() => readBounded('/dev/zero', LIMIT)).toThrow('/dev/zero holds more than 1000 bytes');
  expect(readBounded('/dev/null', LIMIT)).toHaveLength(0);
});

it('tells a folder from a file', () => {
  expect(() => readBounded(folder, LIMIT)).toThrow(`${folder} is a folder; name a file in it`);
});

it('does not wait for ever for a pipe into which nobody writes', () => {
  const path = pipe();
  expect(() => readBounded(path, LIMIT, SHORT)).toThrow(`${path} is a pipe into which no program writes; name a file`);
});

it('does not wait for ever for one that somebody holds open and says nothing', () => {
  const path = pipe();
  const writer = openSync(path, constants.O_RDWR);
  expect(() => readBounded(path, LIMIT, SHORT)).toThrow(`${path} gives nothing; name a file`);
  closeSync(writer);
});

it('reads what a program writes into a pipe, to its end, though it comes late', async () => {
  const path = pipe();
  const shell = spawn('sh', ['-c', 'printf "a secret" > "$0"', path]);
  const ended = once(shell, 'exit');
  expect(readBounded(path, LIMIT, LONG).toString()).toBe('a secret');
  shell.kill();
  await ended;
});
