import { describe, expect, it, vi } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { type BlockRules, DEFAULT_BLOCK_RULES } from '../../src/chain/block-rules.js';
import { coinbaseTransaction, createItemTransaction, txOut } from '../../src/chain/builders.js';
import { encodeTransaction } from '../../src/chain/codec.js';
import { decodeUtxos, encodeTransactions } from '../../src/chain/decode-in-pieces.js';
import { blockHash, transactionHash } from '../../src/chain/hash.js';
import { assetSignable } from '../../src/chain/signable.js';
import type { BlockHeader, Transaction } from '../../src/chain/types.js';
import { sign } from '../../src/crypto/ed25519.js';
import { DataDir } from '../../src/db/data-dir.js';
import type { Kv } from '../../src/db/kv.js';
import { writesOf } from '../../src/db/record.js';
import { toHex } from '../../src/lib/bytes.js';
import { TesseraError } from '../../src/lib/errors.js';
import { silentLogger } from '../../src/lib/logger.js';
import { Mempool } from '../../src/mempool/mempool.js';
import { encodeCommand } from '../../src/mempool/state/commands.js';
import { loadMempoolState } from '../../src/mempool/state/load.js';
import { MempoolState } from '../../src/mempool/state/state.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { decodeFullBlock } from '../support/full-block.js';
import { journalWith, openJournal } from '../support/journal.js';
import { withWrite } from '../support/kv.js';
import { MemoryKv } from '../support/memory-kv.js';
import {
  type Account,
  applierOf,
  chainFor,
  genesisOut,
  keepStep,
  mine,
  pay,
  payment,
  rulesFor,
  unicornOf,
} from '../support/mempool.js';
import { type Bed, createBed, createSeededRandom, SECRET } from '../support/peers.js';
import { addMiner, addStorage, alice, atEnd, bob, newFolder, send, setUp, stored } from './running.js';

