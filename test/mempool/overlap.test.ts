/** Block n + 1 is made while storage keeps block n (docs/adr/0044-rounds-that-overlap.md): a mempool with links to a miner and to storage. */

import { describe, expect, it } from 'vitest';
import { encodeTransaction } from '../../src/chain/codec.js';
import { transactionHash } from '../../src/chain/hash.js';
import type { FullBlock, Transaction } from '../../src/chain/types.js';
import type { Leadership } from '../../src/journal/journal.js';
import { toHex } from '../../src/lib/bytes.js';
import { createDeferred, type Deferred } from '../../src/lib/deferred.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { SignalSource } from '../../src/lib/signal.js';
import type { Mempool } from '../../src/mempool/mempool.js';
import { joinBlocks } from '../../src/peers/messages.js';
import type { Link, PeerNetwork } from '../../src/peers/network.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { decodeFullBlock } from '../support/full-block.js';
import { journalWith, openJournal } from '../support/journal.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, chainFor, mine, payment, rulesFor } from '../support/mempool.js';
import { followingBlock } from '../support/mempool-and-archive.js';
import { type Bed, SECRET } from '../support/peers.js';
import { alice, bob, newFolder, type Setup, type SetupOptions, send, setUp, stored } from './running.js';

const INTERVAL_MS = 10_000;
const paced = { instant: false, blockInterval: INTERVAL_MS, proofWindow: 0, minMiners: 1, partitionSize: 10 };

/** A storage node with an archive, which keeps blocks when it is told to. */
class Storage {
  readonly archive: Archive;
  /** Heights that it was sent, in order, and those that it refused. */
  readonly asked: number[] = [];
  readonly blocks: FullBlock[] = [];
  #gate: Deferred<void> | undefined;
  /** The rule that it names for the next blocks. */
  refuses: string | undefined;
  network: PeerNetwork | undefined;

  constructor(archive: Archive) {
    this.archive = archive;
  }

  static async create(): Promise<Storage> {
    const { rules } = chainFor(rulesFor([alice, bob]));
    return new Storage(await Archive.open({ rules }, { kv: new MemoryKv() }));
  }

  /** Keeps nothing until `release`. */
  hold(): void {
    this.#gate = createDeferred();
  }

  release(): void {
    this.#gate?.resolve();
    this.#gate = undefined;
  }

  /** One more block than the mempool knows: of another producer. */
  async keepRival(transactions: readonly Transaction[] = []): Promise<FullBlock> {
    const block = followingBlock(this.archive, this.blocks.at(-1), account('rival'), transactions);
    await this.#keep(block);
    return block;
  }

  async join(bed: Bed, mempools: readonly PeerNetwork[], name = 'storage'): Promise<void> {
    const network = bed.node(name, { role: 'storage', secret: SECRET });
    this.network = network;
    network.handle('chain.tip', () => undefined);
    network.handle('chain.tip.get', () => {
      const { next, hash } = this.archive.tip;
      return { type: 'chain.tip', body: { next, hash } };
    });
    network.handle('block.deliver', async (_link, { body, attachment }) => {
      const { block_num } = body;
      this.asked.push(block_num);
      await this.#gate?.promise;
      const refused = (reason: string, rule?: string) => ({
        type: 'block.refused' as const,
        body: { block_num, next: this.archive.nextHeight, reason, ...(rule && { rule }) },
      });
      if (this.refuses !== undefined) return refused('as the test wants', this.refuses);
      try {
        if (block_num === this.archive.nextHeight) await this.#keep(decodeFullBlock(attachment));
        const isKept = (await this.archive.hashAt(block_num)) === body.hash;
        return isKept ? { type: 'block.stored', body } : refused('another block is there');
      } catch (error) {
        if (!isTesseraError(error, 'block_refused')) throw error;
        return refused(error.message);
      }
    });
    network.handle('blocks.get', async (_link, { body: { from } }) => {
      const bytes = await this.archive.fullBlockBytes(from);
      return { type: 'blocks', body: { from, count: bytes ? 1 : 0 }, attachment: joinBlocks(bytes ? [bytes] : []) };
    });
    await network.start();
    for (const { address } of mempools) await network.dial(address, { timeoutMs: 5_000 });
  }

  async #keep(block: FullBlock): Promise<void> {
    await this.archive.store(block);
    this.blocks.push(block);
  }
}

/** A miner that proves every template at once; what it was told. */
class ScriptedMiner {
  readonly templates: number[] = [];
  readonly stops: number[] = [];
  /** Both, in order. */
  readonly told: string[] = [];
  /** Holds templates of this height and later back. */
  idleFrom = Number.POSITIVE_INFINITY;

  async join(bed: Bed, mempools: readonly PeerNetwork[], name = 'miner'): Promise<void> {
    const network = bed.node(name, { role: 'miner' });
    network.handle('mining.template', (link, { body, attachment }) => {
      this.templates.push(body.block_num);
      this.told.push(`template ${body.block_num}`);
      if (body.block_num < this.idleFrom) this.#prove(link, body.block_num, BigInt(body.reward), attachment);
      return undefined;
    });
    network.handle('mining.stop', (_link, { body }) => {
      this.stops.push(body.block_num);
      this.told.push(`stop ${body.block_num}`);
      return undefined;
    });
    network.handle('block.mined', () => undefined);
    await network.start();
    for (const { address } of mempools) {
      const link = await network.dial(address, { timeoutMs: 5_000 });
      await link.request('mining.join', {});
    }
  }

