import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { DataDir } from '../../src/db/data-dir.js';
import { FAILPOINT_ENV } from '../../src/lib/failpoints.js';
import { openArchiveFiles } from '../../src/node/archive-files.js';
import { compareIndex, INDEX } from '../../src/node/rebuild/rebuild-index.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { ChainIndex } from '../../src/storage/chain-index/chain-index.js';
import { builtScript } from '../support/built-script.js';
import { RULES } from '../support/storage/test-chain.js';

it('kill -9 before and after a write of the index leaves each block in it wholly or not at all (rule P7)', async () => {
  const path = await mkdtemp(join(tmpdir(), 'tessera-index-kill-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  let before = 0;
  for (const place of ['db.write.before:index@4', 'db.write.after:index@5']) {
    const child = fork(await builtScript(new URL('./index-until-killed.ts', import.meta.url)), [path], {
      env: { ...process.env, NODE_ENV: 'test', [FAILPOINT_ENV]: place },
    });
    const [, signal] = await once(child, 'exit');
    expect(signal).toBe('SIGKILL');
    const directory = await DataDir.open(path, { role: 'storage', networkName: 'test' });
    const archive = await Archive.open({ rules: RULES }, await openArchiveFiles(directory));
    const kv = await directory.openDerived(INDEX);
    const blocks = await ChainIndex.blocksIn(kv);
    expect(blocks).toBeGreaterThan(before);
    expect(blocks).toBeLessThanOrEqual(archive.nextHeight);
    // What it has is what these blocks give, record by record.
    const progress = { signal: new AbortController().signal, onProgress: () => undefined };
    expect(await compareIndex(directory, kv, archive, progress)).toBe(blocks);
    before = blocks;
    await directory.close();
  }
});
