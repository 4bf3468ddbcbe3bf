import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { NODE_ROLES } from '../../../src/lib/roles.js';
import { Snapshots } from '../../../src/node/dev/snapshots.js';

/** A folder of a network in which every node has one file. */
function chainFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tessera-snapshots-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  write(path, 'first');
  return path;
}

function write(path: string, text: string): void {
  for (const role of NODE_ROLES) {
    mkdirSync(join(path, role, 'lock'), { recursive: true });
    mkdirSync(join(path, role, 'db'), { recursive: true });
    writeFileSync(join(path, role, 'db', 'LOCK'), '');
    writeFileSync(join(path, role, 'db', 'file'), text);
  }
}

const contentOf = (path: string) => NODE_ROLES.map((role) => readFileSync(join(path, role, 'db', 'file'), 'utf8'));
const four = (text: string) => NODE_ROLES.map(() => text);

function record() {
  const set: number[] = [];
  return { set, setClockAhead: async (ms: number) => void set.push(ms) };
}

const FACTS = { height: 3, time: 1_800_000_000, clock_ahead_ms: 7 };

describe('snapshots of a dev network', () => {
  it('bring back the folders of all nodes and the clock, as often as one likes', async () => {
    const path = chainFolder();
    const clock = record();
    const snapshots = await Snapshots.open(path, clock);
    expect(await snapshots.take(FACTS)).toEqual({ id: 1, ...FACTS });
    for (const text of ['second', 'third']) {
      write(path, text);
      writeFileSync(join(path, 'user', 'new'), '');
      await snapshots.restore(1);
      expect(contentOf(path)).toEqual(four('first'));
      expect(readdirSync(join(path, 'user'))).toEqual(['db']);
    }
    expect(clock.set).toEqual([7, 7]);
    expect(existsSync(join(path, 'revert.json'))).toBe(false);
  });

  it('are there after a restart', async () => {
    const path = chainFolder();
    const first = await Snapshots.open(path, record());
    await first.take(FACTS);
    await first.take({ ...FACTS, height: 4 });
    const again = await Snapshots.open(path, record());
    expect(again.all).toEqual([
      { id: 1, ...FACTS },
      { id: 2, ...FACTS, height: 4 },
    ]);
    expect(() => again.get(3)).toThrow('no snapshot 3; there are 1, 2');
  });

  it('finish a revert that a crash has interrupted', async () => {
    const path = chainFolder();
    const facts = await (await Snapshots.open(path, record())).take(FACTS);
    write(path, 'second');
    // Half of the folders are back when the process ends.
    writeFileSync(join(path, 'revert.json'), JSON.stringify(facts));
    rmSync(join(path, 'storage'), { recursive: true });
    writeFileSync(join(path, 'mempool', 'db', 'file'), 'first');
    const clock = record();
    await Snapshots.open(path, clock);
    expect(contentOf(path)).toEqual(four('first'));
    expect([clock.set, existsSync(join(path, 'revert.json'))]).toEqual([[7], false]);
  });

  it('forget one that was not finished', async () => {
    const path = chainFolder();
    mkdirSync(join(path, 'snapshots', '1.part', 'user'), { recursive: true });
    const snapshots = await Snapshots.open(path, record());
    expect(snapshots.all).toEqual([]);
    expect(readdirSync(join(path, 'snapshots'))).toEqual([]);
  });

  it('are the last sixteen', async () => {
    const path = chainFolder();
    const snapshots = await Snapshots.open(path, record());
    for (let height = 0; height < 18; height++) await snapshots.take({ ...FACTS, height });
    expect(snapshots.all.map(({ id }) => id)).toEqual(Array.from({ length: 16 }, (_, i) => i + 3));
    expect(readdirSync(join(path, 'snapshots'))).toHaveLength(16);
  });
});
