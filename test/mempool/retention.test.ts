/** The journal of a mempool node takes a bounded part of the disk (docs/adr/0014-a-full-disk-ends-no-node.md). */

import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DataDir } from '../../src/db/data-dir.js';
import { folderSize, type Room } from '../../src/db/disk-room.js';
import { TesseraError } from '../../src/lib/errors.js';
import { SignalSource } from '../../src/lib/signal.js';
import { Compaction, Retention } from '../../src/mempool/state/retention.js';
import { MempoolState } from '../../src/mempool/state/state.js';
import { StateStore } from '../../src/mempool/state/state-store.js';
import { appendTo, journalWith, openJournal } from '../support/journal.js';
import { ManualClock } from '../support/manual-clock.js';
import { MemoryKv } from '../support/memory-kv.js';
import { rulesFor } from '../support/mempool.js';
import { alice, bob, newFolder, send, setUp, stored } from './running.js';

const MIB = 1024 * 1024;

describe('the part of the journal that is kept', () => {
  it('is 64 MiB and what came in the last minute, however few commands that are', () => {
    const clock = new ManualClock();
    const retention = new Retention(7, clock);
    let seq = 7;
    const pass = (mib: number): void => {
      for (let i = 0; i < mib; i++) retention.noteApplied(++seq, MIB);
    };
    pass(100);
    // All of it is young.
    expect(retention.due()).toBe(0);
    expect(retention.leastKept()).toBe(0);
    clock.advance(60_000);
    expect(retention.due()).toBe(7 + 36);
    // Not again before there are 32 MiB more.
    pass(31);
    expect(retention.due()).toBe(0);
    pass(1);
    expect(retention.due()).toBe(7 + 68);
    // On a disk that is nearly full: what is older than a minute goes.
    expect(retention.leastKept()).toBe(7 + 100);
    clock.advance(60_000);
    expect(retention.leastKept()).toBe(7 + 132);
    expect(retention.due()).toBe(0);
  });

  it('ends where the state stood at the start, for what came before is not counted', () => {
    const clock = new ManualClock();
    const retention = new Retention(1_000, clock);
    expect(retention.leastKept()).toBe(0);
    clock.advance(60_000);
    expect(retention.leastKept()).toBe(1_000);
  });
});

describe('the journal behind the state', () => {
  it('is cut at every 64th block that is stored, but for the last 10,000 commands (docs/adr/0048-a-state-from-storage.md)', async () => {
    const clock = new ManualClock();
    const cuts: number[] = [];
    const journal = {
      before: (seq: number, count: number) => seq - count + 1,
      compact: async (seq: number) => void cuts.push(seq),
    };
    const modules = {
      journal,
      store: new StateStore(new MemoryKv(), clock),
      state: new MempoolState(rulesFor([alice, bob])),
      clock,
    };
    const compaction = new Compaction(modules, {
      alone: (work) => work(),
      fail: (error) => expect.fail(String(error)),
    });
    for (const height of [63, 64, 65, 127, 128]) {
      modules.state.seal(10_000 + height, modules.store.batch());
      await compaction.afterCommands([], { arrivals: 0 }, { stored: [{ height }], adopted: [] });
    }
    expect(cuts).toEqual([65, 129]);
  });
});

describe('a journal that is cut in a hurry', () => {
  it('gives its room back to the disk', async () => {
    const folder = await newFolder();
    const dataDir = await DataDir.open(folder, { role: 'mempool', networkName: 'test' });
    try {
      const journal = await openJournal(await dataDir.open('journal'));
      for (let i = 0; i < 40; i++) await appendTo(journal, randomBytes(500_000));
      const size = () => folderSize(join(folder, 'db', 'journal'));
      const before = await size();
      await journal.compact(journal.head);
      expect(await size()).toBeLessThan(before / 4);
      await journal.close();
    } finally {
      await dataDir.close();
    }
  });
});

describe('a disk that the journal has filled', () => {
  /** Has room again as soon as the journal is cut. */
  class FilledDisk implements Room {
    isLow = false;
    readonly problems = [];
    readonly ranLow = new SignalSource<void>();
    readonly isBack = new SignalSource<void>();

    check(): void {
      if (this.isLow) throw new TesseraError('write_failed', 'no room');
    }
  }

  it('has room again by itself: what is older than a minute is cut at once, the rest a minute later (rule P7)', async () => {
    const room = new FilledDisk();
    const cuts: { readonly seq: number; readonly isUrgent: boolean }[] = [];
    const folder = await newFolder();
    const before = await setUp({ folder });
    await stored(before.mempool, 0);
    await before.mempool.submit([send(alice, 0, bob)]);
    await stored(before.mempool, 1);
    await before.close();
    const { mempool, bed } = await setUp({
      folder,
      room,
      wrapJournal: (journal) =>
        journalWith(journal, {
          async compact(seq, { isUrgent = false } = {}) {
            await journal.compact(seq, { isUrgent });
            cuts.push({ seq, isUrgent });
            room.isLow = false;
            room.isBack.emit();
          },
        }),
    });
    room.isLow = true;
    room.ranLow.emit();
    await expect(mempool.submit([send(bob, 1, alice)])).rejects.toMatchObject({ code: 'write_failed' });
    expect(cuts).toEqual([]);
    const later = async () => {
      await bed.clock.advance(60_000);
      return cuts[0];
    };
    await expect.poll(later, { timeout: 60_000 }).toMatchObject({ isUrgent: true });
    await mempool.submit([send(bob, 1, alice)]);
    await stored(mempool, 2);
  });
});
