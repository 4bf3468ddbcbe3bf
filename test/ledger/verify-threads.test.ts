/** The verifier when its threads end, or cannot be started: no storm of starts, a name, and nothing wrong or lost (rule P3). */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ScriptCheck, SignatureCheck } from '../../src/chain/validation.js';
import { keyPairFromSeed, sign } from '../../src/crypto/ed25519.js';
import { Verifier } from '../../src/ledger/verifier/verifier.js';
import { programFile } from '../../src/lib/program-files.js';
import { ManualClock } from '../support/manual-clock.js';

const PATIENCE = { timeout: 60_000 };
const key = keyPairFromSeed(new Uint8Array(32).fill(7));
const script = (value: bigint): ScriptCheck => ({ kind: 'script', script: [{ kind: 'num', value }] });

function signature(message: string): SignatureCheck {
  return { kind: 'signature', message, signature: sign(key.seed, message), publicKey: key.publicKey };
}

/** What a thread does that loads: `work`, `end` with its first batch, or fail: the file of the program is broken, or one that it needs cannot be opened. */
type Order = 'work' | 'end' | 'no-file' | 'fault';

let folder: string;
let program: URL;
let verifier: Verifier | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-threads-'));
  const worker = programFile('verify-worker.js');
  const text = `
    import { appendFileSync, readFileSync } from 'node:fs';
    import { parentPort } from 'node:worker_threads';
    appendFileSync(${JSON.stringify(join(folder, 'starts'))}, '.');
    const order = readFileSync(${JSON.stringify(join(folder, 'order'))}, 'utf8');
    if (order === 'fault') throw new Error('a broken file');
    if (order === 'no-file') readFileSync('/dev/null/' + order);
    if (order === 'end') parentPort.once('message', () => process.exit());
    await import(${JSON.stringify(worker.href)});`;
  program = pathToFileURL(join(folder, 'worker.mjs'));
  await writeFile(program, text);
});

afterEach(async () => {
  await verifier?.close();
  verifier = undefined;
  await rm(folder, { recursive: true, force: true });
});

const order = (what: Order): Promise<void> => writeFile(join(folder, 'order'), what);
const starts = async (): Promise<number> => (await readFile(join(folder, 'starts'), 'utf8').catch(() => '')).length;

it('threads start when more signatures wait than the main thread takes in a turn', async () => {
  await order('work');
  verifier = new Verifier({ threads: 2 }, { program });
  const some = (count: number, text: string) => Array.from({ length: count }, (_, i) => signature(`${text} ${i}`));
  expect(await verifier.verify(some(16, 'few'))).toBe(true);
  expect(await starts()).toBe(0);
  expect(await verifier.verify(some(17, 'many'))).toBe(true);
  await expect.poll(starts, PATIENCE).toBe(2);
});

it('a thread that ends is replaced after a pause, at growing intervals while that fails; what it had is refused by name', async () => {
  const clock = new ManualClock();
  await order('end');
  verifier = new Verifier({ threads: 1 }, { program, clock });
  const current = verifier;
  expect(current.problem).toBeNull();
  await expect(current.verify([script(1n)])).rejects.toMatchObject({ code: 'internal_error' });
  await order('fault');
  await expect.poll(() => clock.due, PATIENCE).toEqual([1_000]);
  for (const next of [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
    clock.advance(clock.due[0] ?? 0);
    await expect.poll(() => clock.due, PATIENCE).toEqual([next]);
    expect(current.problem).toContain('a broken file');
  }
  expect(await starts()).toBe(8);
});

it.each([0, 1])('with %i threads, scripts wait for one that can be started, and signatures do not', async (threads) => {
  const clock = new ManualClock();
  await order('no-file');
  verifier = new Verifier({ threads }, { program, clock });
  const current = verifier;
  const first = current.verify([script(1n)]);
  await expect.poll(() => clock.waiting, PATIENCE).toBe(1);
  const waiting = current.verify([signature('a'), script(2n)]);
  expect(await current.verify([signature('b'), signature('c')])).toBe(true);
  expect(current.problem).toMatch(/no thread that runs scripts can be started, which is tried again/);
  await order('work');
  clock.advance(1_000);
  expect(await waiting).toBe(true);
  expect(await first).toBe(true);
  expect(current.problem).toBeNull();
});
