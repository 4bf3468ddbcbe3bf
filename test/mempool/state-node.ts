/** A state of the mempool over a database in memory, whose commands are batches of their own. */

import { encodeTransaction } from '../../src/chain/codec.js';
import type { Transaction } from '../../src/chain/types.js';
import { writesOf } from '../../src/db/record.js';
import { atOnce } from '../../src/lib/pieces.js';
import { readAdoptedBlock } from '../../src/mempool/state/adoption.js';
import { keys } from '../../src/mempool/state/layout.js';
import { loadMempoolState } from '../../src/mempool/state/load.js';
import { decodeKept, decodeStatus, type KeptRecord } from '../../src/mempool/state/records.js';
import { closedBlockBytes, closedHash, type Round } from '../../src/mempool/state/round.js';
import { MempoolState, type StateRules } from '../../src/mempool/state/state.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, candidate, mine, unicornOf } from '../support/mempool.js';

const TIME = 1_700_000_000;

export function createNode(rules: StateRules) {
  const kv = new MemoryKv();
  let state = new MempoolState(rules);
  let seq = 0;
  let written = 0;
  const step = async <T>(run: (batch: ReturnType<typeof kv.batch>) => T): Promise<T> => {
    const batch = kv.batch();
    const result = run(batch);
    state.seal(++seq, batch);
    written += writesOf(batch).reduce((sum, { record }) => sum + (record?.length ?? 0), 0);
    await kv.write(batch, { sync: false });
    return result;
  };
  const node = {
    kv,
    get state() {
      return state;
    },
    accept: (...txs: Transaction[]) => node.acceptAll(txs),
    /** All in one group. */
    acceptAll: (txs: readonly Transaction[]) =>
      step((batch) => {
        const context = { time: TIME, isInChain: () => false };
        return atOnce(state.accept([txs.map(candidate)], context, batch))[0] ?? null;
      }),
    cut: (time = TIME) =>
      step((batch) => {
        const plan = atOnce(state.planCut());
        if (plan === null) throw new Error('a round is under way');
        const command = { kind: 'cut-block' as const, time, miners: ['m1', 'm2'] };
        return atOnce(state.cutBlock(command, plan, unicornOf(plan.seed), batch)) as Round;
      }),
    /** Bytes of all records written so far. */
    get written() {
      return written;
    },
    /** Gives the bytes that it writes. */
    async prove(round: Round, name: string): Promise<number> {
      const before = written;
      const { nonce, coinbase } = mine(round.header, round.reward, account(name));
      const proof = { kind: 'proof' as const, height: round.height, miner: name, nonce };
      await step((batch) => state.addProof({ ...proof, coinbase: encodeTransaction(coinbase) }, batch));
      return written - before;
    },
    async close(round: Round, miners = ['m1', 'm2']): Promise<Round> {
      for (const name of miners) await node.prove(round, name);
      const closed = await step((batch) => state.closeBlock({ kind: 'close-block', height: round.height }, batch));
      return closed as Round;
    },
    stored: (closed: Round) =>
      step((batch) =>
        atOnce(state.blockStored({ kind: 'block-stored', height: closed.height, hash: closedHash(closed) }, batch)),
      ),
    async make(...txs: Transaction[]): Promise<Round> {
      for (const tx of txs) await node.accept(tx);
      const closed = await node.close(await node.cut());
      await node.stored(closed);
      return closed;
    },
    adopt: async (from: KeptRecord | Round, facts = true) => {
      const record = 'facts' in from ? from : { bytes: closedBlockBytes(from), facts: null };
      const block = await readAdoptedBlock(record.bytes, facts ? record.facts : null, async () => undefined);
      return step((batch) => atOnce(state.adoptBlock(block, batch)));
    },
    kept: async (height: number): Promise<KeptRecord> => {
      const record = await kv.get(keys.kept(height));
      if (record === undefined) throw new Error(`block ${height} is not kept`);
      return decodeKept(record);
    },
    status: async (hash: string) => {
      const bytes = await kv.get(keys.status(hash));
      return bytes === undefined ? undefined : decodeStatus(bytes);
    },
    async reload(): Promise<void> {
      state = await loadMempoolState(kv, rules, { hashKey: new Uint8Array(8).fill(3) });
    },
  };
  return node;
}
