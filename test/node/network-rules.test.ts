/** The rules that nodes compare in their handshake, out of configuration and genesis file. */

import { Value } from '@sinclair/typebox/value';
import { expect, it } from 'vitest';
import { type BlockRules, DEFAULT_BLOCK_RULES } from '../../src/chain/block-rules.js';
import type { Transaction } from '../../src/chain/types.js';
import { createConfig } from '../../src/config/load.js';
import { joinRules } from '../../src/journal/etcd/marks.js';
import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';
import { readGenesis } from '../../src/node/genesis-file.js';
import { genesisFingerprint, journalRules, networkRules } from '../../src/node/network-rules.js';
import { NetworkRules, rulesFault } from '../../src/peers/link/frames.js';

const DEV = 'config/genesis-dev.json';

const rulesOf = async (role: NodeRole, values = {}, genesis = DEV) =>
  networkRules(
    createConfig(role, { 'network.secret': 'a secret of this test', ...values }),
    await readGenesis(genesis),
  );

it('are the same on all roles of one network, as far as a role goes by them', async () => {
  const all = await Promise.all(NODE_ROLES.map((role) => rulesOf(role)));
  for (const a of all) for (const b of all) expect(rulesFault(a, b)).toBeNull();
});

it.each([
  ['mempool', 'mempool', 'mining.block_interval_ms', 5_000],
  ['mempool', 'mempool', 'mempool.druid_lifetime_blocks', 7],
  ['mempool', 'mempool', 'mining.unicorn.iterations', 2],
  ['mempool', 'user', 'network.min_output_amount', 9],
  ['mempool', 'storage', 'mining.asert_activation_height', 9],
] as const)('differ between a %s and a %s node in %s', async (one, other, name, value) => {
  const found = rulesFault(await rulesOf(one, { [name]: value }), await rulesOf(other));
  expect(found?.message).toContain(`${name} is "${value}"`);
});

it('let no node write to a journal that has another secret, which they do not show', async () => {
  const genesis = await readGenesis(DEV);
  const withSecret = (secret: string, name = 'dev') =>
    journalRules(createConfig('mempool', { 'network.secret': secret, 'network.name': name }), genesis);
  const kept = joinRules(undefined, withSecret('a secret of this test'));
  expect(kept).not.toContain('a secret of this test');
  expect(joinRules(kept, withSecret('a secret of this test'))).toBeUndefined();
  expect(() => joinRules(kept, withSecret('another secret of this'))).toThrow(/other rules: network\.secret is "/);
  // One that an earlier version has written says nothing of it.
  const { 'network.secret': hash, ...before } = withSecret('a secret of this test');
  expect(joinRules(joinRules(undefined, before), withSecret('another secret of this'))).toContain('network.secret ');
  // The same in two networks shows nothing of either.
  expect(withSecret('a secret of this test', 'other')['network.secret']).not.toBe(hash);
});

it('read a genesis file once, however often its fingerprint is asked for', async () => {
  const genesis = await readGenesis(DEV);
  let readings = 0;
  class Counted extends Map<string, Transaction> {
    override [Symbol.iterator]() {
      readings++;
      return super[Symbol.iterator]();
    }
  }
  const counted = { ...genesis, transactions: new Counted(genesis.transactions) };
  const own = genesisFingerprint(counted);
  expect([own, readings]).toEqual([genesisFingerprint(genesis), 1]);
  networkRules(createConfig('user', { 'network.secret': 'a secret of this test' }), counted);
  expect([genesisFingerprint(counted), readings]).toEqual([own, 1]);
});

it('differ for a user with another genesis file', async () => {
  const found = rulesFault(await rulesOf('user', {}, 'config/genesis.json'), await rulesOf('mempool'));
  expect(found?.message).toContain('network.genesis_file');
});

it('name the genesis file where two files differ in a rule of blocks, and not where one says what holds anyway', async () => {
  const genesis = await readGenesis(DEV);
  const config = createConfig('user', { 'network.secret': 'a secret of this test' });
  const withRules = (rules: Partial<BlockRules>) =>
    networkRules(config, { ...genesis, blockRules: { ...DEFAULT_BLOCK_RULES, ...rules } });
  expect(rulesFault(withRules({}), networkRules(config, genesis))).toBeNull();
  for (const rules of [{ transactions: 20_000 }, { intervalMs: 5_000 }, { start: 'interval' }] as const) {
    expect(rulesFault(withRules(rules), withRules({}))?.message).toContain('network.genesis_file');
  }
});

it('have the interval of the genesis file, which the configuration may repeat and not change', async () => {
  const genesis = await readGenesis(DEV);
  const rulesWith = (intervalMs: number | null, values = {}) =>
    networkRules(createConfig('mempool', { 'network.secret': 'a secret of this test', ...values }), {
      ...genesis,
      blockRules: { ...DEFAULT_BLOCK_RULES, intervalMs },
    })['mining.block_interval_ms'];
  expect(rulesWith(null)).toBe('30000');
  expect(rulesWith(null, { 'mining.block_interval_ms': 0 })).toBe('0');
  expect(rulesWith(5_000)).toBe('5000');
  expect(rulesWith(5_000, { 'mining.block_interval_ms': 5_000 })).toBe('5000');
  expect(() => rulesWith(5_000, { 'mining.block_interval_ms': 0 })).toThrow(
    'mining.block_interval_ms is 0, but the genesis file says 5000 (block_rules.interval_ms): leave the option out',
  );
});

it('are refused where a mempool node would begin blocks at once, and the genesis file says when they begin', async () => {
  const genesis = await readGenesis(DEV);
  const instant = { 'network.secret': 'a secret of this test', 'mining.instant': true };
  const rulesWith = (role: NodeRole, rules: Partial<BlockRules>) =>
    networkRules(createConfig(role, instant), { ...genesis, blockRules: { ...DEFAULT_BLOCK_RULES, ...rules } });
  for (const rules of [{ intervalMs: 5_000 }, { start: 'interval' }] as const) {
    expect(() => rulesWith('mempool', rules)).toThrow(/mining.instant is true, but the genesis file/);
    expect(() => rulesWith('user', rules)).not.toThrow();
  }
  expect(() => rulesWith('mempool', { transactions: 20_000 })).not.toThrow();
});

it('have a producer key in common while a network changes its key, and differ where there is none', async () => {
  const keys = ['a', 'b', 'c'].map((digit) => digit.repeat(64));
  const withKeys = (...producers: string[]) => rulesOf('user', { 'network.producer_keys': producers });
  const [a = '', b = '', c = ''] = keys;
  expect(rulesFault(await withKeys(a), await withKeys(a, b))).toBeNull();
  expect(rulesFault(await withKeys(a, b), await withKeys(b))).toBeNull();
  expect(rulesFault(await withKeys(a), await rulesOf('mempool'))).toBeNull();
  expect(rulesFault(await withKeys(a, b), await withKeys(c))?.message).toContain('network.producer_keys');
});

it('fit into the first record of the handshake', async () => {
  const producers = Array.from({ length: 8 }, (_, i) => String(i).repeat(64));
  const rules = await rulesOf('mempool', { 'network.producer_keys': producers });
  expect(JSON.stringify(rules).length).toBeLessThan(4_000);
  expect(Value.Check(NetworkRules, rules)).toBe(true);
});
