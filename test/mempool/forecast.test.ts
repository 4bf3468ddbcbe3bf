/** The blocks to come, as far as the mempool can tell. */

import { expect, it, vi } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { DEFAULT_BLOCK_RULES } from '../../src/chain/block-rules.js';
import { txOut } from '../../src/chain/builders.js';
import { transactionHash } from '../../src/chain/hash.js';
import { atOnce } from '../../src/lib/pieces.js';
import { MAX_BLOCKS_AHEAD, MAX_LISTED_AHEAD } from '../../src/mempool/service.js';
import { blocksAhead, MAX_LOOKED_AT, placeAhead } from '../../src/mempool/state/forecast.js';
import { MempoolState } from '../../src/mempool/state/state.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, candidate, genesisOut, payment, rulesFor, unicornOf } from '../support/mempool.js';

const alice = account('alice');
const CHAIN = 7;

/** A state in which payments wait, each of which spends the one before it. */
function stateWith(perBlock: number, count = CHAIN) {
  const state = new MempoolState(rulesFor([alice], { block: { ...DEFAULT_BLOCK_RULES, transactions: perBlock } }));
  const batch = new MemoryKv().batch();
  const cut = () => {
    const plan = atOnce(state.planCut());
    if (plan === null) throw new Error('a round is under way');
    return atOnce(state.cutBlock({ kind: 'cut-block', time: 1, miners: ['m1'] }, plan, unicornOf(plan.seed), batch));
  };
  cut();
  const hashes: string[] = [];
  let spent = genesisOut(0);
  for (let at = 0; at < count; at++) {
    const tx = payment({ from: alice, inputs: [spent], outputs: [txOut(tokenAsset(1_000_000n), alice.address)] });
    atOnce(state.accept([[candidate(tx)]], { time: 1, isInChain: () => false }, batch));
    spent = { tHash: transactionHash(tx), n: 0 };
    hashes.push(spent.tHash);
  }
  return { state, hashes };
}

it('what waits is in blocks as the rules allow, behind the one that is being made', () => {
  const { state, hashes } = stateWith(3);
  const blocks = blocksAhead(state);
  expect(blocks.map(({ height, isBeingMade, count }) => [height, isBeingMade, count])).toEqual([
    [0, true, 1],
    [1, false, 3],
    [2, false, 3],
    [3, false, 1],
  ]);
  expect(blocks.flatMap(({ isBeingMade, first }) => (isBeingMade ? [] : first.map(({ hash }) => hash)))).toEqual(
    hashes,
  );
  const [, parent = '', child = ''] = hashes;
  expect(placeAhead(state, child)).toMatchObject({
    place: { height: 1, isBeingMade: false, ahead: 3 },
    behind: [parent],
    info: 'Waits for a block',
  });
  expect(placeAhead(state, '000000')).toMatchObject({ place: { height: 0, isBeingMade: true, ahead: 0 }, behind: [] });
  expect(placeAhead(state, 'nothing')).toBeUndefined();
});

it('no more than so many blocks and transactions are named', () => {
  const { state, hashes } = stateWith(1, MAX_BLOCKS_AHEAD + 2);
  expect(blocksAhead(state)).toHaveLength(MAX_BLOCKS_AHEAD + 1);
  expect(placeAhead(state, hashes.at(-1) ?? '')?.place).toBeNull();
  const [, block] = blocksAhead(stateWith(200, MAX_LISTED_AHEAD + 1).state);
  expect([block?.count, block?.first.length]).toEqual([MAX_LISTED_AHEAD + 1, MAX_LISTED_AHEAD]);
});

it('no more than so much of what waits is looked at, however much a block may hold', () => {
  const perBlock = MAX_LOOKED_AT / 2 + 1;
  const { state } = stateWith(perBlock, 1);
  const [waiting] = [...state.readyUnits()].flat();
  if (waiting === undefined) throw new Error('nothing waits');
  let looks = 0;
  vi.spyOn(state, 'readyUnits').mockImplementation(function* () {
    for (; looks < 10 * perBlock; looks++) yield [{ ...waiting, bytes: waiting.bytes.subarray(0, 1) }];
  });
  expect(blocksAhead(state).map(({ height, count }) => [height, count])).toEqual([
    [0, 1],
    [1, perBlock],
    [2, perBlock],
  ]);
  expect(looks).toBe(2 * perBlock);
});
