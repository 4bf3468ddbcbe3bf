/**
 * The dearest legal message of every kind: how many milliseconds of the event loop its frame takes, how many the longest piece
 * in which its attachment is decoded, and how many it is booked with before anything is done for a sender without the secret
 * (`messages.ts`). What is done with it then is in pieces of its own: `requests`, `submission` and `block` measure that.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { decodeHeader, decodeTransaction, encodeHeader, encodeTransaction } from '../src/chain/codec.js';
import {
  decodeFullBlockInPieces,
  decodeTransactionsInPieces,
  decodeUtxos,
  encodeTransactions,
  encodeUtxos,
  type Turn,
} from '../src/chain/decode-in-pieces.js';
import type { Transaction } from '../src/chain/types.js';
import { fromHex } from '../src/lib/bytes.js';
import { systemClock } from '../src/lib/clock.js';
import { isTesseraError } from '../src/lib/errors.js';
import { TimeSlices } from '../src/lib/time-slices.js';
import { decodeMessage, readingCost, workCost } from '../src/peers/link/frames.js';
import {
  joinBlocks,
  MAX_BLOCKS_PER_ANSWER,
  MAX_HEADERS_PER_ANSWER,
  MAX_LIST,
  MAX_PAGE_OUTPUTS,
  MESSAGES,
  type MessageType,
  SNAPSHOT_PART_BYTES,
  splitBlocks,
} from '../src/peers/messages.js';
import { PERMISSIONS, type Permission } from '../src/peers/permissions.js';
import { encodeFullBlock } from '../test/support/full-block.js';
import { benchPayments } from './payments.js';
import { printSection, record } from './report.js';

/** Milliseconds of a unit of cost. */
const MS_PER_UNIT = 0.1;
const RUNS = 3;
const KIB = 1024;
/** Bytes of the smallest transaction, which is the dearest to read for its size. */
const EMPTY: Transaction = { inputs: [], outputs: [], version: 6n, fees: [], druidInfo: null };
const EMPTY_BYTES = 33;
const HASH = `b${'f'.repeat(64)}`;
/** Bytes of an envelope that is as large as one who asks may send, with what no schema names in it. */
const PADDING = 'x'.repeat(200 * KIB);

const HEADER = {
  version: 6,
  bits: 0n,
  nonce: fromHex('00'),
  miningTxHash: HASH.slice(0, 32),
  bNum: 1n,
  timestamp: 0n,
  difficulty: new Uint8Array(),
  seedValue: new Uint8Array(),
  previousHash: HASH,
  merkleRoot: HASH,
  txsHash: HASH,
};

interface Dearest {
  readonly body: object;
  readonly attachment?: Uint8Array;
  /** What is made of the attachment before anything else is done. */
  readonly read?: (attachment: Uint8Array, turn: Turn) => unknown;
}

const many = <T>(of: (i: number) => T): T[] => Array.from({ length: MAX_LIST }, (_, i) => of(i));

