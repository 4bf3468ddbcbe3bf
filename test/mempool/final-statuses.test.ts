/** Final statuses are forgotten at the end of their time, all of them (decision V1). */

import { describe, expect, it } from 'vitest';
import { PendingBatch, unsealRecord, writesOf } from '../../src/db/record.js';
import { toHex } from '../../src/lib/bytes.js';
import type { TxStatus } from '../../src/mempool/service.js';
import { FinalStatuses } from '../../src/mempool/state/final-statuses.js';
import { decodeStatus, encodeStatus } from '../../src/mempool/state/records.js';

const REJECTED: TxStatus = { status: 'Rejected', timestamp: 100, additionalInfo: '' };
/** Of a record that says which statuses are forgotten together. */
const EXPIRY = 't'.charCodeAt(0);
const TIME = 500;

interface Command {
  readonly seq: number;
  /** What it decides, one after the other. */
  readonly decides: readonly (readonly string[])[];
}

/** A cut that expires 200 DRUID sets, and the block of the same second: its decisions carry the time of the cut. */
const COMMANDS: readonly Command[] = [
  { seq: 1_001, decides: Array.from({ length: 200 }, (_, i) => [`a${i}`]) },
  { seq: 1_002, decides: [] },
  { seq: 1_003, decides: [['b']] },
  { seq: 1_004, decides: [['c'], ['d']] },
];

/** The keys and records of expiry that groups of commands write, each group in a batch of its own. */
function expiries(groups: readonly (readonly Command[])[]): Map<string, string> {
  const statuses = new FinalStatuses(1_000);
  const found = new Map<string, string>();
  for (const group of groups) {
    const batch = new PendingBatch();
    for (const { seq, decides } of group) {
      statuses.begin(seq, batch);
      for (const hashes of decides) statuses.decide(new Map(hashes.map((hash) => [hash, REJECTED])), TIME, batch);
    }
    statuses.seal(group.at(-1)?.seq ?? 0, batch);
    for (const { key, record } of writesOf(batch)) {
      if (key[0] !== EXPIRY) continue;
      // No record replaces another one.
      expect(found.has(toHex(key))).toBe(false);
      found.set(toHex(key), toHex(record ?? new Uint8Array()));
    }
  }
  return found;
}

describe('a record of a status', () => {
  it('is that of its own transaction, also where several share a status', () => {
    const CONFIRMED: TxStatus = { status: 'Confirmed', timestamp: 200, additionalInfo: 'In block 2' };
    const decided = new Map([
      ['a', CONFIRMED],
      ['b', CONFIRMED],
      ['c', REJECTED],
      ['d', CONFIRMED],
    ]);
    const batch = new PendingBatch();
    new FinalStatuses(1_000).decide(decided, TIME, batch);
    // What is encoded afterwards changes none of them.
    encodeStatus({ status: 'Pending', timestamp: 9, additionalInfo: 'something else' });
    const written = writesOf(batch).map(({ key, record }) => [
      Buffer.from(key).toString('latin1'),
      decodeStatus(unsealRecord(key, record ?? new Uint8Array())),
    ]);
    expect(written).toEqual([...decided].map(([hash, status]) => [`s${hash}`, status]));
  });
});

describe('what one command decides', () => {
  it('is forgotten together, however many sets that are, and under keys of its own', () => {
    expect(expiries([COMMANDS]).size).toBe(3);
  });

  it('has the same keys in a replay, where other commands share its batch (rule P2)', () => {
    const live = expiries(COMMANDS.map((command) => [command]));
    expect(expiries([COMMANDS])).toEqual(live);
    expect(expiries([COMMANDS.slice(0, 2), COMMANDS.slice(2)])).toEqual(live);
  });

  it('is in several records when it is much', () => {
    const much = { seq: 1_001, decides: [Array.from({ length: 10_000 }, (_, i) => `h${i}`)] };
    expect(expiries([[much, { seq: 1_002, decides: [['x']] }]]).size).toBe(4);
  });
});
