import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { u64Key } from '../../src/db/keys.js';
import type { Kv } from '../../src/db/kv.js';
import { LogKv } from '../../src/db/log-kv.js';
import type { JournalEntry } from '../../src/journal/journal.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { TesseraError } from '../../src/lib/errors.js';
import { builtScript } from '../support/built-script.js';
import { appendTo, openJournal } from '../support/journal.js';
import { withWrite } from '../support/kv.js';
import { MemoryKv } from '../support/memory-kv.js';
import { journalContract } from './journal-contract.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-journal-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

for (const [name, cacheBytes] of [
  ['files', undefined],
  ['files, with almost no memory', 60],
] as const) {
  journalContract(name, async () => {
    let kv: Kv | undefined;
    return {
      async open() {
        await kv?.close();
        kv = await LogKv.open(join(folder, 'journal'), { createIfMissing: true });
        return openJournal(kv, cacheBytes === undefined ? {} : { cacheBytes });
      },
      dispose: async () => kv?.close(),
    };
  });
}

it('numbers entries from 1 without gaps', async () => {
  const journal = await openJournal(new MemoryKv());
  const numbers = await Promise.all(Array.from({ length: 500 }, (_, i) => appendTo(journal, Buffer.from(`${i}`))));
  expect(numbers).toEqual(Array.from({ length: 500 }, (_, i) => i + 1));
  await journal.close();
});

/** A store that counts and can hold up or break its writes. */
function watched(kv: Kv) {
  const writes: { size: number; sync: boolean }[] = [];
  let before: () => Promise<void> = async () => undefined;
  const watchedKv = withWrite(kv, async (batch, options) => {
    writes.push({ size: batch.size, sync: options.sync });
    await before();
    await kv.write(batch, options);
  });
  return {
    kv: watchedKv,
    writes,
    beforeWrite(run: () => Promise<void>) {
      before = run;
    },
  };
}

describe('group commit', () => {
  it('makes the record of a large entry in a turn of the event loop after that in which it was encoded', async () => {
    const store = watched(new MemoryKv());
    const journal = await openJournal(store.kv);
    const isWrittenAtOnce = async (payload: Uint8Array): Promise<boolean> => {
      const before = store.writes.length;
      const appended = appendTo(journal, payload);
      // All that follows in this turn.
      await new Promise<void>((resolve) => process.nextTick(resolve));
      for (let i = 0; i < 20; i++) await Promise.resolve();
      const isWritten = store.writes.length > before;
      await appended;
      return isWritten;
    };
    expect(await isWrittenAtOnce(Buffer.alloc(1_000))).toBe(true);
    expect(await isWrittenAtOnce(Buffer.alloc(2 * 1024 * 1024))).toBe(false);
    await journal.close();
  });

  it('puts what arrives during one sync into the next batch, always synced (rule P1)', async () => {
    const store = watched(new MemoryKv());
    const gate = createDeferred<void>();
    store.beforeWrite(() => gate.promise);
    const journal = await openJournal(store.kv);
    const first = appendTo(journal, Buffer.from('a'));
    await Promise.resolve();
    const others = Array.from({ length: 99 }, () => appendTo(journal, Buffer.from('b')));
    expect(journal.head).toBe(0);
    gate.resolve();
    await Promise.all([first, ...others]);
    expect(store.writes).toEqual([
      { size: 1, sync: true },
      { size: 99, sync: true },
    ]);
  });

  it('gives the numbers of a failed write again, and leaves no gap (rules P1, P7)', async () => {
    const store = watched(new MemoryKv());
    const journal = await openJournal(store.kv);
    await appendTo(journal, Buffer.from('a'));
    const gate = createDeferred<void>();
    store.beforeWrite(() => gate.promise);
    const failed = { code: 'database_failed', message: expect.stringContaining('disk full') };
    const first = expect(appendTo(journal, Buffer.from('b'))).rejects.toMatchObject(failed);
    await Promise.resolve();
    // It waits for the next write, which would leave a gap without the one before.
    const second = expect(appendTo(journal, Buffer.from('c'))).rejects.toMatchObject(failed);
    gate.reject(Object.assign(new Error('disk full'), { code: 'ENOSPC' }));
    await Promise.all([first, second]);
    expect(journal.head).toBe(1);
    store.beforeWrite(async () => undefined);
    expect(await appendTo(journal, Buffer.from('d'))).toBe(2);
    const got: JournalEntry[] = [];
    const subscription = journal.subscribe(
      1,
      async (group) => {
        got.push(...group);
      },
      () => undefined,
    );
    await expect
      .poll(() => got.map(({ seq, payload }) => [seq, Buffer.from(payload).toString()]))
      .toEqual([
        [1, 'a'],
        [2, 'd'],
      ]);
    await subscription.stop();
    await journal.close();
  });

  it('takes nothing more when its database is damaged (rule P3)', async () => {
    const store = watched(new MemoryKv());
    const journal = await openJournal(store.kv);
    store.beforeWrite(() => Promise.reject(new TesseraError('data_corrupt', 'damaged')));
    await expect(appendTo(journal, Buffer.from('a'))).rejects.toMatchObject({ code: 'data_corrupt' });
    store.beforeWrite(async () => undefined);
    await expect(appendTo(journal, Buffer.from('b'))).rejects.toMatchObject({ code: 'data_corrupt' });
    await journal.close();
  });

  it('answers overloaded when more waits than memory may hold (rule P6)', async () => {
    const store = watched(new MemoryKv());
    const gate = createDeferred<void>();
    store.beforeWrite(() => gate.promise);
    const journal = await openJournal(store.kv);
    const large = Buffer.alloc(10 * 1024 * 1024);
    const accepted = Array.from({ length: 6 }, () => appendTo(journal, large));
    await expect(appendTo(journal, large)).rejects.toMatchObject({ code: 'overloaded' });
    gate.resolve();
    expect(await Promise.all(accepted)).toEqual([1, 2, 3, 4, 5, 6]);
    await journal.close();
  });
});

