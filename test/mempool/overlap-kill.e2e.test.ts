/** kill -9 while two blocks are being made (docs/adr/0044-rounds-that-overlap.md): at each failpoint there is, in a process of its own. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { encodeTransaction } from '../../src/chain/codec.js';
import { transactionHash } from '../../src/chain/hash.js';
import type { OutPoint, Transaction } from '../../src/chain/types.js';
import { FAILPOINT_ENV } from '../../src/lib/failpoints.js';
import { type Command, encodeCommand } from '../../src/mempool/state/commands.js';
import { closedBlockBytes, closedHash, type Round } from '../../src/mempool/state/round.js';
import { MempoolState } from '../../src/mempool/state/state.js';
import { joinBlocks } from '../../src/peers/messages.js';
import { FAILPOINTS } from '../reliability/failpoint-names.js';
import { builtScript } from '../support/built-script.js';
import { openJournal } from '../support/journal.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, applierOf, genesisOut, mine, pay, payment } from '../support/mempool.js';
import { alice, BLOCKS_IN_CYCLE, OVERLAP_RULES } from './overlap-rules.js';

const AMOUNT = 1_000_000n;

type Scripted = Awaited<ReturnType<typeof scripted>>;

/** Each spends from the one before. */
function chain(length: number): readonly Transaction[] {
  let from: OutPoint = genesisOut(0);
  return Array.from({ length }, () => {
    const tx = payment({ from: alice, inputs: [from], outputs: [pay(alice, AMOUNT)] });
    from = { tHash: transactionHash(tx), n: 0 };
    return tx;
  });
}

/** A mempool without disk, and what its journal says. */
async function scripted() {
  const state = new MempoolState(OVERLAP_RULES);
  const journal = await openJournal(new MemoryKv());
  const applier = applierOf(journal, new MemoryKv(), state);
  await applier.start();
  const commands: Command[] = [];
  const send = async (command: Command): Promise<void> => {
    commands.push(command);
    await applier.submit(command);
  };
  return {
    state,
    commands,
    send,
    pay: (tx: Transaction) => send({ kind: 'transactions', time: 1, groups: [[encodeTransaction(tx)]] }),
    cut: (height: number) => send({ kind: 'cut-block', height, time: height, miners: ['m'] }),
    async close(): Promise<void> {
      const { round } = state;
      if (round === null) throw new Error('no round');
      const { height } = round;
      const { nonce, coinbase } = mine(round.header, round.reward, account('miner'));
      await send({ kind: 'proof', height, miner: 'm', nonce, coinbase: encodeTransaction(coinbase) });
      await send({ kind: 'close-block', height });
    },
    closing(): Round {
      if (state.closing === null) throw new Error('no closed block');
      return state.closing;
    },
    adopt: (block: Round) => send({ kind: 'block-adopted', block: closedBlockBytes(block), facts: null }),
    async stored(): Promise<void> {
      const { height } = this.closing();
      await send({ kind: 'block-stored', height, hash: closedHash(this.closing()) });
    },
  };
}

/** Two blocks at a time, twice; then storage has another block than the first of the two. */
async function cycle(node: Scripted, rival: Scripted, txs: readonly Transaction[]): Promise<void> {
  const [one, two, three, four] = txs as [Transaction, Transaction, Transaction, Transaction];
  const height = node.state.head.height + 1;
  const storedAtBoth = async (): Promise<void> => {
    await rival.adopt(node.closing());
    await node.stored();
  };
  await node.pay(one);
  await node.cut(height);
  await node.close();
  await node.pay(two);
  await node.cut(height + 1);
  await node.close();
  await storedAtBoth();
  await storedAtBoth();
  await node.pay(three);
  await node.cut(height + 2);
  await node.close();
  await node.pay(four);
  await node.cut(height + 3);
  await rival.cut(height + 2);
  await rival.close();
  await node.adopt(rival.closing());
  await rival.stored();
  expect(node.state.rounds).toEqual([]);
  await node.cut(height + 3);
  expect(node.state.round?.transactions.map(({ hash }) => hash)).toEqual([three, four].map(transactionHash));
  await node.close();
  await storedAtBoth();
}

/** So many cycles that each run of the process finds one that it has not been through. */
async function script(cycles: number) {
  const [node, rival] = [await scripted(), await scripted()];
  await node.cut(0);
  await node.close();
  await rival.adopt(node.closing());
  await node.stored();
  const first = node.commands.length;
  const txs = chain(BLOCKS_IN_CYCLE * cycles);
  for (let i = 0; i < txs.length; i += BLOCKS_IN_CYCLE) await cycle(node, rival, txs.slice(i, i + BLOCKS_IN_CYCLE));
  const { commands } = node;
  const counts = [commands.length, first, (commands.length - first) / cycles].map(String);
  return { commands, counts, digest: node.state.digest() };
}

it('leaves the state to which the journal leads, wherever the process ends (rules P1, P2, P7)', async () => {
  const points = FAILPOINTS.filter(({ place }) => place.startsWith('overlap.'));
  expect(points).toHaveLength(8);
  const { commands, counts, digest } = await script(points.length + 1);
  const root = await mkdtemp(join(tmpdir(), 'tessera-overlap-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const file = join(root, 'commands');
  await writeFile(file, joinBlocks(commands.map(encodeCommand)));
  const child = await builtScript(new URL('./overlap-until-killed.ts', import.meta.url));
  const run = (folder: string, failpoint?: string) =>
    fork(child, [folder, file, ...counts], {
      env: { ...process.env, NODE_ENV: 'test', ...(failpoint !== undefined && { [FAILPOINT_ENV]: failpoint }) },
    });
  // One folder after the other: what one run leaves, the next begins with.
  const folder = join(root, 'node');
  for (const { text } of points) {
    const [, signal] = await once(run(folder, text), 'exit');
    expect([text, signal]).toEqual([text, 'SIGKILL']);
  }
  const [told] = await once(run(folder), 'message');
  expect(told).toBe(digest);
});
