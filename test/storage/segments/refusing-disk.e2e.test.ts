/** Segments on a disk that refuses a call, or was not asked to keep what it was given (rules P1, P2). Needs a C compiler. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DataDir } from '../../../src/db/data-dir.js';
import { openArchiveFiles } from '../../../src/node/archive-files.js';
import { Archive } from '../../../src/storage/archive/archive.js';
import { builtScript } from '../../support/built-script.js';
import { canMakeFaultyDisks, FaultyDisk } from '../../support/faulty-disk/faulty-disk.js';
import { createTestChain, RULES } from '../../support/storage/test-chain.js';

let folder: string;
let disk: FaultyDisk;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-refusing-'));
  disk = await FaultyDisk.create();
});
afterEach(async () => {
  await disk.remove();
  await rm(folder, { recursive: true });
});

/** Lets a child store blocks until it ends at a failpoint. */
async function store(data: string, failpoint: string): Promise<void> {
  const child: ChildProcess = fork(
    await builtScript(new URL('../store-until-killed.ts', import.meta.url)),
    [join(folder, data)],
    {
      env: { ...process.env, ...disk.environment(), NODE_ENV: 'test', TESSERA_FAILPOINT: failpoint },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    },
  );
  await once(child, 'exit');
}

/** The calls that a run meets, by a rule that logs them. */
async function calls(data: string, failpoint: string, rule: string): Promise<string[]> {
  await disk.set(`${rule} log`);
  const before = (await disk.hits()).length;
  await store(data, failpoint);
  await disk.set();
  return (await disk.hits()).slice(before);
}

const segments = async (data: string): Promise<string[]> => (await readdir(join(folder, data, 'segments'))).sort();

describe.runIf(canMakeFaultyDisks)('a disk', () => {
  it('has the block that a killed process appended synced before it is named', async () => {
    await store('data', 'segment.append.after:blocks@2');
    const open = (await segments('data')).find((name) => name.endsWith('.open')) ?? 'none';
    const met = await calls('data', 'db.write.before:archive', 'sync segments');
    expect(met).toEqual([expect.stringContaining(open)]);
  });

  it('has closed segments, which somebody may have copied here, synced before they are named', async () => {
    await store('data', 'segment.closed.after:blocks@3');
    const [first = ''] = await segments('data');
    await rm(join(folder, 'data', 'db', 'archive'), { recursive: true });
    await rm(join(folder, 'data', 'db', 'archive.seal'));
    const met = await calls('data', 'db.write.before:archive', 'sync segments');
    expect(met[0]).toContain(first);
  });

  it('that fails to sync the folder when a segment was closed is asked again, and the segment has its footer', async () => {
    const met = await calls('undisturbed', 'segment.closed.after:blocks@3', 'sync segments');
    // Before it the folder is synced for the file `whole` and for the open segment.
    const [, , skip] = met.flatMap((call, i) => (call.endsWith('/segments') ? [i] : []));
    await disk.set(`sync segments EIO skip=${skip} times=1`);
    await store('data', 'segment.closed.after:blocks@2');
    expect((await disk.hits()).at(-1)).toMatch(/^EIO sync .*segments$/);
    const closed = (names: string[]) => names.filter((name) => name.endsWith('.blocks')).slice(0, 2);
    expect(closed(await segments('data'))).toEqual(closed(await segments('undisturbed')));
    await disk.set();
    await store('data', 'segment.closed.after:blocks@2');
    const directory = await DataDir.open(join(folder, 'data'), { role: 'storage', networkName: 'test' });
    const files = await openArchiveFiles(directory, { maxBytes: 4_000 });
    const archive = await Archive.open({ rules: RULES }, files);
    await archive.load();
    expect(await archive.verify()).toEqual({ blocks: archive.nextHeight, transactions: archive.nextHeight * 3 });
    await files.segments.verify(new AbortController().signal);
    await directory.close();
  });

  it('that fails to sync the batch of a block, and has it all the same, has the block too', async () => {
    const met = await calls('undisturbed', 'archive.batch.after:archive@5', 'sync db/archive');
    await disk.set(`sync db/archive EIO skip=${met.length - 1}`);
    await store('data', '');
    expect((await disk.hits()).at(-1)).toMatch(/^EIO sync/);
    const directory = await DataDir.open(join(folder, 'data'), { role: 'storage', networkName: 'test' });
    const archive = await Archive.open({ rules: RULES }, await openArchiveFiles(directory, { maxBytes: 4_000 }));
    await archive.load();
    expect(archive.nextHeight).toBe(5);
    expect(archive.tip.hash).toBe(createTestChain().grow(5).hash(4));
    await directory.close();
  });
});
