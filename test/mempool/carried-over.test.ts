/**
 * What tessera rebuild has found in the old journal was acknowledged: it is submitted again, and kept until it has a
 * verdict.
 */

import { expect, it } from 'vitest';
import { encodeTransaction } from '../../src/chain/codec.js';
import { transactionHash } from '../../src/chain/hash.js';
import { DataDir } from '../../src/db/data-dir.js';
import type { Room } from '../../src/db/disk-room.js';
import { TesseraError } from '../../src/lib/errors.js';
import { SignalSource } from '../../src/lib/signal.js';
import { keys } from '../../src/mempool/state/layout.js';
import { joinTransactions } from '../../src/peers/payloads.js';
import { alice, bob, newFolder, send, setUp, stored } from './running.js';

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