  #prove(link: Link, height: number, reward: bigint, template: Uint8Array): void {
    const { nonce, coinbase } = mine(template, reward, account('miner'));
    const proof = { block_num: height, nonce: toHex(nonce) };
    void link.request('mining.proof', proof, { attachment: encodeTransaction(coinbase) }).catch(() => undefined);
  }
}

interface Running extends Setup {
  readonly storage: Storage;
  readonly miner: ScriptedMiner;
}

/** Block 0 is stored. */
async function running(options: Partial<SetupOptions> = {}, storage?: Storage): Promise<Running> {
  const kept = storage ?? (await Storage.create());
  const setup = await setUp({ folder: await newFolder(), miners: [], storage: false, ...options });
  const miner = new ScriptedMiner();
  await kept.join(setup.bed, [setup.network]);
  await miner.join(setup.bed, [setup.network]);
  await stored(setup.mempool, 0);
  return { ...setup, storage: kept, miner };
}

const TIMEOUT = { timeout: 60_000 };
const statusOf = async (mempool: Mempool, tx: Transaction): Promise<string | undefined> =>
  (await mempool.statuses([transactionHash(tx)])).get(transactionHash(tx))?.status;

/** Block 1 has `first` and is with storage, block 2 is being mined with `second`; storage holds both back. */
async function overlapping({ mempool, storage, miner }: Running, first: Transaction, second: Transaction) {
  storage.hold();
  await mempool.submit([first]);
  await expect.poll(() => storage.asked.at(-1), TIMEOUT).toBe(1);
  await mempool.submit([second]);
  await expect.poll(() => miner.templates.at(-1), TIMEOUT).toBe(2);
}

/** Lets time pass until the block is stored. */
async function storedInTime({ bed, mempool }: Pick<Running, 'bed' | 'mempool'>, height: number): Promise<void> {
  const reached = async (): Promise<number> => {
    await bed.clock.advance(1_000);
    return mempool.figures().height;
  };
  await expect.poll(reached, TIMEOUT).toBeGreaterThanOrEqual(height);
}

const first = send(alice, 0, bob);
const second = send(bob, 1, alice);
/** Of what `second` pays. */
const third = payment({
  from: alice,
  inputs: [{ tHash: transactionHash(second), n: 0 }],
  outputs: second.outputs.slice(0, 1),
});