describe('submitting', () => {
  it('admits a payment, and the chain keeps it', async () => {
    const { mempool, blocks } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    const tx = send(alice, 0, bob);
    const [submitted] = await mempool.submit([tx]);
    expect(submitted?.hash).toBe(transactionHash(tx));
    await stored(mempool, 1);
    expect(blocks[1]?.block.transactions).toEqual([transactionHash(tx)]);
    const { tokens, addresses } = mempool.balances([bob.address]);
    expect(tokens).toBe(1_999_999n);
    expect(addresses.get(bob.address)?.count).toBe(2);
  });

  it('gives the same answer to the same transaction, pending or mined (decision V4)', async () => {
    const { mempool } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    const tx = send(alice, 0, bob);
    const first = await mempool.submit([tx]);
    expect(await mempool.submit([tx])).toEqual(first);
    await stored(mempool, 1);
    expect(await mempool.submit([tx])).toEqual(first);
    expect(mempool.figures()).toMatchObject({ height: 1, waitingCount: 0 });
  });

  it('names the hash and the rule of a refusal, admits nothing of the list, and remembers it (decisions V1, V3)', async () => {
    const { mempool } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    const good = send(alice, 0, bob);
    const forged = { ...send(bob, 1, alice), outputs: [pay(alice, 1_000_000n)] };
    const hash = transactionHash(forged);
    await expect(mempool.submit([good, forged])).rejects.toMatchObject({
      code: 'invalid_signature',
      message: expect.stringContaining(`${hash} is refused: Invalid signature or script structure`),
    });
    expect(mempool.figures().waitingCount).toBe(0);
    const statuses = await mempool.statuses([hash, transactionHash(good), 'g0']);
    expect([...statuses.keys()]).toEqual([hash]);
    expect(statuses.get(hash)).toMatchObject({
      status: 'Rejected',
      additionalInfo: expect.stringContaining('Invalid'),
    });
  });

  it.each([
    ['an unknown input', 'unknown_input', () => send(alice, 77, bob)],
    [
      'amounts that differ',
      'transaction_rejected',
      () => payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 5n)] }),
    ],
    [
      'an address of wrong length',
      'transaction_rejected',
      () => payment({ from: alice, inputs: [genesisOut(0)], outputs: [txOut(tokenAsset(1_000_000n), 'short')] }),
    ],
    [
      'a spent twice input',
      'double_spend',
      () => payment({ from: alice, inputs: [genesisOut(0), genesisOut(0)], outputs: [pay(bob, 2_000_000n)] }),
    ],
    [
      'an output of nothing (decision B16)',
      'transaction_rejected',
      () => payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n), pay(bob, 0n)] }),
    ],
    [
      'a fee of nothing (decision B16)',
      'transaction_rejected',
      () => ({
        ...payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n)] }),
        fees: [pay(bob, 0n)],
      }),
    ],
    [
      'a half of a trade with a locked output (decision B16)',
      'transaction_rejected',
      () => ({
        ...payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n, 1n)] }),
        druidInfo: { druid: 'trade', participants: 2n, expectations: [], genesisHash: null },
      }),
    ],
    ['a coinbase', 'transaction_rejected', () => coinbaseTransaction(1n, 5n, alice.address)],
    ['no outputs', 'transaction_rejected', () => payment({ from: alice, inputs: [genesisOut(0)], outputs: [] })],
  ] as const)('refuses %s', async (_name, code, build) => {
    const { mempool } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    await expect(mempool.submit([build()])).rejects.toMatchObject({ code });
  });

  it('refuses tokens below the least amount of the network in outputs and fees, and takes items and all else (decision B18)', async () => {
    const pool = { maxTransactions: 100, maxBytes: 1_000_000, minOutputAmount: 500n };
    const { mempool } = await setUp({ folder: await newFolder(), mempool: { pool } });
    await stored(mempool, 0);
    const split = (small: bigint) =>
      payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n - small), pay(bob, small)] });
    await expect(mempool.submit([split(499n)])).rejects.toMatchObject({
      code: 'transaction_rejected',
      message: expect.stringContaining('at least 500'),
    });
    const honest = payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 999_999n)] });
    await expect(mempool.submit([{ ...honest, fees: [pay(bob, 1n)] }])).rejects.toMatchObject({
      code: 'transaction_rejected',
    });
    const item = createItemTransaction({ bNum: 0n, amount: 1n, spec: 'Create', metadata: null }, alice.key);
    await expect(mempool.submit([split(500n), item])).resolves.toHaveLength(2);
  });

  it('refuses an output that is locked beyond the last stored block', async () => {
    const { mempool } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    const locking = payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(alice, 1_000_000n, 3n)] });
    await mempool.submit([locking]);
    await stored(mempool, 1);
    const early = payment({
      from: alice,
      inputs: [{ tHash: transactionHash(locking), n: 0 }],
      outputs: [pay(bob, 1_000_000n)],
    });
    await expect(mempool.submit([early])).rejects.toMatchObject({ code: 'unknown_input' });
  });

  it('refuses with mempool_full beyond its bounds and admits nothing then (decision B14)', async () => {
    const folder = await newFolder();
    const { mempool } = await setUp({
      folder,
      mempool: {
        pool: { maxTransactions: 1, maxBytes: 1_000_000 },
        blocks: { instant: false, blockInterval: 3_600_000, proofWindow: 0, minMiners: 1, partitionSize: 1 },
      },
    });
    await stored(mempool, 0);
    await expect(mempool.submit([send(alice, 0, bob), send(bob, 1, alice)])).rejects.toMatchObject({
      code: 'mempool_full',
    });
    expect(mempool.figures().waitingCount).toBe(0);
    await mempool.submit([send(alice, 0, bob)]);
    await expect(mempool.submit([send(bob, 1, alice)])).rejects.toMatchObject({ code: 'mempool_full' });
  });

  it('admits one of 64 that spend the same output at once (rule P4), and the others are named as what they are', async () => {
    const { mempool, blocks } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    const rivals = Array.from({ length: 64 }, (_, i) =>
      payment({
        from: alice,
        inputs: [genesisOut(0)],
        outputs: [pay(bob, BigInt(i + 1)), pay(alice, 999_999n - BigInt(i))],
      }),
    );
    const outcomes = await Promise.allSettled(rivals.map((tx) => mempool.submit([tx])));
    const won = outcomes.findIndex(({ status }) => status === 'fulfilled');
    const codes = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []));
    expect(codes).toHaveLength(63);
    for (const code of codes) expect(['double_spend', 'unknown_input']).toContain(code);
    await stored(mempool, 1);
    const hashes = rivals.map(transactionHash);
    expect(blocks[1]?.block.transactions).toEqual([hashes[won]]);
    const statuses = await mempool.statuses(hashes);
    expect(hashes.map((hash) => statuses.get(hash)?.status)).toEqual(
      hashes.map((_, i) => (i === won ? 'Confirmed' : 'Rejected')),
    );
  });

  describe('with blocks of three transactions every hour', () => {
    const blocks = { instant: false, blockInterval: 3_600_000, proofWindow: 0, minMiners: 1, partitionSize: 10 };
    const withRules = async (start: BlockRules['start']) => {
      const block = { ...DEFAULT_BLOCK_RULES, transactions: 3, start };
      const rules = rulesFor([alice, bob, alice, bob], { block });
      const made = await setUp({ folder: await newFolder(), mempool: { rules, chain: chainFor(rules), blocks } });
      await stored(made.mempool, 0);
      return made;
    };
    const three = (): Transaction[] => [send(alice, 0, bob), send(bob, 1, alice), send(alice, 2, bob)];

    it('begins a round as soon as a full block waits (docs/chain.md#blocks)', async () => {
      const { mempool, blocks: made } = await withRules('full_or_interval');
      const [first, second, third] = three() as [Transaction, Transaction, Transaction];
      await mempool.submit([first, second]);
      expect(mempool.figures().waitingCount).toBe(2);
      const next = stored(mempool, 1);
      await mempool.submit([third]);
      await next;
      expect(made[1]?.block.transactions).toEqual([first, second, third].map(transactionHash));
    });

    it('does not do so for what costs its sender nothing, nor in a network where blocks keep their pace', async () => {
      const { mempool } = await withRules('full_or_interval');
      const creation = createItemTransaction({ bNum: 0n, amount: 1n, spec: 'Create', metadata: null }, alice.key);
      await mempool.submit([creation, ...three().slice(0, 2)]);
      expect(mempool.figures()).toMatchObject({ waitingCount: 3, height: 0 });
      const steady = await withRules('interval');
      await steady.mempool.submit(three());
      expect(steady.mempool.figures()).toMatchObject({ waitingCount: 3, height: 0 });
      const next = stored(steady.mempool, 1);
      await steady.bed.clock.advance(3_600_000);
      await next;
    });
  });

  it('that is full answers the same to what it knows, and takes more after the next block (decision B14)', async () => {
    const blocks = { instant: false, blockInterval: 10_000, proofWindow: 0, minMiners: 1, partitionSize: 10 };
    const { mempool, bed } = await setUp({
      folder: await newFolder(),
      mempool: { pool: { maxTransactions: 1, maxBytes: 1_000_000 }, blocks },
    });
    await stored(mempool, 0);
    const [first, second] = [send(alice, 0, bob), send(bob, 1, alice)];
    const admitted = await mempool.submit([first]);
    const rivals = await Promise.allSettled(Array.from({ length: 64 }, () => mempool.submit([second])));
    for (const rival of rivals) expect(rival).toMatchObject({ status: 'rejected', reason: { code: 'mempool_full' } });
    expect(await mempool.submit([first])).toEqual(admitted);
    // A full pool is no verdict on a transaction.
    expect((await mempool.statuses([transactionHash(second)])).size).toBe(0);
    const next = stored(mempool, 1);
    await bed.clock.advance(10_000);
    await next;
    await mempool.submit([second]);
    expect(mempool.figures().waitingCount).toBe(1);
  });

  it('keeps room for others when DRUID transactions that never meet fill their share', async () => {
    const pool = { maxTransactions: 8, maxBytes: 1_000_000 };
    const { mempool } = await setUp({ folder: await newFolder(), mempool: { pool } });
    await stored(mempool, 0);
    // One output backs them all: what waits for others claims nothing.
    const member = (druid: string, from = alice, n = 0): Transaction =>
      payment({
        from,
        inputs: [genesisOut(n)],
        outputs: [pay(bob, 1_000_000n)],
        druidInfo: { druid, participants: 2n, expectations: [], genesisHash: null },
      });
    await mempool.submit([member('a')]);
    await mempool.submit([member('b')]);
    await expect(mempool.submit([member('c')])).rejects.toMatchObject({ code: 'mempool_full' });
    // What completes a set does not wait.
    await mempool.submit([member('b', bob, 1)]);
    await stored(mempool, 1);
    expect(mempool.figures().waitingCount).toBe(1);
  });

  it('keeps room for payments, and for the creations of others, when one sender floods it with item creations (decision B14)', async () => {
    const pool = { maxTransactions: 64, maxBytes: 1_000_000 };
    const blocks = { instant: false, blockInterval: 10_000, proofWindow: 0, minMiners: 1, partitionSize: 10 };
    const { mempool, bed } = await setUp({ folder: await newFolder(), mempool: { pool, blocks } });
    await stored(mempool, 0);
    let next = 1n;
    const create = () => createItemTransaction({ bNum: 0n, amount: next++, spec: 'Create', metadata: null }, bob.key);
    const flood = async (sender: string): Promise<number> => {
      const lists = Array.from({ length: 80 }, () => mempool.submit([create()], sender));
      const refused = (await Promise.allSettled(lists)).filter(({ status }) => status === 'rejected');
      for (const one of refused) {
        expect(one).toMatchObject({
          reason: { code: 'mempool_full', message: expect.stringContaining('without tokens') },
        });
      }
      return lists.length - refused.length;
    };
    expect(await flood('flood')).toBe(8);
    expect(await flood('another flood')).toBe(4);
    await mempool.submit([create()], 'honest');
    await mempool.submit([send(alice, 0, bob)], 'flood');
    expect(mempool.figures()).toMatchObject({ tokenless: 13, waitingCount: 14 });
    const mined = stored(mempool, 1);
    await bed.clock.advance(10_000);
    await mined;
    expect(await flood('flood')).toBe(8);
  });

  /** A pool of 64, in which the items of one creation wait, one in each of 80 outputs. */
  async function withSplitItem() {
    const pool = { maxTransactions: 64, maxBytes: 1_000_000 };
    const blocks = { instant: false, blockInterval: 10_000, proofWindow: 0, minMiners: 1, partitionSize: 10 };
    const { mempool } = await setUp({ folder: await newFolder(), mempool: { pool, blocks } });
    await stored(mempool, 0);
    const made = createItemTransaction({ bNum: 0n, amount: 80n, spec: 'Create', metadata: null }, bob.key);
    const one = txOut({ kind: 'item', amount: 1n, genesisHash: transactionHash(made), metadata: null }, bob.address);
    const parts = Array.from({ length: 80 }, () => one);
    const split = payment({ from: bob, inputs: [{ tHash: transactionHash(made), n: 0 }], outputs: parts });
    await mempool.submit([made], 'flood');
    await mempool.submit([split], 'flood');
    return { mempool, split, one };
  }

  it('keeps room for payments when one creation is passed on to any number of outputs (decision B14)', async () => {
    const { mempool, split, one } = await withSplitItem();
    const leaves = split.outputs.map((_, n) =>
      payment({ from: bob, inputs: [{ tHash: transactionHash(split), n }], outputs: [one] }),
    );
    const outcomes = await Promise.allSettled(leaves.map((leaf) => mempool.submit([leaf], 'flood')));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(6);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'mempool_full' });
    }
    await mempool.submit([send(alice, 0, bob)], 'flood');
    expect(mempool.figures()).toMatchObject({ tokenless: 8, waitingCount: 9 });
  });

  it('counts the waiting members of a trade among those without tokens when it is completed (decision B14)', async () => {
    const { mempool, split, one } = await withSplitItem();
    let n = 0;
    const member = (druid: string): Transaction =>
      payment({
        from: bob,
        inputs: [{ tHash: transactionHash(split), n: n++ }],
        outputs: [one],
        druidInfo: { druid, participants: 4n, expectations: [], genesisHash: null },
      });
    // Three sets of four, each complete but for one. They do not wait for a block, so they do not count yet.
    const druids = ['a', 'b', 'c'];
    for (const druid of druids)
      await mempool.submit([member(druid), member(druid), member(druid)], `sender of ${druid}`);
    expect(mempool.figures().tokenless).toBe(2);
    const outcomes = await Promise.allSettled(druids.map((druid) => mempool.submit([member(druid)], 'flood')));
    // Sixteen of all, of which one sender leaves as many as it takes: two are there, and a set brings four.
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(outcomes[1]).toMatchObject({ reason: { code: 'mempool_full' } });
    expect(mempool.figures().tokenless).toBe(6);
  });

  it('names the posted transaction when its DRUID set is refused, and calls it Rejected (decision B15)', async () => {
    const { mempool } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    const member = (from: Account, n: number): Transaction =>
      payment({
        from,
        inputs: [genesisOut(n)],
        outputs: [pay(bob, 1_000_000n)],
        druidInfo: { druid: 'd', participants: 2n, expectations: [], genesisHash: null },
      });
    const [waiting, posted] = [member(alice, 0), member(bob, 1)];
    const rival = send(alice, 0, alice);
    await mempool.submit([waiting]);
    await mempool.submit([rival]);
    const hashes = [transactionHash(waiting), transactionHash(posted)];
    await expect(mempool.submit([posted])).rejects.toMatchObject({
      details: { hash: hashes[1] },
      message: expect.stringMatching(new RegExp(`^transaction ${hashes[1]} is refused: .*${hashes[0]}`)),
    });
    const statuses = await mempool.statuses(hashes);
    for (const hash of hashes) expect(statuses.get(hash)).toMatchObject({ status: 'Rejected' });
    expect(mempool.figures().druidSets).toBe(0);
  });

  it('answers mempool_unreachable while it is not up (decision V24)', async () => {
    const { mempool, close } = await setUp({ folder: await newFolder() });
    await close();
    await expect(mempool.submit([])).rejects.toMatchObject({ code: 'mempool_unreachable' });
    expect(() => mempool.supply()).toThrow('not up');
  });
});

