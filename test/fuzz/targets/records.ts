/**
 * What else comes back from a disk: records of the wallet and the archive, and the files that LevelDB wrote, which are read
 * before LevelDB is. They are refused with the code of their store (the readers of files: a `RangeError`, which their caller
 * makes `data_corrupt` of), or they are what was written.
 */

import { encodeBlock, encodeTransaction } from '../../../src/chain/codec.js';
import { blockHash, transactionHash, txsHash } from '../../../src/chain/hash.js';
import type { Kv } from '../../../src/db/kv.js';
import { readLog } from '../../../src/db/level-files/log.js';
import { checkTable, newestOfLastKey } from '../../../src/db/level-files/table.js';
import { readBatch } from '../../../src/db/level-files/varints.js';
import { decodeMark } from '../../../src/db/seal.js';
import { utf8 } from '../../../src/lib/bytes.js';
import * as archive from '../../../src/storage/archive/records.js';
import { type Coin, decodeCoin, encodeCoin } from '../../../src/wallet/coins/coin.js';
import { decodeDonationRequest, encodeDonationRequest } from '../../../src/wallet/donation-requests.js';
import { decodeKeptKey, encodeKeptKey } from '../../../src/wallet/idempotency-keys.js';
import { META_KEY, paymentKey } from '../../../src/wallet/layout.js';
import { MetaStore } from '../../../src/wallet/meta.js';
import { Outgoing } from '../../../src/wallet/payments/outgoing.js';
import { DONATION_OUTCOMES } from '../../../src/wallet/service.js';
import { WriteBuffer } from '../../../src/wallet/write-buffer.js';
import * as arbitraries from '../../support/arbitraries.js';
import { MemoryKv } from '../../support/memory-kv.js';
import { fc } from '../../support/property.js';
import { type Codec, codecOf, codecTarget, textCodecOf } from '../codecs.js';
import type { Dice } from '../dice.js';

const CODES = ['data_corrupt', 'wallet_unreadable'];
const text = fc.string({ maxLength: 40 });
const count = fc.nat();
const amount = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });

const coin: fc.Arbitrary<Coin> = fc
  .record({
    outPoint: arbitraries.outPoint,
    value: arbitraries.asset,
    address: text,
    arrival: count,
    locktime: amount,
    use: fc.constantFrom(
      { state: 'expected' as const, inChain: false },
      { state: 'unspent' as const, inChain: true },
      { state: 'pending' as const, inChain: false },
      { state: 'pending' as const, inChain: true },
      { state: 'spent' as const, inChain: true },
    ),
    by: fc.option(text),
  })
  .map(({ use, ...one }) => ({ ...one, ...use, key: '', amount: 0n, assetId: '' }));

/** A record that a store reads when it opens, and gives nothing of: it opens or says why not. */
function openedCodec(
  name: string,
  key: Uint8Array,
  sample: (dice: Dice) => Uint8Array,
  open: typeof openOutgoing,
): Codec {
  return {
    name,
    sample,
    async again(record) {
      const kv = new MemoryKv();
      await kv.write(kv.batch().put(key, record), { sync: true });
      await open(kv);
      return record;
    },
  };
}

async function openOutgoing(kv: Kv): Promise<void> {
  const writes = new WriteBuffer(kv);
  const outgoing = await Outgoing.open(kv, writes, await MetaStore.open(kv, writes));
  await outgoing.latest();
}

async function openMeta(kv: Kv): Promise<void> {
  await MetaStore.open(kv, new WriteBuffer(kv));
}

function ownTransaction(dice: Dice): Uint8Array {
  const head = Uint8Array.of(dice.below(4), dice.below(4), 0, 0, 0, 0, 0, 0, 0, 0, 0, ...new Uint8Array(16));
  return Buffer.concat([head, encodeTransaction(dice.sample(arbitraries.transaction))]);
}

