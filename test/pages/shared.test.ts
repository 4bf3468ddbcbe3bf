/** What the pages compute: exact amounts, paths, difficulty. */

import { describe, expect, it } from 'vitest';
import { DISPLAY_UNIT, U64_MAX } from '../../src/chain/constants.js';
import { expandCompact } from '../../src/chain/pow.js';
import { sha3Hex } from '../../src/crypto/sha3.js';
import type { Block, Transaction } from '../../web/explorer/chain/shapes.js';
import { expectedHashes, intervals, nextPart, percentIssued, throughput } from '../../web/explorer/figures.js';
import { findings, type Observed } from '../../web/explorer/findings.js';
import { grouped, readAmount, tokenText, type Unit } from '../../web/shared/amounts.js';
import { matchPath } from '../../web/shared/match-path.js';
import { tilesOf } from '../../web/shared/mosaic.js';
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
      const isPayable = raw > 0n && raw < 2n ** 63n;
      expect(readAmount(`${whole}${decimals}`, 'tokens').value).toBe(isPayable ? raw : undefined);
      expect(readAmount(`${raw}`, 'raw').value).toBe(isPayable ? raw : undefined);
    },
  );

  it.each<[typed: string, unit: Unit, fault: string]>([
    ['0', 'tokens', 'The amount has to be more than 0.'],
    ['0.0', 'tokens', 'The amount has to be more than 0.'],
    ['-1', 'items', 'The amount has to be more than 0.'],
    ['1,5', 'tokens', 'Write it without a comma: 1.5'],
    ['1,000', 'tokens', 'Write it without a comma: 1000 or 1.000'],
    ['1,000,000.5', 'tokens', 'Write it without a comma: 1000000.5'],
    ['1.000,5', 'tokens', 'Write it without a comma: 1000.5'],
    ['1,000', 'raw', 'Write it without a comma: 1000'],
    ['1,5', 'items', 'Write it without a comma.'],
    ['1 000', 'tokens', 'Write it without spaces: 1000'],
    ['1\u00a0000,5', 'tokens', 'Write it without a comma: 1000.5'],
    ['1.5', 'raw', 'Write a whole number: raw units have no decimals.'],
    ['1e3', 'tokens', 'This is not a number. Write an amount such as 12 or 0.5.'],
    ['0x1', 'items', 'This is not a number. Write an amount such as 12.'],
    ['.', 'tokens', 'This is not a number. Write an amount such as 12 or 0.5.'],
    ['１', 'tokens', 'This is not a number. Write an amount such as 12 or 0.5.'],
    ['0.00000001', 'tokens', 'Too many decimals: it lies between 0 and 1 raw units. Three decimals always fit.'],
    ['200000000', 'tokens', 'This is 100,000,013 tokens too much. 99,999,987 tokens can be paid now.'],
    ['99999988', 'tokens', 'This is 1 token too much. 99,999,987 tokens can be paid now.'],
  ])('%s %s: what is wrong is said in words', (typed, unit, fault) => {
    expect(readAmount(typed, unit, 99_999_987n * DISPLAY_UNIT)).toEqual({ fault });
  });

  it('are more than can ever be paid, which no wallet has to tell', () => {
    expect(readAmount(`${2n ** 63n}`, 'raw')).toEqual({ fault: 'This is 1 raw unit too much.' });
    expect(readAmount('127974414985.8', 'tokens').value).toBeUndefined();
  });

  it('are read as people begin and end them, and are nothing before that', () => {
    expect(['', ' '].map((typed) => readAmount(typed, 'tokens'))).toEqual([{}, {}]);
    const half = { value: DISPLAY_UNIT / 2n };
    expect(['.5', ' 0.5 ', '00.50'].map((typed) => readAmount(typed, 'tokens'))).toEqual([half, half, half]);
    expect(readAmount('1.', 'items')).toEqual({ value: 1n });
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

it('mosaics differ where texts do', () => {
  const texts = Array.from({ length: 10_000 }, (_, at) => sha3Hex(String(at)));
  expect(new Set(texts.map((text) => JSON.stringify(tilesOf(text)))).size).toBeGreaterThan(9_900);
});

describe('the findings about a node', () => {
  const well = {
    health: { status: 'ok', reasons: [] },
    clock: -0.4,
    peers: [{ address: '127.0.0.1:12330', node_type: 'Storage', version: '0.1.0' }],
    version: '0.1.0',
    age: 7,
    usual: 5,
    waiting: 3n,
    index: { state: 'ready', block_num: 12n, blocks: 13n, problem: null },
  } as const;
  const notOk = (change: Partial<Observed>) =>
    findings({ ...well, ...change }).flatMap(({ check, verdict, advice }) =>
      verdict === 'ok' ? [] : [[check, verdict, advice !== undefined]],
    );

  it('are ok where all is well, and as many where something is not', () => {
    expect(findings(well)).toHaveLength(5);
    expect(notOk({})).toEqual([]);
  });

  it.each<[check: string, verdict: string, change: Partial<Observed>]>([
    ['node', 'warn', { health: { status: 'degraded', reasons: ['the object store is away'] } }],
    ['node', 'fail', { health: { status: 'unavailable', reasons: ['the node is starting'] } }],
    ['blocks', 'warn', { age: 61 }],
    ['peer 127.0.0.1:12330', 'warn', { version: '0.2.0' }],
    ['clock', 'warn', { clock: 6 }],
    ['clock', 'fail', { clock: -61 }],
    ['index', 'warn', { index: { state: 'building', block_num: null, blocks: 13n, problem: null } }],
    ['index', 'fail', { index: { state: 'waiting', block_num: 3n, blocks: 13n, problem: 'the disk is full' } }],
  ])('say what is wrong with the %s, as %s, and what to do', (check, verdict, change) => {
    expect(notOk(change)).toEqual([[check, verdict, true]]);
  });

  it('do not call a block late that nothing waits for', () => {
    expect(notOk({ age: 86_400, waiting: 0n })).toEqual([]);
  });
});
