/**
 * What tessera rebuild has found in the old journal was acknowledged: it is submitted again, and kept until it has a
 * verdict.
 */

import { expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { encodeTransaction } from '../../src/chain/codec.js';
import { transactionHash } from '../../src/chain/hash.js';
import type { Transaction } from '../../src/chain/types.js';
import { DataDir } from '../../src/db/data-dir.js';
import type { Room } from '../../src/db/disk-room.js';
import { TesseraError } from '../../src/lib/errors.js';
import { SignalSource } from '../../src/lib/signal.js';
import { keys } from '../../src/mempool/state/layout.js';
import { joinTransactions } from '../../src/peers/payloads.js';
import { pay, payment } from '../support/mempool.js';
import { nextOf } from '../support/peers.js';
import { alice, bob, cleanups, newFolder, send, setUp, stored } from './running.js';

/** A disk below its mark, until it gets room. */
class FullDisk implements Room {
  readonly isBack = new SignalSource<void>();
  readonly asked = new SignalSource<void>();
  isLow = true;

  check(): void {
    if (!this.isLow) return;
    this.asked.emit();
    throw new TesseraError('write_failed', 'the disk has no room');
  }

  getRoom(): void {
    this.isLow = false;
    this.isBack.emit();
  }
}

it('waits for room on the disk, and is in a block then (rule P1)', async () => {
  const folder = await newFolder();
  const tx = send(alice, 0, bob);
  const directory = await DataDir.open(folder, { role: 'mempool', networkName: 'test' });
  const kv = await directory.open('mempool');
  await kv.write(kv.batch().put(keys.carried(0), joinTransactions([encodeTransaction(tx)])), { sync: true });
  await directory.close();

  const room = new FullDisk();
  const wasAsked = new Promise<void>((resolve) => room.asked.on(() => resolve()));
  const { mempool } = await setUp({ folder, room });
  // Block 0 waits for room, too: nothing is submitted before somebody can be told that a block may be made.
  await wasAsked;
  room.getRoom();
  await stored(mempool, 1);
  const hash = transactionHash(tx);
  expect((await mempool.statuses([hash])).get(hash)).toMatchObject({ status: 'Confirmed' });
});

it('is admitted though it was written before what it spends from', async () => {
  const folder = await newFolder();
  const parent = send(alice, 0, bob);
  const spend = (from: Transaction): Transaction =>
    payment({
      from: bob,
      inputs: [{ tHash: transactionHash(from), n: 0 }],
      outputs: [{ ...pay(bob, 0n), value: from.outputs[0]?.value ?? tokenAsset(0n) }],
    });
  const child = spend(parent);
  const grandchild = spend(child);
  const lost = spend(spend(send(bob, 1, alice)));
  const before = await setUp({ folder });
  await stored(before.mempool, 0);
  await before.close();
  const directory = await DataDir.open(folder, { role: 'mempool', networkName: 'test' });
  const kv = await directory.open('mempool');
  const batch = kv.batch();
  for (const [number, tx] of [grandchild, lost, child, parent].entries()) {
    batch.put(keys.carried(number), joinTransactions([encodeTransaction(tx)]));
  }
  await kv.write(batch, { sync: true });
  await directory.close();

  const { mempool, close } = await setUp({ folder });
  const statusOf = async (tx: Transaction) => {
    const hash = transactionHash(tx);
    return (await mempool.statuses([hash])).get(hash)?.status;
  };
  for (;;) {
    const next = nextOf(mempool.blockConfirmed);
    if ((await statusOf(grandchild)) === 'Confirmed') break;
    await next;
  }
  expect(await statusOf(parent)).toBe('Confirmed');
  expect(await statusOf(child)).toBe('Confirmed');
  expect(await statusOf(lost)).toBe('Rejected');
  await close();
  const reopened = await DataDir.open(folder, { role: 'mempool', networkName: 'test' });
  cleanups.push(() => reopened.close());
  const left = await reopened.open('mempool');
  for (let number = 0; number < 4; number++) expect(await left.get(keys.carried(number))).toBeUndefined();
});
