/** Nodes at one journal compare their states, and the one that differs stops (docs/adr/0043-digests-in-the-log.md). */

import { describe, expect, it } from 'vitest';
import { PendingBatch, writesOf } from '../../src/db/record.js';
import { errorMessage, isTesseraError } from '../../src/lib/errors.js';
import { silentLogger } from '../../src/lib/logger.js';
import { SignalSource } from '../../src/lib/signal.js';
import { DigestTeller } from '../../src/mempool/replicas/digest-teller.js';
import { SharedDigests } from '../../src/mempool/replicas/shared-digests.js';
import { type DigestCommand, decodeCommand, encodeCommand } from '../../src/mempool/state/commands.js';
import { keys } from '../../src/mempool/state/layout.js';
import { settle } from '../support/manual-clock.js';
import { MemoryKv } from '../support/memory-kv.js';

/** A node that applies blocks of a journal; from command `damagedAt` on its state is another. */
class Replica {
  readonly digests: SharedDigests;
  stoppedBy: unknown;
  readonly #damagedAt: number;

  constructor(name: string, damagedAt = Number.POSITIVE_INFINITY, record?: Uint8Array) {
    this.digests = new SharedDigests(name, record);
    this.#damagedAt = damagedAt;
  }

  apply(seq: number, isBlock: boolean): void {
    const isDamaged = seq >= this.#damagedAt;
    this.digests.noteApplied(seq, { mark: () => (isDamaged ? seq + 1_000_000 : seq) });
    if (!isBlock) return;
    const head = { height: seq / 10 } as never;
    this.digests.afterBlock(
      seq,
      { head, sharedDigest: () => `${isDamaged ? 'bad' : 'good'}${seq}` },
      new PendingBatch(),
    );
  }

  hear(command: DigestCommand): void {
    try {
      this.digests.compare(decodeCommand(encodeCommand(command)) as DigestCommand, new PendingBatch());
    } catch (error) {
      this.stoppedBy = error;
    }
  }
}

/** A journal in which every tenth command stores a block; the first node that is up leads. */
class Log {
  readonly #replicas: Replica[];
  #seq = 0;

  constructor(replicas: readonly Replica[]) {
    this.#replicas = [...replicas];
    for (const replica of replicas) {
      replica.digests.contested.on((seq) => {
        const answer = replica.digests.answer(seq);
        if (answer !== undefined) this.#queue.push(answer);
      });
    }
  }

  readonly #queue: DigestCommand[] = [];

  /** Commands that a node reads one after the other: its answers come behind them. */
  say(...commands: readonly DigestCommand[]): void {
    this.#queue.push(...commands);
    this.#deliver();
  }

  block(): void {
    for (let i = 0; i < 10; i++) {
      this.#seq++;
      for (const replica of this.#up()) replica.apply(this.#seq, this.#seq % 10 === 0);
    }
    const untold = this.#up()[0]?.digests.nextDigest();
    if (untold !== undefined) this.#queue.push(untold);
    this.#deliver();
  }

  #deliver(): void {
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      for (const replica of this.#up()) replica.hear(next);
    }
  }

  #up(): Replica[] {
    return this.#replicas.filter(({ stoppedBy }) => stoppedBy === undefined);
  }
}

const word = (replica: string, seq: number, digest: string): DigestCommand => {
  return { kind: 'digest', replica, seq, height: seq / 10, digest: `${digest}${seq}`, trail: [] };
};
const stopped = (replicas: readonly Replica[]): boolean[] => replicas.map(({ stoppedBy }) => stoppedBy !== undefined);

