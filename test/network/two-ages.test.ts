/**
 * A mempool and storage nodes that stand at different blocks, with real state, journal and archive on links in memory
 * (docs/adr/0011-two-ages-converge.md).
 */

import { describe, expect, it } from 'vitest';
import type { Kv } from '../../src/db/kv.js';
import { silentLogger } from '../../src/lib/logger.js';
import type { Mempool } from '../../src/mempool/mempool.js';
import type { PeerNetwork } from '../../src/peers/network.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { RunningStorageService } from '../../src/storage/storage-service.js';
import { alice, atEnd, bob, newFolder, type Setup, send, setUp, stored } from '../mempool/running.js';
import { MemoryKv } from '../support/memory-kv.js';
import { candidate, chainFor, genesisOut, pay, payment, rulesFor } from '../support/mempool.js';
import { type Bed, SECRET } from '../support/peers.js';

const { rules } = chainFor(rulesFor([alice, bob]));

interface StorageNode {
  readonly archive: Archive;
  readonly service: RunningStorageService;
  readonly network: PeerNetwork;
}

async function openStorage(bed: Bed, kv: Kv, name = 'storage'): Promise<StorageNode> {
  const network = bed.node(name, { role: 'storage', secret: SECRET });
  const archive = await Archive.open({ rules }, { kv });
  const modules = { archive, network, clock: bed.clock, logger: silentLogger };
  const service = new RunningStorageService({ producers: undefined }, modules);
  await network.start();
  await service.start();
  atEnd(() => service.stop());
  return { archive, service, network };
}

/** A storage node in the mempool's network. */
async function addArchive({ bed, network }: Setup, kv: Kv, name?: string): Promise<StorageNode> {
  const storage = await openStorage(bed, kv, name);
  await storage.network.dial(network.address, { timeoutMs: 5_000 });
  return storage;
}

async function copyOf(kv: Kv): Promise<MemoryKv> {
  const copy = new MemoryKv();
  const batch = copy.batch();
  for await (const [key, value] of kv.entries({ gte: new Uint8Array(), lt: Uint8Array.of(0xff) }))
    batch.put(key, value);
  await copy.write(batch, { sync: false });
  return copy;
}

/** A chain of so many blocks, made by a mempool that has ended; archives as they were after each of them, or after some. */
async function makeChain(
  folder: string,
  blocks: number,
  isCopied: (height: number) => boolean = () => true,
): Promise<{ kvs: MemoryKv[]; digest: string; hash: string }> {
  const made = await setUp({ folder, storage: false, miners: ['m1', 'm2'] });
  const kv = new MemoryKv();
  const storage = await addArchive(made, kv);
  const kvs: MemoryKv[] = [];
  let coin = genesisOut(1);
  for (let height = 0; height < blocks; height++) {
    if (height > 0) {
      const tx = payment({ from: bob, inputs: [coin], outputs: [pay(bob, 1_000_000n)] });
      await made.mempool.submit([tx]);
      coin = { tHash: candidate(tx).hash, n: 0 };
    }
    await stored(made.mempool, height);
    if (isCopied(height)) kvs.push(await copyOf(kv));
  }
  const digest = made.mempool.digest();
  await made.close();
  return { kvs, digest, hash: storage.archive.tip.hash ?? '' };
}

const heightOf = (mempool: Mempool): number => mempool.figures().height;