function dearest(): Readonly<Record<MessageType, Dearest>> {
  const submission = encodeTransactions(
    Array.from({ length: Math.floor((4 * KIB * KIB - 8) / EMPTY_BYTES) }, () => EMPTY),
  );
  const block = largestBlock();
  const utxos = encodeUtxos(
    Array.from({ length: MAX_PAGE_OUTPUTS }, (_, n) => [
      { tHash: HASH.slice(0, 32), n },
      {
        value: { kind: 'item', amount: 1n, genesisHash: HASH.slice(0, 32), metadata: 'm'.repeat(800) },
        locktime: 0n,
        scriptPublicKey: 'a'.repeat(64),
      },
    ]),
  );
  const blockBody = { block_num: 1, hash: HASH };
  const reason = 'r'.repeat(1_000);
  const named = many((i) => String(i).padStart(128, '0'));
  const round = { participants: named, proofs: named, asert_hashes: 1 };
  const padded = { body: { PADDING } };
  return {
    ...whatIsShort(reason),
    'mining.joined': padded,
    'mining.stop': { body: { block_num: 1, PADDING } },
    'chain.tip.get': padded,
    'snapshot.get': { body: { transfer: 'a'.repeat(32), part: 1, PADDING } },
    'snapshot.part': {
      body: { transfer: 'a'.repeat(32), part: 1, sha256: 'a'.repeat(64) },
      attachment: new Uint8Array(SNAPSHOT_PART_BYTES),
    },
    'headers.get': { body: { from: 0, count: MAX_HEADERS_PER_ANSWER, PADDING } },
    headers: {
      body: { from: 0, count: MAX_HEADERS_PER_ANSWER },
      attachment: joinBlocks(Array.from({ length: MAX_HEADERS_PER_ANSWER }, largestHeader)),
      read: (bytes) => splitBlocks(bytes, MAX_HEADERS_PER_ANSWER).map((one) => decodeHeader(one)),
    },
    'blocks.get': { body: { from: 0, count: MAX_BLOCKS_PER_ANSWER, PADDING } },
    'producer.get': padded,
    'address.get': padded,
    'trade.listed': padded,
    'trade.offer': { body: { document: 'd'.repeat(16 * KIB), PADDING } },
    'trade.accept': { body: { document: 'd'.repeat(16 * KIB), PADDING } },
    'trade.confirm': { body: { document: 'd'.repeat(16 * KIB), PADDING } },
    'donation.request': { body: { address: 'a'.repeat(64), PADDING } },
    'mining.join': { body: { PADDING } },
    'mining.template': {
      body: { block_num: 1, reward: '1' },
      attachment: new Uint8Array(64 * KIB),
      read: (bytes) => decodeHeader(bytes),
    },
    'mining.proof': {
      body: { block_num: 1, nonce: 'ab'.repeat(32) },
      attachment: encodeTransaction({ ...EMPTY, outputs: [], fees: [] }),
      read: decodeTransaction,
    },
    'block.deliver': { body: { ...blockBody, round }, attachment: block, read: decodeFullBlockInPieces },
    'block.mined': { body: blockBody, attachment: block, read: decodeFullBlockInPieces },
    blocks: {
      body: { from: 0, count: 1 },
      attachment: framed(block),
      read: (bytes, turn) => Promise.all(splitBlocks(bytes, 1).map((one) => decodeFullBlockInPieces(one, turn))),
    },
    'transactions.submit': { body: { PADDING }, attachment: submission, read: decodeTransactionsInPieces },
    'payment.sent': { body: { PADDING }, attachment: encodeTransaction(largestTransaction()), read: decodeTransaction },
    'utxos.get': { body: { addresses: many((i) => String(i).padStart(64, '0')) } },
    utxos: { body: { block_num: 1, hash: null }, attachment: utxos, read: decodeUtxos },
    'statuses.get': { body: { hashes: many((i) => String(i).padStart(128, '0')) } },
    statuses: { body: { statuses: many((i) => ({ hash: `g${i}`, status: 'Pending', info: 'i'.repeat(1_000) })) } },
  };
}

/** What has a few short members. */
function whatIsShort(reason: string) {
  const certificate = { key: 'ab'.repeat(32), signature: 'cd'.repeat(64) };
  return {
    'mining.verdict': { body: { accepted: false, reason } },
    'block.stored': { body: { block_num: 1, hash: HASH } },
    'block.refused': { body: { block_num: 1, next: 1, reason, rule: 'r'.repeat(32) } },
    'chain.tip': { body: { next: 1, hash: HASH, certificate } },
    producer: { body: { certificate } },
    'transactions.result': { body: { accepted: false, code: 'c'.repeat(64), detail: reason } },
    address: { body: { address: 'a'.repeat(64) } },
    'donation.reply': { body: { accepted: false, reason } },
    error: { body: { code: 'c'.repeat(64), detail: reason } },
  };
}