describe('a damaged journal (rule P3)', () => {
  it('reports the entry that is missing instead of skipping it', async () => {
    const kv = new MemoryKv();
    const journal = await openJournal(kv);
    await Promise.all(Array.from({ length: 10 }, () => appendTo(journal, Buffer.from('x'))));
    await kv.write(kv.batch().del(u64Key('e', 5)), { sync: true });
    const error = createDeferred<unknown>();
    const got: JournalEntry[] = [];
    journal.subscribe(
      1,
      async (group) => {
        got.push(...group);
      },
      error.resolve,
    );
    expect(await error.promise).toMatchObject({ code: 'data_corrupt', message: expect.stringContaining('entry 5') });
    expect(got).toEqual([]);
    await journal.close();
  });

  it('does not open when its beginning is missing', async () => {
    const kv = new MemoryKv();
    const journal = await openJournal(kv);
    await Promise.all(Array.from({ length: 3 }, () => appendTo(journal, Buffer.from('x'))));
    await journal.close();
    await kv.write(kv.batch().del(u64Key('e', 1)), { sync: true });
    await expect(openJournal(kv)).rejects.toMatchObject({ code: 'data_corrupt' });
  });

  it('removes what an interrupted compaction left', async () => {
    const kv = new MemoryKv();
    const journal = await openJournal(kv);
    await Promise.all(Array.from({ length: 10 }, () => appendTo(journal, Buffer.from('x'))));
    await journal.compact(6);
    await kv.write(kv.batch().put(u64Key('e', 4), Buffer.from('x')), { sync: true });
    const again = await openJournal(kv);
    await again.compact(7);
    expect(await kv.getMany([4, 6, 7].map((seq) => u64Key('e', seq)))).toEqual([
      undefined,
      undefined,
      expect.anything(),
    ]);
  });
});

describe('kill -9 during appends (rule P1)', () => {
  /** The highest sequence number that the child has acknowledged when it is killed, after at least `count`. */
  async function killAfter(child: ChildProcess, count: number): Promise<number> {
    let acknowledged = 0;
    const enough = createDeferred<void>();
    child.on('message', (seq) => {
      acknowledged = Number(seq);
      if (acknowledged >= count) enough.resolve();
    });
    const exited = once(child, 'exit');
    await Promise.race([enough.promise, exited]);
    child.kill('SIGKILL');
    await exited;
    return acknowledged;
  }

  it('keeps every acknowledged entry, whole and in order, through several kills', async () => {
    const path = join(folder, 'journal');
    let acknowledged = 0;
    for (let round = 1; round <= 3; round++) {
      const child = fork(await builtScript(new URL('./append-until-killed.ts', import.meta.url)), [path]);
      acknowledged = await killAfter(child, acknowledged + 500);
      const kv = await LogKv.open(path, { createIfMissing: false });
      const journal = await openJournal(kv);
      expect(journal.head).toBeGreaterThanOrEqual(acknowledged);
      let next = 1;
      const all = createDeferred<void>();
      const subscription = journal.subscribe(
        1,
        async (group) => {
          for (const { seq, payload } of group) {
            expect(seq).toBe(next);
            expect(Buffer.from(payload).toString()).toBe(`${seq} `.repeat(40));
            next += 1;
          }
          if (next > journal.head) all.resolve();
        },
        all.reject,
      );
      await all.promise;
      await subscription.stop();
      await journal.close();
      await kv.close();
    }
  });
});