describe('creating items', () => {
  const order = { spec: 'Create' as const, amount: 7n, metadata: 'about it' };
  const signed = (from: Account) => ({
    ...order,
    scriptPublicKey: from.address,
    publicKey: from.key.publicKey,
    signature: sign(from.key.seed, assetSignable({ kind: 'item', amount: 7n, genesisHash: null, metadata: null })),
  });

  it('makes them known by the hash of their transaction (docs/chain.md#creations)', async () => {
    const { mempool } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    const created = await mempool.createItem(signed(alice));
    expect(created).toMatchObject({ toAddress: alice.address, asset: { amount: 7n, genesisHash: created.txHash } });
    await stored(mempool, 1);
    expect(mempool.balances([alice.address]).items).toEqual(new Map([[created.txHash, 7n]]));
  });

  it('shows a total that clients can read, however many items strangers make for an address', async () => {
    const { mempool } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    const amount = 2n ** 63n - 1n;
    for (const bNum of [0n, 1n]) {
      await mempool.submit([createItemTransaction({ bNum, amount, spec: 'Default', metadata: null }, alice.key)]);
    }
    await stored(mempool, 1);
    await expect.poll(() => mempool.balances([alice.address]).addresses.get(alice.address)?.count).toBe(3);
    expect(mempool.balances([alice.address]).items.get('default_genesis_hash')).toBe(2n ** 63n - 1n);
  });

  it('refuses a signature of somebody else (decision V28)', async () => {
    const { mempool } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    await expect(mempool.createItem({ ...signed(alice), publicKey: bob.key.publicKey })).rejects.toMatchObject({
      code: 'invalid_signature',
    });
  });

  it('refuses metadata beyond 800 bytes', async () => {
    const { mempool } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    await expect(mempool.createItem({ ...signed(alice), metadata: 'é'.repeat(401) })).rejects.toMatchObject({
      code: 'transaction_rejected',
    });
  });
});

