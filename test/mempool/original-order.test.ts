/** `block_rules.original_order`: blocks of ours as a network takes them that still has original nodes in it. */

import { expect, it, onTestFinished } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { assemble, signInputs, txOut, unsignedInput } from '../../src/chain/builders.js';
import { parseGenesis } from '../../src/chain/genesis.js';
import { transactionHash } from '../../src/chain/hash.js';
import { outPointKey } from '../../src/chain/transaction.js';
import type { OutPoint, Transaction } from '../../src/chain/types.js';
import { genesisFingerprint } from '../../src/node/network-rules.js';
import { account } from '../support/mempool.js';
import { createPair } from '../support/mempool-and-archive.js';

const alice = account('alice');
const seed = {
  mempool_seed_utxo: { '000000': Array.from({ length: 40 }, () => ({ address: alice.address, amount: 1_000 })) },
};
const genesisWith = (rules: object) => parseGenesis({ ...seed, block_rules: { start: 'interval', ...rules } });
const ORDERED = genesisWith({ original_order: true, max_transactions: 12 });

function payment(outPoint: OutPoint, druidInfo: Transaction['druidInfo'] = null): Transaction {
  const outputs = [txOut(tokenAsset(1_000n), alice.address)];
  const keys = new Map([[outPointKey(outPoint), alice.key]]);
  return { ...assemble({ inputs: signInputs([unsignedInput(outPoint)], outputs, keys), outputs }), druidInfo };
}

const fund = (n: number): OutPoint => ({ tHash: '000000', n });
const after = (tx: Transaction): OutPoint => ({ tHash: transactionHash(tx), n: 0 });
const trade = (druid: string, participants: bigint) => ({ druid, participants, expectations: [], genesisHash: null });
const byHash = (transactions: readonly Transaction[]) => transactions.map((tx) => transactionHash(tx)).sort();

async function pairOf(genesis = ORDERED) {
  const pair = await createPair({ genesis, miner: alice, onDemand: true });
  onTestFinished(() => pair.close());
  await pair.cut();
  return pair;
}

it('a block has sets, then single transactions by hash, and nothing that spends of the same block', async () => {
  const pair = await pairOf();
  const singles = Array.from({ length: 9 }, (_, n) => payment(fund(n)));
  const children = singles.slice(0, 4).map((tx) => payment(after(tx)));
  const grandchild = payment(after(children[0] ?? payment(fund(0))));
  const set = [20, 21, 22].map((n) => payment(fund(n), trade('three', 3n)));
  const alone = payment(fund(23), trade('alone', 1n));
  for (const tx of [...singles, ...children, grandchild, ...set, alone]) await pair.mempool.submit([tx]);
  const cuts = [await pair.cut(), await pair.cut(), await pair.cut()].map(({ transactions }) => transactions);
  expect(pair.refusals).toEqual([]);
  expect(cuts[0]).toEqual([...byHash(set), ...byHash([alone]), ...byHash(singles)]);
  expect(cuts[1]).toEqual(byHash(children));
  expect(cuts[2]).toEqual(byHash([grandchild]));
});

it('a block holds no more than it may, and the rest comes after', async () => {
  const pair = await pairOf();
  await pair.mempool.submit(Array.from({ length: 15 }, (_, n) => payment(fund(n))));
  expect((await pair.cut()).transactions).toHaveLength(12);
  expect((await pair.cut()).transactions).toHaveLength(3);
  expect(pair.refusals).toEqual([]);
});

it('storage refuses another order, and what spends of the same block; without the rule it takes both', async () => {
  const [one, other] = [0, 1]
    .map((n) => payment(fund(n)))
    .sort((a, b) => (transactionHash(a) < transactionHash(b) ? -1 : 1));
  if (one === undefined || other === undefined) throw new Error('two');
  const child =
    [one, other].map((tx) => payment(after(tx))).find((tx) => transactionHash(tx) > transactionHash(one)) ?? one;
  const parent = child.inputs[0]?.previousOut?.tHash === transactionHash(one) ? one : other;
  const inner = transactionHash(parent) < transactionHash(child) ? [parent, child] : [parent];
  const set = payment(fund(2), trade('alone', 1n));
  const [ordered, ours] = [await pairOf(), await pairOf(genesisWith({}))];
  for (const [transactions, rule] of [
    [[one, other], null],
    [[other, one], 'list'],
    [[one, set], 'list'],
    [[set, one], null],
    [inner, inner.length === 2 ? 'inputs' : null],
  ] as const) {
    expect(await ordered.storageVerdict(ordered.blockOf(transactions))).toBe(rule);
    expect(await ours.storageVerdict(ours.blockOf(transactions))).toBeNull();
  }
});

it('is a rule of the network: it is part of the fingerprint, and false is as if it were left out', () => {
  const [plain, no, yes] = [{}, { original_order: false }, { original_order: true }].map((rules) =>
    parseGenesis({ ...seed, block_rules: rules }),
  );
  expect(no).toEqual(plain);
  expect(yes?.blockRules.originalOrder).toBe(true);
  expect(yes && genesisFingerprint(yes)).not.toBe(plain && genesisFingerprint(plain));
  expect(() => parseGenesis({ ...seed, block_rules: { original_order: 1 } })).toThrow('must be true or false');
});
