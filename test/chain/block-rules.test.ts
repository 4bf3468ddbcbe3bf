/** The rules of blocks that a genesis file may hold (docs/chain.md#genesis). */

import { describe, expect, it } from 'vitest';
import { DEFAULT_BLOCK_RULES } from '../../src/chain/block-rules.js';
import { parseGenesis } from '../../src/chain/genesis.js';

const SEEDS = { '000000': [{ address: 'a'.repeat(64), amount: 1_000 }] };
const rulesOf = (blockRules?: unknown) =>
  parseGenesis({ mempool_seed_utxo: SEEDS, block_rules: blockRules }, 'genesis').blockRules;

describe('the block_rules of a genesis file', () => {
  it('are those of the existing networks where the file has none', () => {
    expect(rulesOf()).toEqual({
      transactions: 2_000,
      bytes: 33_554_432,
      signatureOperations: 20_000,
      intervalMs: null,
      start: 'full_or_interval',
    });
    expect(rulesOf({})).toEqual(DEFAULT_BLOCK_RULES);
  });

  it('say what a block may hold, with room for the signatures of two inputs each', () => {
    const rules = { max_transactions: 20_000, max_bytes: 40_000_000, interval_ms: 5_000, start: 'interval' };
    expect(rulesOf(rules)).toEqual({
      transactions: 20_000,
      bytes: 40_000_000,
      signatureOperations: 40_000,
      intervalMs: 5_000,
      start: 'interval',
    });
    expect(rulesOf({ ...rules, max_signature_operations: 20_000 }).signatureOperations).toBe(20_000);
  });

  it.each([
    [{ max_transactions: 0 }, 'genesis.block_rules.max_transactions: must be an integer from 1 to 100000, not 0'],
    // The largest DRUID set has to fit, and the block has to fit into a message.
    [{ max_bytes: 33_554_431 }, 'genesis.block_rules.max_bytes: must be an integer from 33554432 to 50331648'],
    [{ max_bytes: 50_331_649 }, 'genesis.block_rules.max_bytes: must be an integer from 33554432 to 50331648'],
    [{ max_signature_operations: 19_999 }, 'must be an integer from 20000 to 1000000, not 19999'],
    [{ interval_ms: -1 }, 'genesis.block_rules.interval_ms: must be an integer from 0 to'],
    [{ start: 'full' }, 'genesis.block_rules.start: must be one of "full_or_interval", "interval"'],
    // A rule that is misspelt would be one that the other nodes follow and this one does not.
    [{ max_transaction: 9 }, 'genesis.block_rules.max_transaction: is no rule of blocks'],
    [[], 'genesis.block_rules: must be an object, not an array'],
    [null, 'genesis.block_rules: must be an object, not null'],
  ])('are refused with the place of the fault: %j', (rules, message) => {
    expect(() => rulesOf(rules)).toThrow(message);
  });
});