describe('making blocks', () => {
  it('waits for the minimum number of miners before block 0', async () => {
    const blocks = { instant: true, blockInterval: 0, proofWindow: 0, minMiners: 2, partitionSize: 10 };
    const { mempool, bed, network } = await setUp({ folder: await newFolder(), mempool: { blocks } });
    expect(mempool.figures()).toMatchObject({ height: -1, miners: 1 });
    await addMiner(bed, network, 'm2');
    await stored(mempool, 0);
  });

  it('makes no empty block while nothing happens, and a block as soon as something does', async () => {
    const { mempool, bed, blocks } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    await bed.clock.advance(3_600_000);
    expect(blocks).toHaveLength(1);
  });

  it('cuts at its interval, empty or not, when it is not instant', async () => {
    const blocks = { instant: false, blockInterval: 10_000, proofWindow: 0, minMiners: 1, partitionSize: 10 };
    const { mempool, bed } = await setUp({ folder: await newFolder(), mempool: { blocks } });
    await stored(mempool, 0);
    await bed.clock.advance(9_999);
    expect(mempool.figures().height).toBe(0);
    const next = stored(mempool, 1);
    await bed.clock.advance(1);
    await next;
  });

  it('closes when all who take part have proven, or when the window after the first proof is over', async () => {
    const folder = await newFolder();
    const { mempool, bed, network } = await setUp({ folder, miners: [] });
    await addMiner(bed, network, 'silent', () => undefined);
    // Block 0 goes to the silent miner; a second one joins and works on block 0 only if the first leaves.
    const silent = [...network.links].find((link) => link.role === 'miner');
    await addMiner(bed, network, 'busy');
    expect(mempool.figures().height).toBe(-1);
    silent?.close('test');
    await stored(mempool, 0);
    await addMiner(bed, network, 'late', () => undefined);
    await mempool.submit([send(alice, 0, bob)]);
    await expect.poll(() => mempool.figures().waitingCount).toBe(0);
    expect(mempool.figures().height).toBe(0);
    // The window begins when the proof has been taken in.
    const height = async (): Promise<number> => {
      await bed.clock.advance(500);
      return mempool.figures().height;
    };
    await expect.poll(height).toBe(1);
  });

  it('goes on without the drawn miners when they prove nothing for a minute', async () => {
    const blocks = { instant: true, blockInterval: 0, proofWindow: 500, minMiners: 1, partitionSize: 1 };
    const rules = rulesFor([alice, bob], { partitionSize: 1 });
    const { mempool, bed, network } = await setUp({
      folder: await newFolder(),
      miners: [],
      mempool: { blocks, rules },
    });
    let templates = 0;
    await addMiner(bed, network, 'silent', () => void templates++);
    await expect.poll(() => templates).toBe(1);
    await addMiner(bed, network, 'busy');
    await bed.clock.advance(59_000);
    expect(mempool.figures().height).toBe(-1);
    const height = async (): Promise<number> => {
      await bed.clock.advance(1_000);
      return mempool.figures().height;
    };
    await expect.poll(height).toBe(0);
    // The silent one is told again too: its template or its proof may have been lost.
    expect(templates).toBe(2);
  });

  it('sends a template again that a full send queue did not take', async () => {
    const { mempool, bed, network } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    const link = [...network.links].find(({ role }) => role === 'miner');
    if (link === undefined) throw new Error('no miner');
    const refused = vi.spyOn(link, 'send').mockReturnValue(false);
    await mempool.submit([send(alice, 0, bob)]);
    await expect.poll(() => refused.mock.calls.some(([type]) => type === 'mining.template')).toBe(true);
    refused.mockRestore();
    const next = stored(mempool, 1);
    await bed.clock.advance(2_000);
    await next;
  });

  it('refuses proofs that are weak, unpaid or late', async () => {
    const { mempool, bed, network } = await setUp({ folder: await newFolder(), miners: [] });
    const templates: { header: BlockHeader; reward: bigint }[] = [];
    const link = await addMiner(bed, network, 'm1', (header, reward) => void templates.push({ header, reward }));
    await expect.poll(() => templates).toHaveLength(1);
    const [template] = templates;
    if (template === undefined) throw new Error('no template');
    const { nonce, coinbase } = mine(template.header, template.reward, alice);
    const prove = async (height: number, with_: Uint8Array, tx: Transaction): Promise<string> => {
      const body = { block_num: height, nonce: toHex(with_) };
      const answer = await link.request('mining.proof', body, { attachment: encodeTransaction(tx) });
      return (answer.body as { reason: string }).reason;
    };
    expect(await prove(1, nonce, coinbase)).toBe('Not block currently mined');
    const greedy = mine(template.header, template.reward + 1n, alice);
    expect(await prove(0, greedy.nonce, greedy.coinbase)).toContain('Coinbase transaction invalid');
    expect(await prove(0, Buffer.from('00'), { ...coinbase, version: 7n })).toContain('Invalid PoW for block');
    expect(await prove(0, nonce, coinbase)).toBe('');
    await stored(mempool, 0);
  });
});

