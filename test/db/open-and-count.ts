/**
 * For `unread-logs.e2e.test.ts`, as a process of its own on a faulty disk.
 *
 *   PATH WRITES BYTES         opens a database, makes so many writes of so many bytes, with a dot for each that was
 *                             acknowledged, and prints how many records it has then
 *   PATH each RULES...        for each set of rules (separated by `;`): opens a copy while the disk does that, and then on a
 *                             sound disk; prints a line with what both had, a count or the code of the error
 *   PATH reopen RULES         makes ten writes and one that the disk refuses; reopens the database while the disk does that, and
 *                             prints how many records can be read then
 */

import { writeSync } from 'node:fs';
import { cp, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { u64Key } from '../../src/db/keys.js';
import { LevelKv } from '../../src/db/level-kv.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { armFailpoint } from '../../src/lib/failpoints.js';

const STDOUT = 1;
const RULES_FILE = process.env.FAULTY_DISK_RULES ?? '';

async function writeAndCount(path: string, writes = 0, bytes = 0): Promise<string> {
  let kv: LevelKv | undefined;
  try {
    kv = await LevelKv.open(path, { createIfMissing: true });
    for (let n = 0; n < writes; n++) {
      await kv.write(kv.batch().put(u64Key('n', n), new Uint8Array(bytes).fill(n)), { sync: true });
      writeSync(STDOUT, '.');
    }
    let count = 0;
    for await (const _ of kv.entries({ gte: u64Key('n', 0), lt: u64Key('o', 0) })) count += 1;
    // A process that ends as kill -9 does leaves what was written in the log.
    if (writes === 0) await kv.close();
    return String(count);
  } catch (error) {
    await kv?.close();
    return isTesseraError(error) ? error.code : String(error);
  }
}

async function setRules(text: string): Promise<void> {
  await writeFile(`${RULES_FILE}.next`, text.replaceAll(';', '\n'));
  await rename(`${RULES_FILE}.next`, RULES_FILE);
}

async function openEach(path: string, sets: readonly string[]): Promise<void> {
  for (const rules of sets) {
    const folder = await mkdtemp(join(tmpdir(), 'tessera-opened-'));
    const copy = join(folder, basename(path));
    await setRules('');
    await cp(dirname(path), folder, { recursive: true });
    await setRules(rules);
    const first = await writeAndCount(copy);
    await setRules('');
    writeSync(STDOUT, `${first} ${await writeAndCount(copy)}\n`);
    await rm(folder, { recursive: true });
  }
}

async function reopen(path: string, rules: string): Promise<string> {
  const kv = await LevelKv.open(path, { createIfMissing: true });
  for (let n = 0; n < 10; n++) await kv.write(kv.batch().put(u64Key('n', n), new Uint8Array(100)), { sync: true });
  await setRules('write .log ENOSPC');
  const refused = kv.batch().put(u64Key('n', 10), new Uint8Array(100));
  const refusal = await kv.write(refused, { sync: true }).catch((error: unknown) => error);
  await setRules(rules);
  await kv.recover();
  const { problem } = kv;
  let count = 0;
  for (let n = 0; n < 10; n++) if ((await kv.get(u64Key('n', n))) !== undefined) count += 1;
  return [isTesseraError(refusal, 'database_failed'), problem !== null, count].join(' ');
}

const [path = '', writes = '0', ...rest] = process.argv.slice(2);
armFailpoint(process.env);
if (writes === 'each') await openEach(path, rest);
else if (writes === 'reopen') writeSync(STDOUT, await reopen(path, rest.join(' ')));
else writeSync(STDOUT, await writeAndCount(path, Number(writes), Number(rest[0] ?? 100)));
process.kill(process.pid, 'SIGKILL');
