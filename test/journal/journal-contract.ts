/** What every journal must do, wherever its entries are. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EntryId, Journal, JournalEntry, Subscription } from '../../src/journal/journal.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { appendTo } from '../support/journal.js';

export interface JournalBed {
  /** Opens the journal, or opens it again after `close` with everything that is durable. */
  open(): Promise<Journal>;
  dispose(): Promise<void>;
}

const payload = (n: number): Uint8Array => Buffer.from(`entry ${n}`);
const text = (entry: JournalEntry): string => Buffer.from(entry.payload).toString();
const expected = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => `entry ${from + i}`);

/** A subscriber that keeps all it gets; `until(n)` resolves when it has n entries. */
function collector(
  journal: Journal,
  from: number,
  onDeliver: (group: readonly JournalEntry[]) => Promise<void> | void,
) {
  const got: string[] = [];
  const waiters: { count: number; resolve: () => void }[] = [];
  const failed = createDeferred<unknown>();
  const subscription: Subscription = journal.subscribe(
    from,
    async (group) => {
      await onDeliver(group);
      got.push(...group.map(text));
      for (const { count, resolve } of waiters) if (got.length >= count) resolve();
    },
    failed.resolve,
  );
  const until = (count: number): Promise<void> =>
    got.length >= count ? Promise.resolve() : new Promise((resolve) => waiters.push({ count, resolve }));
  return { got, until, failed: failed.promise, stop: () => subscription.stop() };
}