describe('delivery to storage', () => {
  it('keeps a closed block through restarts until a storage node has it, and goes on then', async () => {
    const folder = await newFolder();
    const first = await setUp({ folder, storage: false });
    const unable = first.bed.node('storage', { role: 'storage', secret: SECRET });
    keepStep(unable);
    unable.handle('block.deliver', () => ({ type: 'error', body: { code: 'database_failed', detail: 'full' } }));
    await unable.start();
    await unable.dial(first.network.address, { timeoutMs: 5_000 });
    await expect.poll(() => first.mempool.figures().notStored).toContain('block 0');
    await first.close();
    const second = await setUp({ folder });
    await stored(second.mempool, 0);
    expect(second.blocks).toHaveLength(1);
    await second.mempool.submit([send(alice, 0, bob)]);
    await stored(second.mempool, 1);
  });

  it('says why storage does not keep a block', async () => {
    const { mempool, bed, network } = await setUp({ folder: await newFolder(), storage: false });
    const storage = bed.node('storage', { role: 'storage', secret: SECRET });
    let refuses = true;
    keepStep(storage);
    storage.handle('block.deliver', (_link, { body }) =>
      refuses
        ? { type: 'block.refused', body: { block_num: body.block_num, next: 7, reason: 'another block is stored' } }
        : { type: 'block.stored', body },
    );
    await storage.start();
    await storage.dial(network.address, { timeoutMs: 5_000 });
    await expect
      .poll(() => mempool.figures().notStored)
      .toMatch(/^block 0 is not stored: .*: another block is stored$/);
    refuses = false;
    const next = stored(mempool, 0);
    await bed.clock.advance(2_000);
    await next;
    expect(mempool.figures().notStored).toBeNull();
  });

  it('stands still with a name when a block breaks a rule of storage, asks seldom, and a new link at once', async () => {
    const { mempool, bed, network } = await setUp({ folder: await newFolder(), storage: false });
    let asked = 0;
    const strict = bed.node('strict', { role: 'storage', secret: SECRET });
    keepStep(strict);
    strict.handle('block.deliver', (_link, { body }) => {
      asked++;
      const refusal = { block_num: body.block_num, next: 0, reason: 'it spends nothing', rule: 'inputs' };
      return { type: 'block.refused', body: refusal };
    });
    await strict.start();
    await strict.dial(network.address, { timeoutMs: 5_000 });
    await expect
      .poll(() => mempool.figures().notStored)
      .toMatch(/^block 0 is refused by storage node .* for the rule inputs: it spends nothing; no block is made/);
    await bed.clock.advance(30_000);
    expect(asked).toBe(1);
    await bed.clock.advance(30_000);
    await expect.poll(() => asked).toBe(2);
    await addStorage(bed, network, []);
    await stored(mempool, 0);
    expect(mempool.figures().notStored).toBeNull();
  });

  it('is confirmed later when the disk refuses the command, whoever says that the block is stored (rules P1, P7)', async () => {
    const kv = new MemoryKv();
    let broken = false;
    const journalKv = withWrite(kv, async (batch, options) => {
      if (broken) throw noSpace();
      await kv.write(batch, options);
    });
    const { mempool, bed, network } = await setUp({ folder: await newFolder(), storage: false, journalKv });
    const storage = bed.node('storage', { role: 'storage', secret: SECRET });
    keepStep(storage);
    let hash = '';
    storage.handle('block.deliver', (_link, { body }) => {
      hash = body.hash;
      return { type: 'error', body: { code: 'internal_error', detail: 'its answer is lost' } };
    });
    await storage.start();
    const link = await storage.dial(network.address, { timeoutMs: 5_000 });
    await expect.poll(() => mempool.figures().notStored, { timeout: 60_000 }).toContain('its answer is lost');
    broken = true;
    link.send('chain.tip', { next: 1, hash });
    const later = async () => {
      await bed.clock.advance(2_000);
      return mempool.figures();
    };
    const patience = { timeout: 60_000 };
    await expect.poll(later, patience).toMatchObject({ notStored: expect.stringContaining('no space left on device') });
    broken = false;
    await expect.poll(later, patience).toMatchObject({ height: 0 });
  });

  it('asks a storage node that was busy with the last block for the next one', async () => {
    const { mempool, bed, network } = await setUp({ folder: await newFolder(), storage: false });
    const answers: (() => void)[] = [];
    const slow = bed.node('slow', { role: 'storage', secret: SECRET });
    keepStep(slow);
    slow.handle(
      'block.deliver',
      (_link, { body }) => new Promise((resolve) => answers.push(() => resolve({ type: 'block.stored', body }))),
    );
    await slow.start();
    await slow.dial(network.address, { timeoutMs: 5_000 });
    await expect.poll(() => answers.length).toBe(1);
    const quick = await addStorage(bed, network, []);
    await stored(mempool, 0);
    await quick.stop();
    await mempool.submit([send(alice, 0, bob)]);
    answers[0]?.();
    await expect.poll(() => answers.length).toBe(2);
    answers[1]?.();
    await stored(mempool, 1);
  });

  it('takes no word of a storage node that does not know the network secret', async () => {
    const folder = await newFolder();
    const { mempool, bed, network } = await setUp({ folder, storage: false });
    const stranger = bed.node('stranger', { role: 'storage', secret: `not ${SECRET}` });
    stranger.handle('block.deliver', (_link, { body }) => ({ type: 'block.stored', body }));
    await stranger.start();
    await expect(stranger.dial(network.address, { timeoutMs: 1_000 })).rejects.toMatchObject({
      code: 'peer_unreachable',
    });
    expect(mempool.figures().height).toBe(-1);
  });
});

