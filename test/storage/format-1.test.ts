import { beforeEach, describe, expect, it } from 'vitest';
import { prefixRange } from '../../src/db/keys.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { BLOCKS, NAMES } from '../../src/storage/archive/layout.js';
import { encodeFullBlock } from '../support/full-block.js';
import { MemoryKv } from '../support/memory-kv.js';
import { toFormat1 } from '../support/storage/format-1.js';
import { createTestChain, payment, RULES } from '../support/storage/test-chain.js';

const OLDER = 3;
const LARGE = 70;
const chain = createTestChain().grow(1);
chain.add(Array.from({ length: LARGE }, (_, i) => payment(i + 1)));
chain.add();
chain.add(Array.from({ length: LARGE }, (_, i) => payment(LARGE + i + 1)));

let kv: MemoryKv;
let archive: Archive;

async function count(range: Parameters<MemoryKv['entries']>[0]): Promise<number> {
  let found = 0;
  for await (const _ of kv.entries(range)) found++;
  return found;
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');

async function expectWhole(): Promise<void> {
  for (const [height, full] of chain.blocks.entries()) {
    const hash = chain.hash(height);
    expect(Buffer.from((await archive.fullBlockBytes(height)) ?? [])).toEqual(Buffer.from(encodeFullBlock(full)));
    expect(await archive.hashAt(height)).toBe(hash);
    expect((await archive.blockAt(height))?.key).toBe(hash);
    expect((await archive.entry(hash))?.key).toBe(hash);
    const names = [...full.block.transactions, full.block.header.miningTxHash];
    const places = names.map((_, txNum) => ({ height, txNum }));
    expect(await archive.lookups.namesAt(places)).toEqual(names);
    for (const [txNum, name] of names.entries()) {
      expect((await archive.entry(`nIndexedTxHashKey_${hex(height, 16)}_${hex(txNum, 8)}`))?.key).toBe(name);
    }
    const beyond = `nIndexedTxHashKey_${hex(height, 16)}_${hex(names.length, 8)}`;
    expect(await archive.entry(beyond)).toBeUndefined();
  }
  expect(await archive.verify()).toMatchObject({ blocks: chain.blocks.length });
}

beforeEach(async () => {
  kv = new MemoryKv();
  const first = await Archive.open({ rules: RULES }, { kv });
  for (const block of chain.blocks.slice(0, OLDER)) await first.store(block);
});

describe('an archive', () => {
  it('has a block under its number, and 32 names of transactions in a record', async () => {
    archive = await Archive.open({ rules: RULES, cacheBytes: 1 }, { kv });
    for (const block of chain.blocks.slice(OLDER)) await archive.store(block);
    await expectWhole();
    expect(await count(BLOCKS)).toBe(chain.blocks.length);
    // Three for each of the large ones: 70 payments and a coinbase.
    expect(await count(NAMES)).toBe(chain.blocks.length + 4);
    expect(await count(prefixRange('i'))).toBe(0);
  });

  it('of data format 1 is read as it is, and goes on in the present one', async () => {
    await toFormat1(kv);
    expect(await count(BLOCKS)).toBe(0);
    archive = await Archive.open({ rules: RULES, cacheBytes: 1 }, { kv });
    for (const block of chain.blocks.slice(OLDER)) await archive.store(block);
    await expectWhole();
    expect(await count(BLOCKS)).toBe(chain.blocks.length - OLDER);
    // What was read of older blocks in one call, with those of a newer one.
    const places = [0, 1, 2, 3].map((height) => ({ height, txNum: 0 }));
    const names = places.map(({ height }) => chain.block(height).block.transactions[0]);
    expect(await archive.lookups.namesAt(places)).toEqual(names);
  });
});
