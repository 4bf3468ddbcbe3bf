import { describe, expect, it } from 'vitest';
import { blockReward } from '../../src/chain/coinbase.js';
import { DEFAULT_GENESIS_AMOUNT, TOTAL_TOKENS } from '../../src/chain/constants.js';
import { headerHash } from '../../src/chain/hash.js';
import * as pow from '../../src/chain/pow.js';
import { asertTarget, difficultyFor } from '../../src/chain/pow.js';
import type { BlockHeader } from '../../src/chain/types.js';
import * as unicorn from '../../src/chain/unicorn.js';
import { isProbablePrime } from '../../src/chain/unicorn.js';
import { toHex } from '../../src/lib/bytes.js';
import { fc, test } from '../support/property.js';
import { isUnicornWitness, parseSeedValue } from '../vectors/reference-library.js';

const nothing = new Uint8Array(0);
const HEADER: BlockHeader = {
  version: 6,
  bits: 0n,
  nonce: Uint8Array.of(0, 0, 0, 0),
  miningTxHash: 'g',
  bNum: 1n,
  timestamp: 0n,
  difficulty: nothing,
  seedValue: nothing,
  previousHash: null,
  merkleRoot: '',
  txsHash: '',
};

describe('compact targets (docs/chain.md#proof-of-work)', () => {
  it.each([
    [0x01003456, 0n],
    [0x01123456, 0x12n],
    [0x02008000, 0x80n],
    [0x05009234, 0x92340000n],
    [0x04123456, 0x12345600n],
    [0x1d00ffff, 0xffffn << 208n],
    [0x1b0404cb, 0x0404cbn << 192n],
    [0x17073039, 0x073039n << 160n],
    [0x170355f0, 0x0355f0n << 160n],
    [0x1824dbe9, 0x24dbe9n << 168n],
    [0x1b0e7256, 0x0e7256n << 192n],
    [pow.MAX_COMPACT_TARGET, 1n << 248n],
  ])('%s expands', (compact, target) => {
    expect(pow.expandCompact(compact)).toBe(target);
  });

  it('ignores the bit for negative numbers: only 23 bits count', () => {
    expect(pow.expandCompact(0x04923456)).toBe(0x12345600n);
  });

  it.each([0x1d00ffff, 0x1b0404cb, 0x17073039, 0x1824dbe9, 0x01120000, 0x02008000, 0x05009234])(
    '%s comes back',
    (compact) => {
      expect(pow.compressTarget(pow.expandCompact(compact))).toBe(compact);
    },
  );

  test.prop([fc.bigInt({ min: 1n, max: 2n ** 256n - 1n })])(
    'compression rounds down, by less than one part in 2^15',
    (target) => {
      const back = pow.expandCompact(pow.compressTarget(target));
      expect(back <= target && (target - back) << 15n <= target).toBe(true);
    },
  );
});

describe('proof of work (docs/chain.md#proof-of-work)', () => {
  const mine = (difficulty: Uint8Array, target: Uint8Array) => {
    for (let n = 0; ; n++) {
      const header = { ...HEADER, difficulty, nonce: Uint8Array.of(n & 255, n >> 8, 0, 0) };
      if (pow.meetsTarget(headerHash(header), target)) return header;
    }
  };

  it.each([
    ['no difficulty', nothing],
    ['the largest target', pow.compactToBytes(pow.MAX_COMPACT_TARGET)],
  ])('with %s accepts a leading zero byte', (_, difficulty) => {
    const target = pow.targetBytes(difficulty) ?? nothing;
    const header = mine(difficulty, target);
    expect(headerHash(header)[0]).toBe(0);
    expect(pow.proofOfWorkFault(header)).toBeNull();
  });

  it('says what is wrong', () => {
    const fault = (change: Partial<BlockHeader>) => pow.proofOfWorkFault({ ...HEADER, ...change });
    expect(fault({ nonce: nothing })).toBe(pow.INVALID_NONCE);
    expect(fault({ nonce: new Uint8Array(33) })).toBe(pow.INVALID_NONCE);
    expect(fault({ difficulty: Uint8Array.of(1, 2, 3) })).toBe(pow.INVALID_DIFFICULTY);
    expect(fault({ difficulty: pow.compactToBytes(0x03000001) })).toBe(pow.ABOVE_TARGET);
    expect(fault({})).toBe(pow.ABOVE_TARGET);
  });

  it('takes a hash equal to the target, and every hash below a target wider than 256 bits', () => {
    const target = pow.targetBytes(pow.compactToBytes(0x1d00ffff)) ?? nothing;
    expect(pow.meetsTarget(target, target)).toBe(true);
    expect(pow.proofOfWorkFault({ ...HEADER, difficulty: pow.compactToBytes(0xc800ffff) })).toBeNull();
  });

  it('reads the target from bits in the layout of the successor (docs/chain.md#header-layouts)', () => {
    expect(pow.proofOfWorkFault({ ...HEADER, layout: 'prime', bits: 0xc800ffffn })).toBeNull();
    expect(pow.proofOfWorkFault({ ...HEADER, layout: 'prime', bits: 2n ** 40n })).toBe(pow.INVALID_DIFFICULTY);
  });
});

