/** A mempool node takes the state of another one (docs/adr/0042-snapshots-and-trimming.md). */

import { describe, expect, it } from 'vitest';
import { DataDir } from '../../src/db/data-dir.js';
import type { Kv } from '../../src/db/kv.js';
import { TesseraError } from '../../src/lib/errors.js';
import {
  beginTaking,
  endTaking,
  isBeingTaken,
  RecordReader,
  WHOLE,
  writeRecord,
} from '../../src/mempool/replicas/snapshot-records.js';
import { takeSnapshot } from '../../src/mempool/replicas/take-snapshot.js';
import { keys } from '../../src/mempool/state/layout.js';
import { SNAPSHOT_PART_BYTES } from '../../src/peers/messages.js';
import type { Link, Message, PeerNetwork } from '../../src/peers/network.js';
import { MemoryKv } from '../support/memory-kv.js';
import { type Bed, SECRET } from '../support/peers.js';
import { createStateGiver, type StateGiverOptions } from '../support/state-giver.js';
import { atEnd, newFolder } from './running.js';

interface Pair {
  readonly bed: Bed;
  readonly source: Kv;
  readonly target: Kv;
  readonly giver: PeerNetwork;
  readonly link: () => Promise<Link>;
}

async function setUpPair(source: Kv, options: StateGiverOptions = {}): Promise<Pair> {
  const { bed, giver, taker, stop } = await createStateGiver(source, options);
  atEnd(stop);
  return { bed, source, target: new MemoryKv(), giver, link: () => taker.dial(giver.address, { timeoutMs: 5_000 }) };
}

/** A state of a few parts, with a record that is larger than a part. */
async function filled(): Promise<Kv> {
  const kv = new MemoryKv();
  const batch = kv.batch();
  for (let n = 0; n < 500; n++) batch.put(keys.utxo({ tHash: `t${n}`, n }), Buffer.alloc(2_000, n));
  batch.put(keys.kept(7), Buffer.alloc(3 * SNAPSHOT_PART_BYTES, 7));
  batch.put(keys.head, Buffer.from('head'));
  batch.put(keys.carried(1), Buffer.from('of this folder only'));
  await kv.write(batch, { sync: true });
  return kv;
}

async function recordsOf(kv: Kv): Promise<Map<string, string>> {
  const records = new Map<string, string>();
  for await (const [key, value] of kv.entries(WHOLE)) {
    records.set(Buffer.from(key).toString('hex'), Buffer.from(value).toString('base64'));
  }
  return records;
}

const source = ({ link }: Pair, more: Partial<Parameters<typeof takeSnapshot>[1]> = {}) => ({
  link,
  signal: new AbortController().signal,
  onProgress: () => undefined,
  ...more,
});

