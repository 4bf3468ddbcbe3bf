import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { lockFolder } from '../../src/db/folder-lock.js';

it('a lock whose note cannot be written is not held: it is taken when that is mended', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, 'lock.pid'));
  await expect(lockFolder(folder)).rejects.toMatchObject({ code: 'EISDIR' });
  await rm(join(folder, 'lock.pid'), { recursive: true });
  const unlock = await lockFolder(folder);
  await unlock();
});
