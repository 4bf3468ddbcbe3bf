/** The judges of the campaign find what is wrong: histories that lost, doubled, changed or skipped something. */

import { describe, expect, it } from 'vitest';
import { ChainRecord, type RecordedBlock } from './chain-record.js';
import { Effects, type Holdings } from './effects.js';

const block = (
  height: number,
  transactions: readonly string[] = [],
  more: Partial<RecordedBlock> = {},
): RecordedBlock => ({
  height,
  hash: `b${height}`,
  previousHash: height === 0 ? null : `b${height - 1}`,
  transactions,
  digest: `digest ${height} ${transactions.join()}`,
  ...more,
});

/** The faults of a chain that is told block by block. */
const faultsOf = (...blocks: readonly RecordedBlock[]): string[] => {
  const record = new ChainRecord();
  return blocks.flatMap((one) => record.note(one));
};

describe('the record of the chain', () => {
  it('finds nothing wrong with a chain that is told twice', () => {
    expect(faultsOf(block(0, ['a']), block(1, ['b', 'c']), block(0, ['a']), block(1, ['b', 'c']))).toEqual([]);
  });

  it('finds a block that has changed', () => {
    expect(faultsOf(block(0, ['a']), block(0, ['other']))).toEqual(['block 0 has changed']);
  });

  it('finds a gap, and a block that follows another one', () => {
    expect(faultsOf(block(0), block(2))).toEqual(['block 2 came where block 1 must be']);
    expect(faultsOf(block(0), block(1, [], { previousHash: 'rival' }))).toHaveLength(1);
    expect(faultsOf(block(0, [], { previousHash: 'rival' }))).toHaveLength(1);
  });

  it('finds a transaction that is in two blocks, or twice in one', () => {
    expect(faultsOf(block(0, ['a']), block(1, ['a']))).toEqual(['a is in block 0 and in block 1']);
    expect(faultsOf(block(0, ['a', 'a']))).toEqual(['a is in block 0 and in block 0']);
  });

  it('finds an acknowledged transaction that is in no block', () => {
    const record = new ChainRecord();
    record.note(block(0, ['a']));
    expect(record.missing(['a'])).toEqual([]);
    expect(record.missing(['a', 'lost'])).toEqual(['lost']);
  });
});

describe('the ledger of effects', () => {
  const holdings: Holdings = {
    addresses: new Map([['user', new Set(['one', 'two'])]]),
    held: 100n,
    issued: 100n,
    items: new Map([['item', 7n]]),
  };
  const effects = new Effects();
  effects.addressMade('user', 'one');
  effects.addressMade('user', 'two');
  effects.itemsMade('item', 7n);

  it('finds nothing wrong where everything is', () => {
    expect(effects.broken(holdings)).toEqual([]);
  });

  it('finds a lost address, also when the whole wallet is away', () => {
    expect(effects.broken({ ...holdings, addresses: new Map([['user', new Set(['one'])]]) })).toHaveLength(1);
    expect(effects.broken({ ...holdings, addresses: new Map() })).toHaveLength(1);
  });

  it('finds coins that are lost or made of nothing', () => {
    expect(effects.broken({ ...holdings, held: 99n })).toHaveLength(1);
    expect(effects.broken({ ...holdings, held: 101n })).toHaveLength(1);
  });

  it('finds items that are lost or doubled', () => {
    expect(effects.broken({ ...holdings, items: new Map() })).toHaveLength(1);
    expect(effects.broken({ ...holdings, items: new Map([['item', 14n]]) })).toHaveLength(1);
  });
});