/** As many bytes as the headers of an answer may have, on average. */
function largestHeader(): Uint8Array {
  return encodeHeader({ ...HEADER, seedValue: new Uint8Array(15 * KIB) });
}

/** 512 KiB of inputs and outputs, as the mempool admits it. */
function largestTransaction(): Transaction {
  const [one] = benchPayments(0, 1);
  if (one === undefined) throw new Error('no payment');
  const copies = Math.floor((510 * KIB) / encodeTransaction(one).length);
  return { ...one, inputs: Array.from({ length: copies }, () => one.inputs).flat() };
}

/** 2,000 transactions of 16 KiB: as many bytes as a block may take. */
function largestBlock(): Uint8Array {
  const large = largestTransaction();
  const each = { ...large, inputs: large.inputs.slice(0, Math.floor(large.inputs.length / 32)) };
  const transactions = Array.from({ length: 2_000 }, () => each);
  const names = transactions.map(() => HASH.slice(0, 32));
  return encodeFullBlock({ block: { header: HEADER, transactions: names }, transactions, miningTransaction: EMPTY });
}

function framed(block: Uint8Array): Uint8Array {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(block.length);
  return Buffer.concat([length, block]);
}

function frameOf(type: MessageType, { body, attachment = new Uint8Array() }: Dearest): Uint8Array {
  const json = Buffer.from(JSON.stringify({ t: type, id: 1, b: body }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(json.length);
  return Buffer.concat([length, json, attachment]);
}

/** Least milliseconds of some runs. */
function msOf(work: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < RUNS; i++) {
    const begun = performance.now();
    try {
      work();
    } catch (error) {
      if (!isTesseraError(error)) throw error;
    }
    least = Math.min(least, performance.now() - begun);
  }
  return least;
}

/** Most milliseconds between two rounds of the event loop while something is decoded; the least of some runs. */
async function longestRoundOf(work: (turn: Turn) => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < RUNS; i++) {
    const slices = new TimeSlices(systemClock);
    let [longest, last, isRunning] = [0, performance.now(), true];
    const round = (): void => {
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
      if (isRunning) setImmediate(round);
    };
    setImmediate(round);
    try {
      await work(() => slices.turn());
    } catch (error) {
      if (!isTesseraError(error)) throw error;
    }
    await nextTurn();
    isRunning = false;
    least = Math.min(least, longest);
  }
  return least;
}

export async function messagesBench(): Promise<void> {
  printSection('the dearest message of every kind: milliseconds of event loop in one piece');
  const kinds = dearest();
  for (const type of Object.keys(MESSAGES) as MessageType[]) {
    const [permission]: readonly Permission[] = PERMISSIONS[type];
    const one = kinds[type];
    if (permission === undefined) continue;
    const [from, to] = [permission.from[0], permission.to[0]];
    if (from === undefined || to === undefined) continue;
    const frame = frameOf(type, one);
    const { message } = decodeMessage(frame, { from, to, standing: 'trusted' });
    const frameMs = msOf(() => decodeMessage(frame, { from, to, standing: 'trusted' }));
    const attachmentMs =
      one.read === undefined ? 0 : await longestRoundOf((turn) => one.read?.(message.attachment, turn));
    const booked = MS_PER_UNIT * (readingCost(message, frame.length) + workCost(message));
    const who =
      permission.standing === 'stranger' ? `booked ${booked.toFixed(1)} ms` : `from ${permission.standing} nodes only`;
    const figures = `${frameMs.toFixed(1).padStart(9)} ms frame${attachmentMs.toFixed(1).padStart(9)} ms attachment`;
    console.log(`  ${type.padEnd(22)}${String(Math.ceil(frame.length / KIB)).padStart(8)} KiB${figures}  (${who})`);
    record({ name: `${type}: frame`, value: frameMs, unit: 'ms' });
    record({ name: `${type}: attachment`, value: attachmentMs, unit: 'ms' });
  }
}
