/**
 * What tessera rebuild has found in the old journal was acknowledged: it is submitted again, and kept until it has a
 * verdict.
 */

import { expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { encodeTransaction } from '../../src/chain/codec.js';
import { joinTransactions } from '../../src/chain/decode-in-pieces.js';
import { transactionHash } from '../../src/chain/hash.js';
import type { Transaction } from '../../src/chain/types.js';
import { DataDir } from '../../src/db/data-dir.js';
import type { Room } from '../../src/db/disk-room.js';
import { TesseraError } from '../../src/lib/errors.js';
import { SignalSource } from '../../src/lib/signal.js';
import type { Mempool } from '../../src/mempool/mempool.js';
import { keys } from '../../src/mempool/state/layout.js';
import { genesisOut, pay, payment } from '../support/mempool.js';
import { nextOf } from '../support/peers.js';
import { alice, atEnd, bob, newFolder, send, setUp, stored } from './running.js';

/** A disk below its mark, until it gets room. */
class FullDisk implements Room {
  readonly ranLow = new SignalSource<void>();
  readonly isBack = new SignalSource<void>();
  readonly asked = new SignalSource<void>();
  isLow = true;
  readonly problems = [];

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

/** A folder whose mempool stands at block 0, with these groups from an old journal. */
async function carrying(groups: readonly (readonly Transaction[])[]): Promise<string> {
  const folder = await newFolder();
  const before = await setUp({ folder });
  await stored(before.mempool, 0);
  await before.close();
  const directory = await DataDir.open(folder, { role: 'mempool', networkName: 'test' });
  const kv = await directory.open('mempool');
  const batch = kv.batch();
  for (const [number, group] of groups.entries()) {
    batch.put(keys.carried(number), joinTransactions(group.map(encodeTransaction)));
  }
  await kv.write(batch, { sync: true });
  await directory.close();
  return folder;
}

async function statusOf(mempool: Mempool, tx: Transaction): Promise<string | undefined> {
  const hash = transactionHash(tx);
  return (await mempool.statuses([hash])).get(hash)?.status;
}

/** Resolves when the transaction is in a block. */
async function confirmed(mempool: Mempool, tx: Transaction): Promise<void> {
  for (;;) {
    const next = nextOf(mempool.blockConfirmed);
    if ((await statusOf(mempool, tx)) === 'Confirmed') return;
    await next;
  }
}

/** Bob passes on what he got as output 0. */
function passOn(from: Transaction): Transaction {
  const inputs = [{ tHash: transactionHash(from), n: 0 }];
  return payment({
    from: bob,
    inputs,
    outputs: [{ ...pay(bob, 0n), value: from.outputs[0]?.value ?? tokenAsset(0n) }],
  });
}

it('waits for room on the disk, and is in a block then (rule P1)', async () => {
  const tx = send(alice, 0, bob);
  const folder = await carrying([[tx]]);
  const room = new FullDisk();
  const wasAsked = new Promise<void>((resolve) => room.asked.on(() => resolve()));
  const { mempool } = await setUp({ folder, room });
  await wasAsked;
  room.getRoom();
  await stored(mempool, 1);
  const hash = transactionHash(tx);
  expect((await mempool.statuses([hash])).get(hash)).toMatchObject({ status: 'Confirmed' });
});

it('is admitted though it was written before what it spends from, and is not called Rejected meanwhile', async () => {
  const parent = send(alice, 0, bob);
  const child = passOn(parent);
  const grandchild = passOn(child);
  const lost = passOn(passOn(send(bob, 1, alice)));
  const folder = await carrying([grandchild, lost, child, parent].map((tx) => [tx]));
  const { mempool, close } = await setUp({ folder });
  const rejected: string[] = [];
  mempool.transactionRejected.on(({ hash }) => rejected.push(hash));
  await confirmed(mempool, grandchild);
  expect(await statusOf(mempool, parent)).toBe('Confirmed');
  expect(await statusOf(mempool, child)).toBe('Confirmed');
  await expect.poll(() => statusOf(mempool, lost), { timeout: 60_000 }).toBe('Rejected');
  expect(rejected).toEqual([transactionHash(lost)]);
  await close();
  const reopened = await DataDir.open(folder, { role: 'mempool', networkName: 'test' });
  atEnd(() => reopened.close());
  const left = await reopened.open('mempool');
  for (let number = 0; number < 4; number++) expect(await left.get(keys.carried(number))).toBeUndefined();
});

it('holds up nothing behind it when it cannot be admitted yet, and is after a block', async () => {
  const chain = [send(alice, 0, bob)];
  for (let i = 0; i < 5; i++) chain.push(passOn(chain.at(-1) as Transaction));
  const other = send(bob, 1, alice);
  const folder = await carrying([chain, [other]]);
  const pool = { maxTransactions: 1_000, maxBytes: 10_000_000, maxAncestors: 2 };
  const { mempool } = await setUp({ folder, mempool: { pool } });
  await confirmed(mempool, other);
  await confirmed(mempool, chain[5] as Transaction);
});

it('is judged by itself when the list that it was in cannot be admitted as one', async () => {
  const [spent, sound] = [send(alice, 0, bob), send(bob, 1, alice)];
  const rival = send(alice, 0, alice);
  const folder = await carrying([[rival], [spent, sound]]);
  const { mempool } = await setUp({ folder });
  await confirmed(mempool, sound);
  expect(await statusOf(mempool, spent)).toBe('Rejected');
  expect(await statusOf(mempool, rival)).toBe('Confirmed');
});

it('waits while what it spends is locked', async () => {
  const locked = payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n, 3n)] });
  const spend = passOn(locked);
  const folder = await carrying([[locked], [spend]]);
  const { mempool } = await setUp({ folder });
  await confirmed(mempool, locked);
  let last = send(bob, 1, bob);
  for (let height = 2; height <= 4; height++) {
    expect(await statusOf(mempool, spend)).not.toBe('Rejected');
    await mempool.submit([last]);
    await confirmed(mempool, last);
    last = passOn(last);
  }
  await confirmed(mempool, spend);
});