describe('ASERT (docs/chain.md#difficulty)', () => {
  // The Bitcoin Cash reference's own setting: ten minutes, two days, anchor at height 1 with parent time 0.
  const cash = (compact: number) => ({
    target: pow.expandCompact(compact),
    height: 1n,
    parentTime: 0n,
    idealBlockTime: 600n,
    halfLife: 172_800n,
    maxTarget: pow.expandCompact(0x1d00ffff),
  });
  const steady = (height: bigint) => 600n * height;

  it.each([0x1d00ffff, 0x1a2b3c4d, 0x01010000])('steady blocks keep the target %s', (compact) => {
    for (let height = 2n; height < 12n; height++) {
      expect(pow.compressTarget(asertTarget(cash(compact), height, steady(height)))).toBe(compact);
    }
  });

  it('doubles and halves the target by each half-life', () => {
    const anchor = cash(0x1a2b3c4d);
    for (const lives of [-3n, -1n, 1n, 5n]) {
      const shifted = lives < 0n ? anchor.target >> -lives : anchor.target << lives;
      expect(asertTarget(anchor, 1000n, steady(1000n) + lives * anchor.halfLife)).toBe(shifted);
    }
  });

  test.prop([fc.integer({ min: -2_000_000, max: 2_000_000 })])('follows the exponential within 0.02 %', (late) => {
    const anchor = { ...cash(0x1a2b3c4d), maxTarget: 1n << 256n };
    const ratio = Number((asertTarget(anchor, 500n, steady(500n) + BigInt(late)) << 64n) / anchor.target) / 2 ** 64;
    expect(Math.abs(ratio / 2 ** (late / 172_800) - 1)).toBeLessThan(0.0002);
  });

  it('stays between 1 and the maximum', () => {
    const anchor = cash(0x1a2b3c4d);
    expect(asertTarget(anchor, 2n, 10n ** 12n)).toBe(anchor.maxTarget);
    expect(asertTarget(anchor, 10n ** 9n, 0n)).toBe(1n);
  });

  it('sets no difficulty up to the activation height and the maximum above it', () => {
    const at = (bNum: bigint, winningProofs = bNum * 5n) =>
      toHex(difficultyFor({ bNum, activationHeight: 3n, winningProofs }));
    expect([at(0n), at(3n), at(4n), at(4n, 0n), at(4n, 11n), at(4n, 1000n), at(100_000n, 1_100_000n)]).toEqual([
      '',
      '',
      ...new Array(5).fill('22000001'),
    ]);
  });

  it('leaves the maximum on a long chain with many more proofs than expected', () => {
    const compact = pow.compactFromBytes(
      difficultyFor({ bNum: 600_003n, activationHeight: 3n, winningProofs: 12_600_000n }),
    );
    expect(pow.expandCompact(compact ?? 0)).toBeLessThan(pow.MAX_TARGET);
  });
});

describe('ASERT with more than twice the proofs expected (docs/chain.md#difficulty)', () => {
  it('counts the block number as time, however many proofs there are', () => {
    const at = (winningProofs: bigint) => toHex(difficultyFor({ bNum: 430_003n, activationHeight: 3n, winningProofs }));
    // 9,460,000 is twice what is expected; with 430,003 fewer the time is the block number by itself.
    expect(at(14_000_000n)).toBe(at(9_460_000n - 430_003n));
    expect(at(14_000_000n)).not.toBe(at(9_000_000n));
  });
});

describe('rewards (docs/chain.md#reward)', () => {
  it.each([
    [0n, 3_261_467_223n],
    [3_261_467_223n, 3_261_467_199n],
    [DEFAULT_GENESIS_AMOUNT, 2_590_244_417n],
    [TOTAL_TOKENS, 576_576_000n],
    [TOTAL_TOKENS + 1n, 576_576_000n],
  ])('after %s issued', (issued, reward) => {
    expect(blockReward(issued)).toBe(reward);
  });
});

