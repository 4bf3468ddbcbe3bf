/** What the pages compute: exact amounts, paths, difficulty. */

import { describe, expect, it } from 'vitest';
import { DISPLAY_UNIT, U64_MAX } from '../../src/chain/constants.js';
import { expandCompact } from '../../src/chain/pow.js';
import type { Block, Transaction } from '../../web/explorer/chain/shapes.js';
import { expectedHashes, intervals, nextPart, percentIssued, throughput } from '../../web/explorer/figures.js';
import { grouped, parseTokens, tokenText } from '../../web/shared/amounts.js';
import { matchPath } from '../../web/shared/match-path.js';
import { fc, test } from '../support/property.js';

const u64 = fc.bigInt({ min: 0n, max: U64_MAX });

describe('amounts', () => {
  it('are in tokens, rounded down, and say when decimals are left out', () => {
    expect(tokenText(0)).toEqual({ text: '0', isExact: true });
    expect(tokenText(72_072_000)).toEqual({ text: '1', isExact: true });
    expect(tokenText(36_036_000)).toEqual({ text: '0.5', isExact: true });
    expect(tokenText(1)).toEqual({ text: '0.00000001', isExact: false });
    expect(tokenText(72_071_999)).toEqual({ text: '0.99999998', isExact: false });
    expect(tokenText(360_360_000_000_000_000n)).toEqual({ text: '5,000,000,000', isExact: true });
    expect(tokenText(U64_MAX)).toEqual({ text: '255,948,829,971.5500002', isExact: false });
    expect(tokenText(99_999_999, 2)).toEqual({ text: '1.38', isExact: false });
  });

  it('are grouped by thousands, beyond 2^53 too', () => {
    expect(grouped(999)).toBe('999');
    expect(grouped(U64_MAX)).toBe('18,446,744,073,709,551,615');
  });

  test.prop([u64])('never show more than there is, and less by a hundred millionth of a token at most', (raw) => {
    const { text, isExact } = tokenText(raw);
    const [whole = '', decimals = ''] = text.replaceAll(',', '').split('.');
    const shown = BigInt(`${whole}${decimals.padEnd(8, '0')}`) * DISPLAY_UNIT;
    const exact = raw * 100_000_000n;
    expect(shown <= exact && exact - shown < DISPLAY_UNIT).toBe(true);
    expect(isExact).toBe(shown === exact);
  });

  test.prop([fc.bigInt({ min: 0n, max: U64_MAX / DISPLAY_UNIT }), fc.constantFrom('', '.0', '.5', '.125')])(
    'are read as they were written',
    (whole, decimals) => {
      const raw = whole * DISPLAY_UNIT + BigInt(Number(`0${decimals}`) * 72_072_000);
      expect(parseTokens(`${whole}${decimals}`)).toBe(raw <= U64_MAX ? raw : undefined);
    },
  );

  it('that are none, or have no exact number of raw units, are refused', () => {
    for (const text of ['', '.', '1.', '.5', '-1', '1e3', '1,5', '0x1', '1.00000001', `${U64_MAX}`, 'NaN', '１']) {
      expect(parseTokens(text), text).toBeUndefined();
    }
  });
});

describe('paths', () => {
  it('fit patterns whole, with their parameters decoded', () => {
    expect(matchPath('/', '/')).toEqual({});
    expect(matchPath('/blocks/:block', '/blocks/7')).toEqual({ block: '7' });
    expect(matchPath('/items/:genesis', '/items/a%2Fb%20%3Cb%3E')).toEqual({ genesis: 'a/b <b>' });
    expect(matchPath('/items/:genesis', '/items/%E0%A4%A')).toEqual({ genesis: '%E0%A4%A' });
    expect(matchPath('/wallet/*', '/wallet/items/1')).toEqual({ rest: 'items/1' });
    for (const [pattern, path] of [
      ['/', '/blocks'],
      ['/blocks', '/'],
      ['/blocks/:block', '/blocks/1/2'],
      ['/wallet/*', '/wallet'],
    ] as const) {
      expect(matchPath(pattern, path)).toBeUndefined();
    }
  });
});

const block = (block_num: number, time: number, transactions: number): Block => ({
  block_num: BigInt(block_num),
  hash: `b${block_num}`,
  previous_hash: null,
  time: BigInt(time),
  transactions: BigInt(transactions),
  difficulty: '',
  coinbase: '',
});

describe('figures', () => {
  it('of difficulty are those of the chain (docs/chain.md#proof-of-work)', () => {
    expect(expectedHashes('')).toBe(256);
    expect(expectedHashes('22000001')).toBe(256);
    for (const compact of ['1d00ffff', '20010000', '1b0404cb']) {
      const target = expandCompact(Number.parseInt(compact, 16));
      expect(expectedHashes(compact) / (2 ** 256 / Number(target + 1n))).toBeCloseTo(1, 6);
    }
  });

  it('of time leave out block 0, which has none', () => {
    const blocks = [block(3, 1_020, 5), block(2, 1_010, 3), block(1, 1_000, 9), block(0, 0, 2)];
    expect(intervals(blocks)).toEqual([
      { x: 2, y: 10 },
      { x: 3, y: 10 },
    ]);
    expect(throughput(blocks)).toBe((4 + 2) / 20);
    expect(throughput([block(1, 1_000, 9), block(0, 0, 2)])).toBeUndefined();
    expect(percentIssued(90_090_000_000_000_000n)).toBe('25.000 %');
  });
});

describe('the parts of a transaction', () => {
  const shown = (first: number, inputs: number, outputs: number, counts: readonly [number, number]) =>
    nextPart({
      first_input: first,
      inputs: Array.from({ length: inputs }),
      input_count: counts[0],
      first_output: first,
      outputs: Array.from({ length: outputs }),
      output_count: counts[1],
    } as unknown as Transaction);

  it('go on behind the list that ends first, also where the node lists fewer inputs than it could', () => {
    expect(shown(0, 2, 3, [2, 3])).toBeUndefined();
    expect(shown(0, 500, 1, [600, 1])).toBe(500);
    expect(shown(500, 100, 0, [600, 1])).toBeUndefined();
    expect(shown(0, 9, 500, [40, 501])).toBe(9);
    expect(shown(36, 4, 465, [40, 501])).toBeUndefined();
  });
});