describe('a restart', () => {
  it('finds pool, statuses and digest again', async () => {
    const folder = await newFolder();
    const blocks = { instant: false, blockInterval: 3_600_000, proofWindow: 0, minMiners: 1, partitionSize: 1 };
    const first = await setUp({ folder, mempool: { blocks } });
    await stored(first.mempool, 0);
    const tx = send(alice, 0, bob);
    await first.mempool.submit([tx]);
    const digest = first.mempool.digest();
    await first.close();
    const second = await setUp({ folder, mempool: { blocks }, miners: [], storage: false });
    expect(second.mempool.digest()).toBe(digest);
    const statuses = await second.mempool.statuses([transactionHash(tx)]);
    expect(statuses.get(transactionHash(tx))).toMatchObject({ status: 'Pending' });
  });
});

/** Lets time pass until a block is stored: what is tried again after a second may have to be tried twice. */
async function storedInTime({ clock }: Bed, mempool: Mempool, height: number): Promise<void> {
  const pass = async (): Promise<number> => {
    await clock.advance(1_000);
    return mempool.figures().height;
  };
  await expect.poll(pass, { timeout: 60_000 }).toBeGreaterThanOrEqual(height);
}

describe('the journal', () => {
  it('alone gives the same state again, digest and all (rule P2)', async () => {
    const folder = await newFolder();
    const first = await setUp({ folder, miners: ['m1', 'm2'] });
    await stored(first.mempool, 0);
    const payments = [send(alice, 0, bob), send(bob, 1, alice)];
    for (const [i, tx] of payments.entries()) {
      await first.mempool.submit([tx]);
      await stored(first.mempool, i + 1);
    }
    const waiting = payment({
      from: alice,
      inputs: [{ tHash: transactionHash(payments[0] ?? send(alice, 0, bob)), n: 1 }],
      outputs: [pay(bob, 1n)],
      druidInfo: { druid: 'DRUID0x00', participants: 2n, expectations: [], genesisHash: null },
    });
    await first.mempool.submit([waiting]);
    const digest = first.mempool.digest();
    const { seq } = first.mempool.figures();
    await first.close();

    const dataDir = await DataDir.open(folder, { role: 'mempool', networkName: 'test' });
    atEnd(() => dataDir.close());
    const journal = await openJournal(await dataDir.open('journal'));
    const kv = new MemoryKv();
    const state = new MempoolState(rulesFor([alice, bob]));
    const applier = applierOf(journal, kv, state);
    await applier.start();
    expect({ digest: state.digest(), seq: state.seq }).toEqual({ digest, seq });
    await applier.stop();
    await journal.close();
  });

  it('that the disk refuses is answered write_failed, and it goes on when the disk takes it again (rules P1, P7)', async () => {
    const kv = new MemoryKv();
    let broken = false;
    const failing = withWrite(kv, async (batch, options) => {
      if (broken) throw noSpace();
      await kv.write(batch, options);
    });
    const { mempool, bed } = await setUp({ folder: await newFolder(), journalKv: failing });
    await stored(mempool, 0);
    broken = true;
    const refused = { code: 'write_failed', message: expect.stringContaining('no space left on device') };
    await expect(mempool.submit([send(alice, 0, bob)])).rejects.toMatchObject(refused);
    await expect(mempool.submit([send(alice, 0, bob)])).rejects.toMatchObject(refused);
    broken = false;
    await mempool.submit([send(alice, 0, bob)]);
    await storedInTime(bed, mempool, 1);
  });

  it('keeps its word when the state cannot be written: what is in the journal counts, and nothing more is taken until it is', async () => {
    let broken = false;
    const { mempool, bed } = await setUp({
      folder: await newFolder(),
      wrapKv: (kv) =>
        withWrite(kv, async (batch, options) => {
          if (broken && writesOf(batch).some(({ key }) => String.fromCharCode(key[0] ?? 0) === 'm')) throw noSpace();
          await kv.write(batch, options);
        }),
    });
    await stored(mempool, 0);
    // After block 0 the state is written once more.
    await mempool.submit([send(alice, 0, bob)]);
    await stored(mempool, 1);
    broken = true;
    const first = send(bob, 1, alice);
    await mempool.submit([first]);
    // It is written behind.
    await bed.clock.advance(1_000);
    const change = { tHash: transactionHash(send(alice, 0, bob)), n: 1 };
    const second = payment({ from: alice, inputs: [change], outputs: [pay(bob, 1n)] });
    await expect(mempool.submit([second])).rejects.toMatchObject({ code: 'write_failed' });
    expect((await mempool.statuses([transactionHash(first)])).get(transactionHash(first))?.status).toBe('Pending');
    broken = false;
    await storedInTime(bed, mempool, 2);
  });

  it('is stopped while the state cannot be written, and has it from the journal at the next start', async () => {
    const folder = await newFolder();
    let broken = false;
    const wrapKv = (kv: Kv): Kv =>
      withWrite(kv, async (batch, options) => {
        if (broken) throw noSpace();
        await kv.write(batch, options);
      });
    const before = await setUp({ folder, wrapKv });
    await stored(before.mempool, 0);
    await before.mempool.submit([send(alice, 0, bob)]);
    await stored(before.mempool, 1);
    broken = true;
    const sent = send(bob, 1, alice);
    await before.mempool.submit([sent]);
    await before.close();
    broken = false;
    const after = await setUp({ folder, wrapKv });
    await stored(after.mempool, 2);
    const hash = transactionHash(sent);
    expect((await after.mempool.statuses([hash])).get(hash)?.status).toBe('Confirmed');
  });

  it('that is overloaded is not asked for a block again and again without a pause', async () => {
    let refusals = 0;
    let overloaded = true;
    const { mempool, bed } = await setUp({
      folder: await newFolder(),
      wrapJournal: (journal) =>
        journalWith(journal, {
          append(payload) {
            if (!overloaded) return journal.append(payload);
            // Without a pause this never ends.
            if (++refusals > 100) overloaded = false;
            throw new TesseraError('overloaded', 'the journal cannot write as fast as entries arrive');
          },
        }),
    });
    await expect.poll(() => refusals).toBe(1);
    overloaded = false;
    const next = stored(mempool, 0);
    await bed.clock.advance(2_000);
    await next;
    expect(refusals).toBe(1);
  });

  it('that lost commands which the state has is named, not guessed over (rule P3)', async () => {
    const folder = await newFolder();
    const first = await setUp({ folder });
    await stored(first.mempool, 0);
    await first.close();
    const dataDir = await DataDir.open(folder, { role: 'mempool', networkName: 'test' });
    atEnd(() => dataDir.close());
    const kv = await dataDir.open('mempool');
    const state = await loadMempoolState(kv, rulesFor([alice, bob]), { hashKey: new Uint8Array(8) });
    const journal = await openJournal(new MemoryKv());
    const applier = applierOf(journal, kv, state);
    await expect(applier.start()).rejects.toMatchObject({ code: 'data_corrupt' });
    await journal.close();
  });
});