describe('a snapshot', () => {
  it('gives all records but those of the folder itself, whatever was there before', async () => {
    const pair = await setUpPair(await filled());
    const { target } = pair;
    await target.write(target.batch().put(keys.status('old'), Buffer.from('gone')), { sync: true });
    await takeSnapshot(target, source(pair));
    const expected = await recordsOf(pair.source);
    expected.delete(Buffer.from(keys.carried(1)).toString('hex'));
    expected.set(Buffer.from(keys.taking).toString('hex'), '');
    expect(await recordsOf(target)).toEqual(expected);
    expect(await isBeingTaken(target)).toBe(true);
    await endTaking(target);
    expect(await isBeingTaken(target)).toBe(false);
  });

  it('is of the moment when the first part was asked for, whatever is written meanwhile', async () => {
    const folder = await newFolder();
    const dataDir = await DataDir.open(folder, { role: 'mempool', networkName: 'test' });
    atEnd(() => dataDir.close());
    const kv = await dataDir.open('mempool');
    const batch = kv.batch();
    for await (const [key, value] of (await filled()).entries(WHOLE)) batch.put(key, value);
    await kv.write(batch, { sync: true });
    const before = await recordsOf(kv);
    const pair = await setUpPair(kv);
    let isChanged = false;
    const link = async (): Promise<Link> => {
      if (isChanged) {
        const change = kv
          .batch()
          .put(keys.head, Buffer.from('another'))
          .del(keys.utxo({ tHash: 't499', n: 499 }));
        await kv.write(change, { sync: true });
      }
      isChanged = true;
      return pair.link();
    };
    await takeSnapshot(pair.target, source(pair, { link }));
    const taken = await recordsOf(pair.target);
    for (const key of [keys.head, keys.utxo({ tHash: 't499', n: 499 })]) {
      const name = Buffer.from(key).toString('hex');
      expect(taken.get(name)).toBe(before.get(name));
    }
  });

  it('ends when the disk refuses a write meanwhile, also when it has recovered, and begins anew', async () => {
    const store = { problem: null, refusals: 0, flush: async () => true };
    const { link } = await setUpPair(await filled(), { store });
    const asking = await link();
    const first = (await asking.request('snapshot.get', { part: 0 })) as Message<'snapshot.part'>;
    store.refusals++;
    const { transfer } = first.body;
    const next = (): Promise<unknown> => asking.request('snapshot.get', { transfer, part: 1 });
    await expect(next()).rejects.toThrow(/has refused a write meanwhile/);
    await expect(next()).rejects.toThrow(/that transfer has ended/);
    expect(await asking.request('snapshot.get', { part: 0 })).toMatchObject({ body: { part: 0 } });
  });

  it('goes on over a new link when one breaks', async () => {
    const pair = await setUpPair(await filled());
    let asked = 0;
    const link = async (): Promise<Link> => {
      const opened = await pair.link();
      if (++asked % 2 === 0) opened.close('the test breaks it');
      return opened;
    };
    await takeSnapshot(pair.target, source(pair, { link }));
    await endTaking(pair.target);
    expect((await recordsOf(pair.target)).size).toBe((await recordsOf(pair.source)).size - 1);
  });

  it('that is cut off, or is damaged on its way, is told from a whole one', async () => {
    const pair = await setUpPair(await filled());
    for (const spoil of ['cut', 'flip'] as const) {
      const link = async (): Promise<Link> => {
        const real = await pair.link();
        const request: Link['request'] = async (type, body, options) => {
          const reply = (await real.request(type, body, options)) as Message<'snapshot.part'>;
          if (reply.body.part < 2) return reply;
          if (spoil === 'cut') throw new TesseraError('entry_not_found', 'that transfer has ended');
          const attachment = Uint8Array.from(reply.attachment);
          attachment[SNAPSHOT_PART_BYTES >> 1] = (attachment[SNAPSHOT_PART_BYTES >> 1] ?? 0) ^ 1;
          return { ...reply, attachment };
        };
        return { ...real, role: real.role, trusted: real.trusted, request } as Link;
      };
      const code = spoil === 'cut' ? 'entry_not_found' : 'protocol_violation';
      await expect(takeSnapshot(pair.target, source(pair, { link }))).rejects.toMatchObject({ code });
      expect(await isBeingTaken(pair.target)).toBe(true);
    }
    await takeSnapshot(pair.target, source(pair));
    await endTaking(pair.target);
    expect((await recordsOf(pair.target)).size).toBe((await recordsOf(pair.source)).size - 1);
  });

  it('is not given to a node without the secret', async () => {
    const pair = await setUpPair(await filled(), { secret: 'another secret of this length' });
    await expect(takeSnapshot(pair.target, source(pair))).rejects.toMatchObject({ code: expect.stringMatching(/./) });
    expect(await recordsOf(pair.target)).toEqual(new Map());
  });

  it('is given to one node at a time, and another one gets its turn when the first is silent', async () => {
    const pair = await setUpPair(await filled());
    const { bed, giver } = pair;
    const other = bed.node('other', { role: 'mempool', secret: SECRET });
    await (await pair.link()).request('snapshot.get', { part: 0 });
    const link = () => other.dial(giver.address, { timeoutMs: 5_000 });
    await expect((await link()).request('snapshot.get', { part: 0 })).rejects.toMatchObject({ code: 'overloaded' });
    await bed.clock.advance(60_000);
    await expect
      .poll(async () => (await (await link()).request('snapshot.get', { part: 0 })).type, { timeout: 60_000 })
      .toBe('snapshot.part');
  });

  it('keeps transactions of an older folder when it is emptied for it', async () => {
    const kv = await filled();
    await beginTaking(kv);
    const left = [...(await recordsOf(kv)).keys()].sort();
    expect(left).toEqual([keys.taking, keys.carried(1)].map((key) => Buffer.from(key).toString('hex')).sort());
  });
});

describe('the records of a snapshot', () => {
  it('are read from any pieces', () => {
    const all = Buffer.concat([1, 300, 0].map((size, i) => writeRecord(Uint8Array.of(i + 1), Buffer.alloc(size, i))));
    for (let step = 1; step < 40; step++) {
      const reader = new RecordReader();
      const found: [number, number][] = [];
      for (let at = 0; at < all.length; at += step) {
        for (const [key, value] of reader.read(all.subarray(at, at + step))) found.push([key[0] ?? 0, value.length]);
      }
      expect(found).toEqual([
        [1, 1],
        [2, 300],
        [3, 0],
      ]);
      expect(reader.isAtEnd).toBe(true);
    }
  });

  it('of impossible sizes are refused before room is made for them', () => {
    const huge = Buffer.alloc(8);
    huge.writeUInt32BE(1, 0);
    huge.writeUInt32BE(0xffff_ffff, 4);
    expect(() => [...new RecordReader().read(huge)]).toThrow(/4294967295 of value/);
  });
});
