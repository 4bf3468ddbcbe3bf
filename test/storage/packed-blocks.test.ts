/** Storage nodes with segments give each other the records of their segments as they are, and believe nothing of them. */

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { joinBlocks, type MessageBody, splitBlocks } from '../../src/peers/messages.js';
import type { Reply } from '../../src/peers/network.js';
import { pack, unpack } from '../../src/storage/segments/pack.js';
import { readRecord, recordPieces, type SegmentBlock } from '../../src/storage/segments/record.js';
import { Segments } from '../../src/storage/segments/segments.js';
import { ManualClock } from '../support/manual-clock.js';
import { connect } from '../support/storage/fake-network.js';
import { createStorageNode, type StorageNode } from '../support/storage/storage-node.js';
import { createTestChain, type TestChain } from '../support/storage/test-chain.js';

const BLOCKS = 9;

let clock: ManualClock;
let chain: TestChain;
let folder: string;
let opened: Segments[];

beforeEach(async () => {
  clock = new ManualClock();
  chain = createTestChain();
  folder = await mkdtemp(join(tmpdir(), 'tessera-packed-'));
  opened = [];
});

afterEach(async () => {
  for (const segments of opened) await segments.close();
  await rm(folder, { recursive: true });
});

async function nodeWithSegments(name: string): Promise<StorageNode> {
  const segments = await Segments.open(join(folder, name), { maxBytes: 8_000 });
  opened.push(segments);
  return createStorageNode(name, clock, undefined, undefined, undefined, undefined, undefined, segments);
}

/** Bytes of all files of segments, by name. */
async function filesOf(name: string): Promise<Record<string, string>> {
  const names = (await readdir(join(folder, name))).sort();
  const read = async (one: string) => [one, (await readFile(join(folder, name, one))).toString('hex')] as const;
  return Object.fromEntries(await Promise.all(names.map(read)));
}

/** What the answers of a node with blocks say of being packed, one for each; `change` is made to each record. */
function watched(node: StorageNode, change: (record: SegmentBlock) => SegmentBlock | Uint8Array = (record) => record) {
  const packed: (boolean | undefined)[] = [];
  node.node.tamper = (reply: Reply): Reply => {
    if (reply.type !== 'blocks') return reply;
    const body = reply.body as MessageBody<'blocks'>;
    packed.push(body.packed);
    if (body.packed !== true) return reply;
    const records = splitBlocks(reply.attachment ?? new Uint8Array(), body.count).map((bytes) => {
      const changed = change(readRecord(bytes) as SegmentBlock);
      return changed instanceof Uint8Array ? changed : Buffer.concat([...recordPieces(changed)]);
    });
    return { ...reply, attachment: joinBlocks(records) };
  };
  return packed;
}

/** The same bytes in a form that is not the one of `pack`: all plain, a byte each. */
const spelledOut = (packed: Uint8Array): Buffer => Buffer.from([...unpack(packed)].flatMap((byte) => [0, byte]));

async function caughtUp(giver: StorageNode, taker: StorageNode): Promise<void> {
  await taker.service.start();
  connect(taker.node, giver.node, clock);
  await taker.until(BLOCKS);
  await taker.service.stop();
}

describe('a storage node with segments that catches up', () => {
  it('gets records as they are, and has the same files', async () => {
    const [giver, taker] = [await nodeWithSegments('giver'), await nodeWithSegments('taker')];
    await giver.fill(chain, BLOCKS);
    const packed = watched(giver);
    await caughtUp(giver, taker);
    expect(packed.length).toBeGreaterThan(1);
    expect(packed.every((one) => one === true)).toBe(true);
    const files = await filesOf('giver');
    expect(Object.keys(files).length).toBeGreaterThan(2);
    expect(await filesOf('taker')).toEqual(files);
  });

  it('writes its own form where the form that came is another one of the same bytes', async () => {
    const [giver, taker] = [await nodeWithSegments('giver'), await nodeWithSegments('taker')];
    await giver.fill(chain, BLOCKS);
    watched(giver, (record) => ({
      ...record,
      block: spelledOut(record.block),
      transactions: record.transactions.map(spelledOut),
    }));
    await caughtUp(giver, taker);
    expect(await filesOf('taker')).toEqual(await filesOf('giver'));
  });

  it('writes the same where transactions that came are divided at other places', async () => {
    const [giver, taker] = [await nodeWithSegments('giver'), await nodeWithSegments('taker')];
    await giver.fill(chain, BLOCKS);
    watched(giver, (record) => {
      const [first = Buffer.alloc(0), ...rest] = record.transactions.map(unpack);
      const second = rest.shift();
      if (second === undefined) return record;
      const moved = [Buffer.concat([first, second.subarray(0, 5)]), second.subarray(5), ...rest];
      return { ...record, transactions: moved.map(pack) };
    });
    await caughtUp(giver, taker);
    expect(await filesOf('taker')).toEqual(await filesOf('giver'));
  });

  it('asks a node without segments, or of an older version, for the same blocks, and gets them encoded', async () => {
    const [giver, taker] = [await createStorageNode('giver', clock), await nodeWithSegments('taker')];
    await giver.fill(chain, BLOCKS);
    const packed = watched(giver);
    await caughtUp(giver, taker);
    expect(packed.every((one) => one === undefined)).toBe(true);
    expect(taker.archive.tip).toEqual(giver.archive.tip);
  });

  it('cuts a node off that sends another transaction, a damaged record, or one that grows without bound', async () => {
    const zeros = Buffer.alloc(2 * 1024 * 1024, 0xff);
    const changes: [(record: SegmentBlock) => SegmentBlock | Uint8Array, string | RegExp][] = [
      [(record) => ({ ...record, transactions: [...record.transactions].reverse() }), /./],
      [(record) => Buffer.concat([...recordPieces(record)]).fill(1, 200, 201), 'a record fails its checksum'],
      [
        (record) =>
          Buffer.concat([...recordPieces(record)]).map((byte, at, all) => (at === all.length - 20 ? byte ^ 1 : byte)),
        'a record fails its checksum',
      ],
      [(record) => ({ ...record, transactions: [zeros] }), 'a record unpacks to more bytes than a block may have'],
      [(record) => ({ ...record, transactions: [Buffer.of(0x80)] }), /./],
      [(record) => ({ ...record, transactions: [] }), /./],
    ];
    for (const [i, [change, reason]] of changes.entries()) {
      const [giver, taker] = [await nodeWithSegments(`giver ${i}`), await nodeWithSegments(`taker ${i}`)];
      await giver.fill(chain, BLOCKS);
      watched(giver, change);
      const reasons: string[] = [];
      taker.network.linkDown.on((down) => void reasons.push(down.reason));
      await taker.service.start();
      connect(taker.node, giver.node, clock);
      await expect.poll(() => reasons, { timeout: 60_000 }).toEqual([expect.stringMatching(reason)]);
      expect(taker.archive.nextHeight).toBeLessThan(2);
      await taker.service.stop();
    }
  });
});