describe('stopping', () => {
  it('during a start does not wait for the rest of the replay', async () => {
    const journalKv = new MemoryKv();
    const journal = await openJournal(journalKv);
    const late = { kind: 'close-block' as const, height: 7 };
    const commands = Array.from({ length: 2_500 }, () => journal.append(encodeCommand(late)).durable);
    await Promise.all(commands);
    await journal.close();
    const again = await openJournal(journalKv);
    const bed = createBed('memory');
    atEnd(() => bed.stop());
    const kv = new MemoryKv();
    let groups = 0;
    let stopping: Promise<void> | undefined;
    const mempool: Mempool = new Mempool(
      {
        rules: rulesFor([alice]),
        chain: chainFor(rulesFor([alice])),
        pool: { maxTransactions: 100, maxBytes: 1_000_000 },
        blocks: { instant: true, blockInterval: 0, proofWindow: 0, minMiners: 1, partitionSize: 1 },
        statuses: { lifetime: 3_600 },
        verifyThreads: 0,
      },
      {
        kv,
        journal: journalWith(again, {
          subscribe: (from, deliver, onError) =>
            again.subscribe(
              from,
              async (entries) => {
                groups++;
                stopping ??= mempool.stop();
                await deliver(entries);
              },
              onError,
            ),
        }),
        network: bed.node('mempool', { role: 'mempool' }),
        clock: bed.clock,
        random: createSeededRandom('mempool'),
        logger: silentLogger,
        metrics: noMetrics,
        unicorn: unicornOf,
      },
    );
    await expect(mempool.start()).rejects.toMatchObject({ code: 'shutting_down' });
    await stopping;
    expect(groups).toBe(1);
    // What was applied is a prefix of the journal: the next start goes on from there.
    const state = await loadMempoolState(kv, rulesFor([alice]), { hashKey: new Uint8Array(8) });
    expect(state.seq).toBe(1_000);
  });
});