describe('the unicorn (docs/chain.md#unicorn)', () => {
  const parameters = { modulus: unicorn.DEFAULT_MODULUS, iterations: 5 };
  const seeds = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
  const witnessText =
    '3519722601447054908751517254890810869415446534615259770378249754169022895693105944708707316137352415946228979178396400856098248558222287197711860247275230167';

  it('gives the reference’s witness after 1000 iterations', () => {
    const seed = BigInt('0x1eeb30c7163271850b6d018e8282093ac6755a771da6267edf6c9b4fce9242ba');
    const created = unicorn.createUnicorn(seed, { ...parameters, iterations: 1000 });
    expect(created.witness).toBe(BigInt(witnessText));
    expect(created.g).toBe(
      '0106834db40e90d1cafaa9e4c1981873186ebf019629852059aaf8e4ca35da01ca37041a4b475387dde0667c192ec18d1733d147ea9bfafa35ee4b05f74943e3d3d7',
    );
    expect(isUnicornWitness(seed, created.witness, { ...parameters, iterations: 1000 })).toBe(true);
  });

  test.prop([seeds])('accepts every honest witness, and no other near it', (seed) => {
    const { witness } = unicorn.createUnicorn(seed, parameters);
    expect(isUnicornWitness(seed, witness, parameters)).toBe(true);
    for (const other of [
      witness + 1n,
      witness ^ 2n,
      parameters.modulus - witness,
      witness + parameters.modulus,
      -witness,
    ]) {
      expect(isUnicornWitness(seed, other, parameters)).toBe(false);
    }
    expect(isUnicornWitness(seed ^ 4n, witness, parameters)).toBe(false);
  });

  it.each([
    [7n, true],
    [11n, true],
    [19n, true],
    [13n, false],
    [2n, false],
    [15n, false],
  ])('works with the modulus %s: %s', (modulus, valid) => {
    expect(unicorn.modulusFault(modulus, 1) === null).toBe(valid);
    if (!valid) return;
    for (let seed = 0n; seed < modulus; seed++) {
      const { witness } = unicorn.createUnicorn(seed, { modulus, iterations: 3 });
      expect(isUnicornWitness(seed, witness, { modulus, iterations: 3 })).toBe(true);
    }
  });

  it('takes the network’s modulus, and none below the security asked for', () => {
    expect(isProbablePrime(unicorn.DEFAULT_MODULUS)).toBe(true);
    expect(unicorn.modulusFault(unicorn.DEFAULT_MODULUS, 1)).toBeNull();
    expect(unicorn.modulusFault(unicorn.DEFAULT_MODULUS, 261)).toMatchObject({ code: 'invalid_config' });
  });

  test.prop([seeds])('seed_value is read back', (seed) => {
    const created = unicorn.createUnicorn(seed, parameters);
    expect(parseSeedValue(unicorn.seedValueOf(created))).toEqual({ seed, witness: created.witness });
    expect(parseSeedValue(Buffer.from('12-x'))).toBeUndefined();
  });

  it('draws by the unicorn and the usage', () => {
    const g = unicorn.createUnicorn(7n, parameters).g;
    const numbers = [2, 3].map((usage) => unicorn.drawNumber(g, usage));
    expect(numbers[0]).not.toBe(numbers[1]);
    const other = unicorn.createUnicorn(8n, parameters).g;
    expect(unicorn.drawNumber(other, 2)).not.toBe(numbers[0]);
    expect(() => unicorn.drawOne([], g, 3)).toThrow('nothing to draw from');
  });

  test.prop([
    fc.uniqueArray(fc.integer(), { maxLength: 20 }),
    fc.nat(25),
    fc.string({ unit: fc.constantFrom('0', 'a', '7') }),
  ])('selects so many different ones', (items, count, g) => {
    const drawn = unicorn.drawSelection(items, count, g, 2);
    expect(drawn).toHaveLength(Math.min(count, items.length));
    expect(new Set(drawn).size).toBe(drawn.length);
    for (const item of drawn) expect(items).toContain(item);
  });

  it('depends on transactions, participants and winners, the last as a set', () => {
    const inputs = { transactions: ['g1'], participants: ['a', 'b'], winners: ['w1', 'w2'] };
    const seed = unicorn.unicornSeed(inputs);
    expect(unicorn.unicornSeed({ ...inputs, winners: ['w2', 'w1', 'w2'] })).toBe(seed);
    expect(unicorn.unicornSeed({ ...inputs, participants: ['b', 'a'] })).not.toBe(seed);
    expect(unicorn.unicornSeed({ ...inputs, transactions: [] })).not.toBe(seed);
  });
});

describe('Fortuna, the generator of original nodes (decision B11)', () => {
  // Made with the crate keccak_prime 0.1.0: key, usage, the first 8 bytes.
  it.each([
    ['0106834db40e90d1cafaa9e4c1981873', 2, 0xa87cfe6b9bac5562n],
    ['0106834db40e90d1cafaa9e4c1981873', 3, 0xd6677bb8c53a4d1bn],
    ['ffffffffffffffffffffffffffffffff', 2, 0xf8069ad8253034d0n],
    ['00000000000000000000000000000000', 3, 0x08155451352e72e3n],
  ])('draws from %s for usage %i', (key, usage, number) => {
    const basis = unicorn.drawBasis({ seed: 0n, witness: 0n, g: `${key}db6f` }, 'fortuna');
    expect(unicorn.drawNumber(basis, usage)).toBe(number);
    expect(unicorn.drawOne([...Array(7).keys()], basis, usage)).toBe(Number(number % 7n));
  });
});