describe('a mempool node', () => {
  it('that has lost its folder takes its state from storage, and it is the same (rule P2)', async () => {
    const { kvs, digest } = await makeChain(await newFolder(), 3);
    const again = await setUp({ folder: await newFolder(), storage: false });
    const announced: number[] = [];
    again.mempool.blockConfirmed.on(({ height }) => announced.push(height));
    await addArchive(again, kvs[2] as MemoryKv);
    await stored(again.mempool, 2);
    expect(again.mempool.digest()).toBe(digest);
    expect(announced).toEqual([0, 1, 2]);
    await expect.poll(() => again.mempool.figures().apart).toBeNull();
  });

  it('delivers what a storage node lacks, and goes on', async () => {
    const folder = await newFolder();
    const { kvs, hash } = await makeChain(folder, 2);
    const again = await setUp({ folder, storage: false });
    const { archive, service } = await addArchive(again, kvs[0] as MemoryKv);
    await expect.poll(() => archive.tip.hash).toBe(hash);
    await expect.poll(() => service.problem ?? again.mempool.figures().apart).toBeNull();
    await again.mempool.submit([send(alice, 0, bob)]);
    await stored(again.mempool, 2);
  });

  it('waits for another storage node when the only one lacks more than it keeps, and makes no other chain', async () => {
    const folder = await newFolder();
    const { kvs, hash } = await makeChain(folder, 67, (height) => height % 66 === 0);
    const again = await setUp({ folder, storage: false });
    const old = await addArchive(again, kvs[0] as MemoryKv, 'old');
    await again.mempool.submit([send(alice, 0, bob, 2)]);
    const waits = /lacks blocks 1 to 66: they must come from another storage node or a backup/;
    await expect.poll(() => again.mempool.figures().apart).toMatch(waits);
    await expect.poll(() => old.service.problem).toMatch(/^blocks 1 to 66 are missing here/);
    await again.bed.clock.advance(60_000);
    expect([heightOf(again.mempool), old.archive.nextHeight]).toEqual([66, 1]);
    // A storage node that has them, such as a restored backup, ends it.
    const whole = await addArchive(again, kvs[1] as MemoryKv, 'whole');
    await old.network.dial(whole.network.address, { timeoutMs: 5_000 });
    await expect.poll(() => old.archive.nextHeight, { timeout: 60_000 }).toBeGreaterThanOrEqual(67);
    expect(await old.archive.hashAt(66)).toBe(hash);
    await stored(again.mempool, 67);
  });

  it('goes by the storage node that has most, whatever another one lacks', async () => {
    const folder = await newFolder();
    const { kvs } = await makeChain(folder, 2);
    const again = await setUp({ folder: await newFolder(), storage: false });
    const old = await addArchive(again, kvs[0] as MemoryKv, 'old');
    await addArchive(again, kvs[1] as MemoryKv, 'new');
    await stored(again.mempool, 1);
    await again.mempool.submit([send(alice, 0, bob)]);
    await stored(again.mempool, 2);
    await expect.poll(() => old.archive.nextHeight).toBe(3);
  });

  it('waits at its start for the storage nodes that are configured, for five seconds', async () => {
    const folder = await newFolder();
    const { kvs } = await makeChain(folder, 2);
    const chain = { ...chainFor(rulesFor([alice, bob])), storageNodes: 2 };
    const again = await setUp({ folder, storage: false, mempool: { chain } });
    await addArchive(again, kvs[1] as MemoryKv);
    await again.mempool.submit([send(alice, 0, bob, 2)]);
    await again.bed.clock.advance(4_000);
    expect(heightOf(again.mempool)).toBe(1);
    await again.bed.clock.advance(1_000);
    await stored(again.mempool, 2);
  });

  it('takes no transactions while blocks are missing, and names both heights', async () => {
    const again = await setUp({ folder: await newFolder(), storage: false });
    const silent = again.bed.node('silent', { role: 'storage', secret: SECRET });
    silent.handle('chain.tip.get', () => ({ type: 'chain.tip', body: { next: 5, hash: 'b1' } }));
    silent.handle('blocks.get', () => new Promise(() => undefined));
    silent.handle('chain.tip', () => undefined);
    await silent.start();
    await silent.dial(again.network.address, { timeoutMs: 5_000 });
    await expect.poll(() => again.mempool.figures().apart).toMatch(/at block -1 and storage at block 4/);
    await expect(again.mempool.submit([send(alice, 0, bob)])).rejects.toMatchObject({ code: 'mempool_unreachable' });
  });

  it('ends with other_chain when storage has other blocks, and changes nothing', async () => {
    const { kvs } = await makeChain(await newFolder(), 3);
    const folder = await newFolder();
    const other = await setUp({ folder, miners: ['m7'] });
    await stored(other.mempool, 0);
    await other.close();
    const again = await setUp({ folder, storage: false, miners: ['m7'] });
    const ended = again.mempool.failed.catch((error: unknown) => error);
    const { archive, service } = await addArchive(again, kvs[2] as MemoryKv);
    const before = archive.tip.hash;
    await expect.poll(() => again.mempool.figures().apart).toContain('other blocks');
    await again.bed.clock.advance(10_000);
    expect(await ended).toMatchObject({ code: 'other_chain', message: expect.stringContaining('tessera rebuild') });
    expect(heightOf(again.mempool)).toBe(0);
    expect(archive.tip.hash).toBe(before);
    expect(service.problem).toContain('different chains');
  });
});