export function journalContract(name: string, makeBed: () => Promise<JournalBed>): void {
  describe(`${name} as a journal`, () => {
    let bed: JournalBed;
    let journal: Journal;
    beforeEach(async () => {
      bed = await makeBed();
      journal = await bed.open();
      seqs = [];
    });
    afterEach(async () => {
      await journal.close();
      await bed.dispose();
    });

    /** The numbers of the entries so far. */
    let seqs: number[] = [];
    const appendOne = async (n: number): Promise<number> => {
      const seq = await appendTo(journal, payload(n));
      seqs[n - 1] = seq;
      return seq;
    };
    /** The number of entry n, the first being 1; that after the last one when there is no such entry yet. */
    const at = (n: number): number => seqs[n - 1] ?? (seqs.at(-1) ?? 0) + 1;
    const append = (from: number, to: number): Promise<number[]> =>
      Promise.all(expected(from, to).map((_, i) => appendOne(from + i)));
    const reopen = async (): Promise<void> => {
      await journal.close();
      journal = await bed.open();
    };

    it('is empty at first', () => {
      expect(journal.head).toBe(0);
    });

    it('numbers entries in the order of the calls', async () => {
      const numbers = await append(1, 500);
      expect(numbers.every((seq, i) => seq > (numbers[i - 1] ?? 0))).toBe(true);
      expect(await appendOne(501)).toBeGreaterThan(at(500));
      expect(journal.head).toBe(at(501));
    });

    it('gives an id that the entry is delivered with at once, before the entry is durable', async () => {
      const delivered: EntryId[] = [];
      const [first, second] = [journal.append(payload(1)), journal.append(payload(2))];
      expect(journal.head).toBe(0);
      const reader = collector(journal, 1, (group) => void delivered.push(...group.map(({ id }) => id)));
      const head = await second.durable;
      expect(journal.head).toBe(head);
      await reader.until(2);
      expect(delivered).toEqual([first.id, second.id]);
    });

    it('has every acknowledged entry after it was opened again, and goes on counting', async () => {
      await append(1, 50);
      await reopen();
      expect(journal.head).toBe(at(50));
      expect(await appendOne(51)).toBeGreaterThan(at(50));
      const reader = collector(journal, 1, () => undefined);
      await reader.until(51);
      expect(reader.got).toEqual(expected(1, 51));
    });

    it('delivers old entries, then new ones, in order, each once', async () => {
      await append(1, 3_000);
      const reader = collector(journal, 1, () => undefined);
      const appended = append(3_001, 4_000);
      await reader.until(4_000);
      await appended;
      for (let n = 4_001; n <= 4_010; n++) await appendOne(n);
      await reader.until(4_010);
      expect(reader.got).toEqual(expected(1, 4_010));
    });

    it('delivers from the number asked for, which may be the next one', async () => {
      await append(1, 10);
      const middle = collector(journal, at(6), () => undefined);
      const next = collector(journal, at(11), () => undefined);
      await append(11, 12);
      await Promise.all([middle.until(7), next.until(2)]);
      expect(middle.got).toEqual(expected(6, 12));
      expect(next.got).toEqual(expected(11, 12));
    });

    it('delivers nothing that is not durable', async () => {
      const reader = collector(journal, 1, (group) => {
        for (const { seq } of group) expect(seq).toBeLessThanOrEqual(journal.head);
      });
      await append(1, 200);
      await reader.until(200);
    });

    it('waits for one group before it delivers the next, and then delivers what has gathered', async () => {
      const first = createDeferred<void>();
      const entered = createDeferred<void>();
      const groups: number[] = [];
      const reader = collector(journal, 1, async (group) => {
        groups.push(group.length);
        entered.resolve();
        if (groups.length === 1) await first.promise;
      });
      await appendOne(1);
      await entered.promise;
      await append(2, 100);
      expect(groups).toEqual([1]);
      first.resolve();
      await reader.until(100);
      expect(groups.reduce((sum, size) => sum + size, 0)).toBe(100);
      expect(groups.length).toBeLessThan(100);
    });

    it('lets a slow subscriber hold up neither appends nor others', async () => {
      const never = createDeferred<void>();
      const entered = createDeferred<void>();
      const slow = collector(journal, 1, async () => {
        entered.resolve();
        await never.promise;
      });
      await appendOne(1);
      await entered.promise;
      const quick = collector(journal, 1, () => undefined);
      await append(2, 50);
      await quick.until(50);
      expect(slow.got).toEqual([]);
      never.resolve();
      await slow.until(50);
      expect(slow.got).toEqual(expected(1, 50));
    });

    it('delivers nothing after stop, which waits for the delivery under way', async () => {
      const gate = createDeferred<void>();
      const entered = createDeferred<void>();
      const reader = collector(journal, 1, async () => {
        entered.resolve();
        await gate.promise;
      });
      await appendOne(1);
      await entered.promise;
      let stopped = false;
      const stop = reader.stop().then(() => {
        stopped = true;
      });
      await append(2, 3);
      expect(stopped).toBe(false);
      gate.resolve();
      await stop;
      await append(4, 5);
      expect(reader.got).toEqual(expected(1, 1));
    });

    it('stops a delivery that fails and reports why, and keeps the others', async () => {
      const broken = collector(journal, 1, () => Promise.reject(new Error('cannot apply')));
      const sound = collector(journal, 1, () => undefined);
      await append(1, 3);
      expect(await broken.failed).toMatchObject({ message: 'cannot apply' });
      await append(4, 5);
      await sound.until(5);
      expect(broken.got).toEqual([]);
    });

    it('reports data_corrupt to a subscriber that has seen more than there is', async () => {
      await append(1, 3);
      const reader = collector(journal, at(4) + 1, () => undefined);
      expect(await reader.failed).toMatchObject({ code: 'data_corrupt' });
    });

    it('forgets what it is told to, and keeps the rest and the count', async () => {
      await append(1, 2_500);
      await journal.compact(at(2_400));
      const forgotten = collector(journal, at(2_399), () => undefined);
      expect(await forgotten.failed).toMatchObject({ code: 'data_corrupt' });
      const kept = collector(journal, at(2_400), () => undefined);
      await kept.until(101);
      await kept.stop();
      await journal.compact(at(2_501));
      await reopen();
      expect(journal.head).toBe(at(2_500));
      expect(await appendOne(2_501)).toBeGreaterThan(at(2_500));
    });

    it('forgets nothing that a subscriber has not got yet', async () => {
      const gate = createDeferred<void>();
      const entered = createDeferred<void>();
      const reader = collector(journal, 1, async () => {
        entered.resolve();
        await gate.promise;
      });
      await appendOne(1);
      await entered.promise;
      await append(2, 20);
      await journal.compact(at(21));
      gate.resolve();
      await append(21, 30);
      await reader.until(30);
      expect(reader.got).toEqual(expected(1, 30));
    });

    it('finishes appends under way when it is closed, and refuses new ones', async () => {
      const pending = append(1, 100);
      const closing = journal.close();
      await expect(appendOne(101)).rejects.toMatchObject({ code: 'shutting_down' });
      await closing;
      expect(await pending).toHaveLength(100);
      journal = await bed.open();
      expect(journal.head).toBe(at(100));
    });
  });
}