describe('statuses', () => {
  it('are kept for their lifetime and forgotten then (decision V1)', async () => {
    const { mempool, bed } = await setUp({ folder: await newFolder(), mempool: { statuses: { lifetime: 7_200 } } });
    await stored(mempool, 0);
    const tx = send(alice, 0, bob);
    await mempool.submit([tx]);
    await stored(mempool, 1);
    const refused = send(alice, 0, alice);
    await expect(mempool.submit([refused])).rejects.toMatchObject({ code: 'unknown_input' });
    const hashes = [transactionHash(tx), transactionHash(refused)];
    await bed.clock.advance(3_600_000);
    expect((await mempool.statuses(hashes)).size).toBe(2);
    // The node looks once an hour, and reads the disk when it does.
    const left = async (): Promise<number> => {
      await bed.clock.advance(3_600_000);
      return (await mempool.statuses(hashes)).size;
    };
    await expect.poll(left).toBe(0);
  });
});

describe('wallets at the other end of a link', () => {
  it('are answered and told of blocks', async () => {
    const { mempool, bed, network } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    const user = bed.node('user', { role: 'user' });
    const mined: number[] = [];
    user.handle('block.mined', (_link, { body, attachment }) => {
      expect(blockHash(decodeFullBlock(attachment).block.header)).toBe(body.hash);
      mined.push(body.block_num);
      return undefined;
    });
    await user.start();
    const link = await user.dial(network.address, { timeoutMs: 5_000 });
    const utxos = await link.request('utxos.get', { addresses: [alice.address] });
    expect(utxos.body).toEqual({ block_num: 0, hash: expect.any(String) });
    expect(decodeUtxos(utxos.attachment).map(([outPoint]) => outPoint)).toEqual([genesisOut(0)]);

    const tx = send(alice, 0, bob);
    const ok = await link.request('transactions.submit', {}, { attachment: encodeTransactions([tx]) });
    expect(ok.body).toEqual({ accepted: true, code: '', detail: '' });
    await stored(mempool, 1);
    await expect.poll(() => mined).toEqual([1]);
    const again = await link.request(
      'transactions.submit',
      {},
      { attachment: encodeTransactions([send(alice, 0, alice)]) },
    );
    expect(again.body).toMatchObject({ accepted: false, code: 'unknown_input' });
    const many = encodeTransactions(Array.from({ length: 1_001 }, () => tx));
    const tooMany = await link.request('transactions.submit', {}, { attachment: many });
    expect(tooMany.body).toMatchObject({ accepted: false, code: 'invalid_request' });
    const statuses = await link.request('statuses.get', { hashes: [transactionHash(tx), 'g00'] });
    expect(statuses.body).toMatchObject({ statuses: [{ hash: transactionHash(tx), status: 'Confirmed' }] });
  });

  it('create items too', async () => {
    const { mempool } = await setUp({ folder: await newFolder() });
    await stored(mempool, 0);
    const tx = createItemTransaction({ bNum: 0n, amount: 3n, spec: 'Default', metadata: null }, alice.key);
    await mempool.submit([tx]);
    await stored(mempool, 1);
    expect(mempool.balances([alice.address]).items).toEqual(new Map([['default_genesis_hash', 3n]]));
  });
});

function noSpace(): Error {
  return Object.assign(new Error('no space left on device, write'), { code: 'ENOSPC' });
}
