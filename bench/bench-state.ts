/** The state of a mempool node with `benchOutputs` to spend, for servers that admit payments. */

import type { KvBatch } from '../src/db/kv.js';
import { compiled } from './contest.js';
import { BENCH_RULES, benchOutputs, GENESIS_HASH } from './payments.js';

const { assemble } = await compiled<typeof import('../src/chain/builders.js')>('chain/builders.js');
const { encodeTransaction } = await compiled<typeof import('../src/chain/codec.js')>('chain/codec.js');
const { createUnicorn, DEFAULT_MODULUS } = await compiled<typeof import('../src/chain/unicorn.js')>('chain/unicorn.js');
const { atOnce } = await compiled<typeof import('../src/lib/pieces.js')>('lib/pieces.js');
const { MempoolState } = await compiled<typeof import('../src/mempool/state/state.js')>('mempool/state/state.js');

export const benchUnicorn = (seed: bigint) => createUnicorn(seed, { modulus: DEFAULT_MODULUS, iterations: 2 });

/** Command that cuts block 0: its outputs can be spent then. */
export const CUT = { kind: 'cut-block', time: 1, miners: ['m'] } as const;

export function benchState(outputs: number) {
  const bytes = encodeTransaction(assemble({ inputs: [], outputs: benchOutputs(outputs) }));
  return new MempoolState({
    genesis: [{ hash: GENESIS_HASH, bytes, amount: 1n }],
    ...BENCH_RULES,
  });
}

/** A batch that keeps nothing. */
export const NOTHING: KvBatch = { size: 0, put: () => NOTHING, del: () => NOTHING, *putInPieces() {} };

/** A state of which no records are made, with what it does for a list that passes every check. */
export function stateWithoutRecords(outputs: number) {
  const state = benchState(outputs);
  let seq = state.seq;
  state.begin(++seq, NOTHING);
  const plan = atOnce(state.planCut());
  if (plan === null) throw new Error('block 0 cannot be cut');
  atOnce(state.cutBlock(CUT, plan, benchUnicorn(plan.seed), NOTHING));
  const take = (list: Parameters<typeof state.accept>[0][number]) => {
    state.begin(++seq, NOTHING);
    const [outcome] = atOnce(state.accept([list], { time: 1, isInChain: () => false }, NOTHING));
    if (outcome !== null) throw new Error('a payment is not taken');
  };
  return { coins: state.coins, take };
}