describe('a mempool whose storage node takes its time', () => {
  it('makes the next block meanwhile and no third one, and confirms none before it is stored (rule P1)', async () => {
    const all = await running();
    const { mempool, storage, miner, bed } = all;
    await overlapping(all, first, second);
    await mempool.submit([third]);
    await expect.poll(() => miner.stops.at(-1), TIMEOUT).toBe(2);
    await bed.clock.advance(INTERVAL_MS);
    expect(mempool.figures().height).toBe(0);
    expect([await statusOf(mempool, first), await statusOf(mempool, second)]).toEqual(['Pending', 'Pending']);
    expect([miner.templates, storage.asked]).toEqual([
      [0, 1, 2],
      [0, 1],
    ]);
    const confirmed: number[] = [];
    mempool.blockConfirmed.on(({ height }) => confirmed.push(height));
    storage.release();
    await expect.poll(() => confirmed, TIMEOUT).toEqual([1, 2, 3]);
    expect(storage.asked).toEqual([0, 1, 2, 3]);
    expect([await statusOf(mempool, first), await statusOf(mempool, second)]).toEqual(['Confirmed', 'Confirmed']);
  });

  it('is one block ahead at most, however long storage is silent', async () => {
    const { bed, mempool, storage, miner } = await running({ mempool: { blocks: paced } });
    storage.hold();
    for (let i = 0; i < 3; i++) await bed.clock.advance(INTERVAL_MS);
    await expect
      .poll(() => [miner.templates, storage.asked], TIMEOUT)
      .toEqual([
        [0, 1, 2],
        [0, 1],
      ]);
    await bed.clock.advance(INTERVAL_MS);
    expect([miner.templates, mempool.figures().height]).toEqual([[0, 1, 2], 0]);
    storage.release();
    await stored(mempool, 2);
    await bed.clock.advance(INTERVAL_MS);
    await stored(mempool, 3);
  });

  it('cuts nothing while no storage node is linked, and goes on when one is', async () => {
    const all = await running();
    const { mempool, storage, miner, bed, network } = all;
    storage.hold();
    await mempool.submit([first]);
    await expect.poll(() => storage.asked.at(-1), TIMEOUT).toBe(1);
    await storage.network?.stop();
    await expect.poll(() => [...network.links].filter(({ role }) => role === 'storage'), TIMEOUT).toEqual([]);
    await mempool.submit([second]);
    await bed.clock.advance(INTERVAL_MS);
    expect(miner.templates).toEqual([0, 1]);
    storage.release();
    await storage.join(bed, [network], 'storage again');
    await storedInTime(all, 2);
  });

  it('stands still one block later at most when storage refuses, says so, and goes on when that is mended', async () => {
    const all = await running();
    const { mempool, storage, miner, bed } = all;
    await overlapping(all, first, second);
    storage.refuses = 'supply';
    storage.release();
    await expect.poll(() => mempool.figures().notStored, TIMEOUT).toContain('block 1 is refused');
    await expect.poll(() => miner.stops.at(-1), TIMEOUT).toBe(2);
    await mempool.submit([send(bob, 1, alice, 1)]).catch(() => undefined);
    await bed.clock.advance(INTERVAL_MS);
    expect([miner.templates, new Set(storage.asked)]).toEqual([[0, 1, 2], new Set([0, 1])]);
    storage.refuses = undefined;
    await bed.clock.advance(60_000);
    await storedInTime(all, 2);
    expect(mempool.figures().notStored).toBeNull();
  });

  it('hears from storage alone that it has both: the answers were lost', async () => {
    const all = await running();
    const { storage, miner, network, bed } = all;
    await overlapping(all, first, second);
    await expect.poll(() => miner.stops.at(-1), TIMEOUT).toBe(2);
    // Its answer to the first block does not come back.
    await storage.network?.stop();
    await expect.poll(() => [...network.links].filter(({ role }) => role === 'storage'), TIMEOUT).toEqual([]);
    storage.release();
    await expect.poll(() => storage.archive.nextHeight, TIMEOUT).toBe(2);
    await storage.join(bed, [network], 'storage again');
    await storedInTime(all, 2);
    expect(storage.asked).toEqual([0, 1, 2]);
  });

  it('gives up both when storage has another block, tells the miners, and puts everything into the next ones', async () => {
    const all = await running();
    const { mempool, storage, miner } = all;
    miner.idleFrom = 2;
    await overlapping(all, first, second);
    await storage.keepRival();
    miner.idleFrom = Number.POSITIVE_INFINITY;
    storage.release();
    await storedInTime(all, 2);
    // It was told to stop before it got the other template.
    const [given, again] = [miner.told.indexOf('template 2'), miner.told.lastIndexOf('template 2')];
    expect(miner.told.slice(given, again)).toContain('stop 2');
    expect([await statusOf(mempool, first), await statusOf(mempool, second)]).toEqual(['Confirmed', 'Confirmed']);
    const [, rival, own] = storage.blocks;
    expect(rival?.block.transactions).toEqual([]);
    expect(own?.block.transactions).toEqual([first, second].map(transactionHash));
    await expect.poll(() => mempool.figures().apart, TIMEOUT).toBeNull();
  });

  it('goes on with both after a restart', async () => {
    const folder = await newFolder();
    const before = await running({ folder });
    await overlapping(before, first, second);
    await before.close();
    before.storage.release();
    const after = await setUp({ folder, miners: [], storage: false });
    expect(after.mempool.figures().height).toBe(0);
    const miner = new ScriptedMiner();
    await before.storage.join(after.bed, [after.network], 'storage again');
    await miner.join(after.bed, [after.network]);
    await storedInTime(after, 2);
    expect(before.storage.blocks.slice(1).map(({ block }) => block.transactions)).toEqual(
      [first, second].map((tx) => [transactionHash(tx)]),
    );
  });

  it('hands both over to another node that leads from then on, over the same journal', async () => {
    const journal = journalWith(await openJournal(new MemoryKv()), { isShared: true });
    const wrapJournal = () => journal;
    const leaders = [new Switch(true), new Switch(false)] as const;
    const one = await running({ wrapJournal, leadership: leaders[0], name: 'one' });
    const { bed, storage, miner } = one;
    const folder = await newFolder();
    const two = await setUp({
      bed,
      folder,
      wrapJournal,
      leadership: leaders[1],
      name: 'two',
      miners: [],
      storage: false,
    });
    await storage.network?.dial(two.network.address, { timeoutMs: 5_000 });
    await miner.join(bed, [two.network], 'miner of both');
    await overlapping(one, first, second);
    await expect.poll(() => miner.stops.at(-1), TIMEOUT).toBe(2);
    leaders[0].set(false);
    leaders[1].set(true);
    await two.mempool.submit([third]);
    storage.release();
    await storedInTime(two, 3);
    await expect.poll(() => one.mempool.digest(), TIMEOUT).toBe(two.mempool.digest());
    expect(storage.blocks.map(({ block }) => block.transactions)).toEqual([
      ['000000'],
      ...[first, second, third].map((tx) => [transactionHash(tx)]),
    ]);
  });
});

class Switch implements Leadership {
  readonly changed = new SignalSource<void>();
  readonly problem = null;
  leads: boolean;

  constructor(leads: boolean) {
    this.leads = leads;
  }

  set(leads: boolean): void {
    this.leads = leads;
    this.changed.emit();
  }
}