describe('digests of the nodes at one journal', () => {
  it('are those of equal states: nobody stops', () => {
    const all = [new Replica('a'), new Replica('b'), new Replica('c')];
    const log = new Log(all);
    for (let n = 0; n < 40; n++) log.block();
    expect(stopped(all)).toEqual([false, false, false]);
  });

  for (const [what, which] of [
    ['the leader', 0],
    ['a follower', 2],
  ] as const) {
    it(`stop ${what} that differs, with the command since which it does, and no other`, () => {
      const all = ['a', 'b', 'c'].map((name, i) => new Replica(name, i === which ? 34 : undefined));
      const log = new Log(all);
      for (let n = 0; n < 6; n++) log.block();
      expect(stopped(all)).toEqual([0, 1, 2].map((i) => i === which));
      const error = all[which]?.stoppedBy;
      expect(isTesseraError(error, 'state_diverged')).toBe(true);
      expect(errorMessage(error)).toMatch(/came apart with command 34;/);
      expect(error).toMatchObject({
        details: { command: 34, after: 30, by: 40, height: 4, own: 'bad40', others: 'good40' },
      });
    });
  }

  it('are not forgotten for those of a node that comes late, differs, and speaks of older states too', () => {
    const node = new Replica('b');
    const log = new Log([node]);
    for (let n = 1; n <= 20; n++) {
      log.say(word('a', 10 * n, 'good'));
      log.block();
    }
    // The first node is slow, and has answered nothing yet.
    for (let n = 1; n <= 20; n++) log.say(word('c', 10 * n, 'bad'));
    for (let n = 0; n < 3; n++) log.block();
    expect(stopped([node])).toEqual([false]);
  });

  it('do not count from a node that was outvoted on a state before, until it says a right one', () => {
    const node = new Replica('b');
    const log = new Log([node]);
    // Two are right on the first state. Then one of them is away, and the wrong node leads, and is the first to speak.
    log.say(word('a', 10, 'good'));
    for (const seq of [10, 20, 30]) log.say(word('c', seq, 'bad'));
    for (let n = 0; n < 5; n++) log.block();
    expect(stopped([node])).toEqual([false]);
    // The states on which it was outvoted are forgotten one day.
    for (let n = 0; n < 25; n++) log.block();
    expect(stopped([node])).toEqual([false]);
    log.say(word('c', 300, 'good'));
    log.say(word('c', 310, 'bad'));
    for (let n = 0; n < 3; n++) log.block();
    expect(stopped([node])).toEqual([true]);
  });

  it('wait for what a node that was suspended has to say of all states', () => {
    const node = new Replica('b');
    const log = new Log([node]);
    for (let seq = 1; seq <= 30; seq++) node.apply(seq, seq % 10 === 0);
    // The wrong node led, and said what it thinks of an earlier state only then: this node answers in that order.
    log.say(word('a', 10, 'good'), word('c', 20, 'bad'), word('c', 30, 'bad'), word('c', 10, 'bad'));
    expect(stopped([node])).toEqual([false]);
  });

  it('are told again when the journal has not taken an answer', async () => {
    const { digests } = new Replica('b');
    const heard = new SignalSource<never>();
    const submitted: unknown[] = [];
    const submit = async (command: unknown): Promise<never> => {
      submitted.push(command);
      throw new Error('the journal is away');
    };
    const leadership = { leads: false, changed: heard } as never;
    const teller = new DigestTeller({
      digests,
      applier: { applied: heard, submit } as never,
      leadership,
      logger: silentLogger,
    });
    teller.start();
    digests.afterBlock(10, { head: { height: 1 }, sharedDigest: () => 'good10' } as never, new PendingBatch());
    for (const seq of [10, 20]) {
      digests.compare(word('c', seq, 'bad'), new PendingBatch());
      await settle();
    }
    teller.stop();
    expect(submitted).toMatchObject([
      { seq: 10, digest: 'good10' },
      { seq: 10, digest: 'good10' },
    ]);
  });

  it('name the first command behind an equal block', () => {
    const all = [new Replica('a'), new Replica('b'), new Replica('c', 31)];
    const log = new Log(all);
    for (let n = 0; n < 5; n++) log.block();
    expect(all[2]?.stoppedBy).toMatchObject({ details: { command: 31, after: 30 } });
  });

  it('stop the second to speak of two, with the next block', () => {
    const all = [new Replica('a'), new Replica('b', 12)];
    const log = new Log(all);
    log.block();
    log.block();
    expect(stopped(all)).toEqual([false, false]);
    log.block();
    expect(stopped(all)).toEqual([false, true]);
    expect(all[1]?.stoppedBy).toMatchObject({ details: { command: 12 } });
  });

  it('are compared again after a restart, and name the range where the marks are gone', async () => {
    const kv = new MemoryKv();
    const first = new SharedDigests('b');
    const batch = new PendingBatch();
    first.afterBlock(10, { head: { height: 1 } as never, sharedDigest: () => 'good10' }, batch);
    const before = { kind: 'digest', replica: 'a', seq: 10, height: 1, digest: 'good10', trail: [] } as const;
    first.compare(before, batch);
    first.afterBlock(20, { head: { height: 2 } as never, sharedDigest: () => 'bad20' }, batch);
    await kv.write(batch, { sync: true });
    expect(writesOf(batch)).not.toEqual([]);
    const again = new Replica('b', 0, await kv.get(keys.digests));
    for (const replica of ['a', 'c']) again.hear({ ...before, replica, seq: 20, height: 2, digest: 'good20' });
    expect(errorMessage(again.stoppedBy)).toMatch(/came apart after command 10 \(block 1\) and by command 20;/);
    await kv.close();
  });

  it('stop one that has no block where others have, at once and without a word in the journal', () => {
    const [own, other] = [new Replica('a'), new Replica('b')];
    // A journal that was begun by a node with a state: what comes before its first command is in no command.
    own.digests.afterBlock(10, { head: { height: -1 } as never, sharedDigest: () => 'empty' }, new PendingBatch());
    other.apply(10, true);
    const word = other.digests.nextDigest();
    if (word === undefined) throw new Error('nothing was told');
    let contested = 0;
    own.digests.contested.on(() => contested++);
    own.hear(word);
    expect(isTesseraError(own.stoppedBy, 'state_diverged')).toBe(true);
    expect(errorMessage(own.stoppedBy)).toContain('tessera rebuild --role mempool --archive');
    expect({ contested, answer: own.digests.answer(10) }).toEqual({ contested: 0, answer: undefined });
  });

  it('of a state that is ahead of the journal are not compared', () => {
    const ahead = new Replica('b', 0);
    ahead.digests.afterBlock(20, { head: { height: 9 } as never, sharedDigest: () => 'other' }, new PendingBatch());
    for (const replica of ['a', 'c'])
      ahead.hear({ kind: 'digest', replica, seq: 20, height: 2, digest: 'good', trail: [] });
    expect(ahead.stoppedBy).toBeUndefined();
  });
});
