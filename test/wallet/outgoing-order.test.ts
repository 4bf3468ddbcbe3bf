import { describe, expect, it } from 'vitest';
import { transactionHash } from '../../src/chain/hash.js';
import type { Transaction } from '../../src/chain/types.js';
import { MetaStore } from '../../src/wallet/meta.js';
import { Outgoing } from '../../src/wallet/payments/outgoing.js';
import { WriteBuffer } from '../../src/wallet/write-buffer.js';
import { MemoryKv } from '../support/memory-kv.js';
import { NOBODY, paymentFromOutside, tokens } from '../support/wallet-fixtures.js';

/** A transaction that spends the first output of each of the others. */
function spending(...parents: readonly Transaction[]): Transaction {
  const made = paymentFromOutside([tokens(NOBODY, 1n)]);
  if (parents.length === 0) return made;
  const inputs = parents.map((parent) => ({ previousOut: { tHash: transactionHash(parent), n: 0 }, script: [] }));
  return { ...made, inputs };
}

async function queueOf(transactions: readonly Transaction[]): Promise<{ outgoing: Outgoing; hashes: string[] }> {
  const kv = new MemoryKv();
  const writes = new WriteBuffer(kv);
  const outgoing = await Outgoing.open(kv, writes, await MetaStore.open(kv, writes));
  const hashes = transactions.map((transaction) => transactionHash(transaction));
  transactions.forEach((transaction, i) => {
    outgoing.add({ hash: hashes[i] ?? '', transaction, kind: 'payment', peer: null, createdAt: 0 });
    outgoing.release(hashes[i] ?? '');
  });
  return { outgoing, hashes };
}

function takeAll(outgoing: Outgoing): string[] {
  const taken: string[] = [];
  for (let next = outgoing.takeQueued(); next; next = outgoing.takeQueued()) taken.push(next.hash);
  return taken;
}

describe('the order in which own transactions are sent (docs/wallet.md#payments)', () => {
  it('gives a child when its parents are admitted, and what does not depend on them at once', async () => {
    const [a, b] = [spending(), spending()];
    const both = spending(a, b);
    const last = spending(both);
    const other = spending();
    const { outgoing, hashes } = await queueOf([a, b, both, last, other]);
    const [hashA = '', hashB = '', hashBoth = '', hashLast = '', hashOther = ''] = hashes;
    expect(takeAll(outgoing)).toEqual([hashA, hashB, hashOther]);
    outgoing.mark(hashA, 'sent');
    expect(takeAll(outgoing)).toEqual([]);
    outgoing.mark(hashB, 'sent');
    expect(takeAll(outgoing)).toEqual([hashBoth]);
    // It may be in a block before the wallet hears that it was admitted.
    outgoing.mark(hashBoth, 'confirmed');
    expect(takeAll(outgoing)).toEqual([hashLast]);
  });

  it('holds a child back when its parent must be sent again', async () => {
    const parent = spending();
    const child = spending(parent);
    const { outgoing, hashes } = await queueOf([parent, child]);
    const [first = '', second = ''] = hashes;
    expect(takeAll(outgoing)).toEqual([first]);
    outgoing.mark(first, 'sent');
    expect(takeAll(outgoing)).toEqual([second]);
    outgoing.mark(second, 'sent');
    outgoing.mark(first, 'queued');
    outgoing.mark(second, 'queued');
    outgoing.release(second);
    expect(takeAll(outgoing)).toEqual([first]);
    outgoing.release(second);
    expect(takeAll(outgoing)).toEqual([]);
    outgoing.mark(first, 'sent');
    expect(takeAll(outgoing)).toEqual([second]);
  });
});