function metaRecord(dice: Dice): Uint8Array {
  const members = { block: dice.below(9) - 1, arrivals: 0, spent: 0, payments: 1, rewardAddress: null, seeded: true };
  return utf8(JSON.stringify(members));
}

/** A name, which is ASCII. */
const nameIn = (bytes: Uint8Array, length: number): string => Buffer.from(bytes.subarray(0, length)).toString('latin1');

/** Records that name themselves: read under the name that their content has. */
const block: Codec = {
  name: 'block',
  sample(dice) {
    const { header, transactions } = dice.sample(arbitraries.block);
    const named = { ...header, bNum: header.bNum % 1_000n, txsHash: txsHash(transactions) };
    const record = archive.encodeBlockRecord(1n, encodeBlock({ header: named, transactions }));
    return Buffer.concat([utf8(blockHash(named)), record]);
  },
  again(bytes) {
    const found = archive.readBlockRecord(nameIn(bytes, 65), bytes.subarray(65));
    return Buffer.concat([bytes.subarray(0, 65), archive.encodeBlockRecord(found.issued, encodeBlock(found.block))]);
  },
};
const transaction: Codec = {
  name: 'transaction',
  sample(dice) {
    const tx = dice.sample(arbitraries.transaction);
    const record = archive.encodeTransactionRecord(dice.below(9), dice.below(9), encodeTransaction(tx));
    return Buffer.concat([utf8(transactionHash(tx)), record]);
  },
  again(bytes) {
    const found = archive.readTransactionRecord(nameIn(bytes, 32), bytes.subarray(32), []);
    const record = archive.encodeTransactionRecord(found.height, found.txNum, encodeTransaction(found.transaction));
    return Buffer.concat([bytes.subarray(0, 32), record]);
  },
};

const item: fc.Arbitrary<archive.ItemRecord> = fc.record({
  totalAmount: amount,
  height: count,
  txHash: text,
  metadata: fc.option(text),
  creatorAddress: fc.option(text),
});
/** A reader of files: what it finds damaged it says with a `RangeError`. */
function fileReader(name: string, read: (file: Buffer) => unknown): Codec {
  return {
    name,
    sample: (dice) => dice.bytes(dice.below(200)),
    again(bytes) {
      try {
        read(Buffer.from(bytes));
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
      }
      return bytes;
    },
  };
}

const table = { number: 1, size: 0, smallest: new Uint8Array(8), largest: new Uint8Array(8) };

const CODECS: readonly Codec[] = [
  codecOf('coin', coin, encodeCoin, (bytes) => decodeCoin('', bytes)),
  openedCodec('own transaction', paymentKey(0), ownTransaction, openOutgoing),
  openedCodec('counters', META_KEY, metaRecord, openMeta),
  block,
  transaction,
  codecOf(
    'last',
    fc.record({ height: count, hash: text }),
    ({ height, hash }) => archive.encodeLast(height, hash),
    archive.readLast,
  ),
  codecOf('names', fc.array(text), archive.encodeNames, (bytes) => archive.readNames(1, bytes)),
  textCodecOf('item', item, archive.encodeItemRecord, (bytes) => archive.readItemRecord('g', bytes)),
  fileReader('mark', decodeMark),
  fileReader('log', readLog),
  fileReader('batch', readBatch),
  fileReader('table', (file) => checkTable(file, { ...table, size: file.length })),
  fileReader('last key of a table', newestOfLastKey),
  codecOf(
    'donation request',
    fc.record({
      number: fc.constant(7),
      peer: text,
      askedAt: fc.nat(),
      outcome: fc.constantFrom(...DONATION_OUTCOMES),
      reason: text,
    }),
    encodeDonationRequest,
    (record) => decodeDonationRequest(7, record),
  ),
  codecOf('idempotency key', fc.record({ fingerprint: text, name: text }), encodeKeptKey, decodeKeptKey),
];

export const storedRecords = codecTarget('records', CODECS, CODES);
