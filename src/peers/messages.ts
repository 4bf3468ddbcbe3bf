/**
 * Every message of a link: the schema of its body, the bound of its attachment, and its cost; `permissions.ts` says who
 * may send it. A message that is in neither table, or breaks its schema or bound, closes the link. Attachments are
 * bincode (`chain/codec.ts`); hashes are the chain's texts; block numbers are safe integers.
 */

import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { MAX_TRANSACTION_BYTES } from '../chain/constants.js';
import { asBuffer, concatBytes } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import type { MessageType } from './permissions.js';

/** Bytes of a full block: up to 48 MiB of transactions (docs/adr/0032-blocks-of-a-network.md), and room for its other parts. */
export const MAX_BLOCK_BYTES = 64 * 1024 * 1024;
const MAX_SUBMISSION_BYTES = 4 * 1024 * 1024;
/** Bytes of one part of a snapshot; the last part may be smaller. */
export const SNAPSHOT_PART_BYTES = 1024 * 1024;
/** Most unspent outputs in one answer. */
export const MAX_PAGE_OUTPUTS = 1_000;
/** Most entries of one list in a body. */
export const MAX_LIST = 1_000;
/** Most blocks asked for at once during catch-up; the answer may have fewer. */
export const MAX_BLOCKS_PER_ANSWER = 64;
/** Most headers asked for at once; the answer may have fewer. */
export const MAX_HEADERS_PER_ANSWER = 256;
const MAX_HEADERS_BYTES = 4 * 1024 * 1024;

const BlockNum = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Hash = Type.String({ pattern: '^[\\x21-\\x7e]{1,128}$' });
const Address = Type.String({ pattern: '^[\\x21-\\x7e]{1,64}$' });
const Reason = Type.String({ maxLength: 1_000 });
const Empty = Type.Object({});
/** A u64 as decimal digits: JSON numbers end at 2^53. */
const U64 = Type.String({ pattern: '^[0-9]{1,20}$' });

const hexOf = (bytes: number) => Type.String({ pattern: `^[0-9a-f]{${bytes * 2}}$` });
/** An offer, acceptance or confirmation of a trade (wallet/trades/documents.ts). */
const TradeDocument = Type.String({ minLength: 2, maxLength: 16 * 1024 });
/** A transaction that creates items: metadata of at most 800 bytes, one key, one signature, one address. */
const Creation = Type.String({ pattern: '^([0-9a-f]{2}){1,4096}$' });
/** The signature of a producer (chain/certificate.ts). */
const Certificate = Type.Object({ key: hexOf(32), signature: hexOf(64) });
/** The certificate of a block; absent where no producer has signed it, as in a network that names none. */
const BlockCertificate = Type.Optional(Certificate);

/** The output behind which the next page begins. Names of genesis transactions are free texts. */
const PagePoint = Type.Object({
  t_hash: Type.String({ maxLength: 1_024 }),
  n: Type.Integer({ minimum: -0x8000_0000, maximum: 0x7fff_ffff }),
});

/** Facts that the next round depends on but no block carries. */
export const RoundFactsBody = Type.Object({
  participants: Type.Array(Type.String({ pattern: '^[\\x21-\\x7e]{1,128}$' }), { maxItems: 10_000 }),
  /** Hashes of the coinbases of all proofs. */
  proofs: Type.Array(Hash, { maxItems: 10_000 }),
  /** Winning proofs from the activation height on. */
  asert_hashes: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
});
export type RoundFactsBody = Static<typeof RoundFactsBody>;

interface MessageSpec<S extends TSchema> {
  readonly body: S;
  /** Largest attachment in bytes; 0 when there is none. */
  readonly maxAttachment: number;
  /** Work that the message causes beyond reading it, in units of about a tenth of a millisecond of one core. */
  cost(body: Static<S>, attachmentBytes: number): number;
}

interface MessageOptions<S extends TSchema> {
  readonly maxAttachment?: number;
  readonly cost?: (body: Static<S>, attachmentBytes: number) => number;
}

const BYTES_PER_UNIT = 8 * 1024;
/** Bytes of transactions whose check costs one unit; a transaction with two inputs has about as many. */
const TRANSACTION_BYTES_PER_UNIT = 512;
/** Entries of a list whose look-up costs one unit. */
const ENTRIES_PER_UNIT = 10;
const PAGE_COST = 10;
const WRITE_COST = 20;
/** Units of reading a stored block with its transactions. */
const BLOCK_COST = 10;

const bytesCost = (_: unknown, attachmentBytes: number): number => attachmentBytes / BYTES_PER_UNIT;
const transactionsCost = (_: unknown, attachmentBytes: number): number => attachmentBytes / TRANSACTION_BYTES_PER_UNIT;

const define = <S extends TSchema>(
  body: S,
  { maxAttachment = 0, cost = bytesCost }: MessageOptions<S> = {},
): MessageSpec<S> => ({ body, maxAttachment, cost });

export const MESSAGES = {
  // Miner → mempool and back
  /** Asks to take part in mining; answered by `mining.joined`. */
  'mining.join': define(Empty),
  'mining.joined': define(Empty),
  /** A header to find a nonce for (attachment). `reward` in raw units; `previous`: certificate of the block before. */
  'mining.template': define(Type.Object({ block_num: BlockNum, reward: U64, previous: BlockCertificate }), {
    maxAttachment: 64 * 1024,
  }),
  'mining.stop': define(Type.Object({ block_num: BlockNum })),
  /** A nonce that meets the target. Attachment: the coinbase transaction. Answered by `mining.verdict`. */
  'mining.proof': define(
    Type.Object({ block_num: BlockNum, nonce: Type.String({ pattern: '^([0-9a-f]{2}){1,32}$' }) }),
    { maxAttachment: 64 * 1024, cost: () => WRITE_COST },
  ),
  'mining.verdict': define(Type.Object({ accepted: Type.Boolean(), reason: Reason })),

  // Mempool → storage and back
  /** A closed block. Attachment: FullBlock. Answered by `block.stored` or `block.refused`. */
  'block.deliver': define(
    Type.Object({
      block_num: BlockNum,
      hash: Hash,
      certificate: BlockCertificate,
      round: Type.Optional(RoundFactsBody),
    }),
    { maxAttachment: MAX_BLOCK_BYTES },
  ),
  'block.stored': define(Type.Object({ block_num: BlockNum, hash: Hash })),
  /** The refusal of a block. `next`: the expected number. `rule`: the broken rule, or `time`: not to be sent again soon. */
  'block.refused': define(
    Type.Object({
      block_num: BlockNum,
      next: BlockNum,
      reason: Reason,
      rule: Type.Optional(Type.String({ maxLength: 32 })),
    }),
  ),

  // Storage ↔ storage, and to and from the mempool
  /**
   * The last block of the sender, as an answer or after each block stored. `next`: number of blocks stored; `hash` and `certificate` are of the last
   * one. An answer has the `time` of the node in Unix milliseconds. `problem`: why storage can take no block.
   */
  'chain.tip': define(
    Type.Object({
      next: BlockNum,
      hash: Type.Union([Hash, Type.Null()]),
      certificate: BlockCertificate,
      time: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
      problem: Type.Optional(Reason),
    }),
  ),
  'chain.tip.get': define(Empty),
  /** Asks for headers from `from` on; answered by `headers`. */
  'headers.get': define(
    Type.Object({ from: BlockNum, count: Type.Integer({ minimum: 1, maximum: MAX_HEADERS_PER_ANSWER }) }),
    { cost: ({ count }) => count },
  ),
  /** Headers, as an attachment: u32le length ‖ BlockHeader, `count` times, with consecutive numbers from `from` on. `certificate` is of the last. */
  headers: define(
    Type.Object({
      from: BlockNum,
      count: Type.Integer({ minimum: 0, maximum: MAX_HEADERS_PER_ANSWER }),
      certificate: BlockCertificate,
    }),
    { maxAttachment: MAX_HEADERS_BYTES + 64 },
  ),
  /** Asks for blocks from `from` on, with `packed` as segments have them, where there are some; answered by `blocks`. */
  'blocks.get': define(
    Type.Object({
      from: BlockNum,
      count: Type.Integer({ minimum: 1, maximum: MAX_BLOCKS_PER_ANSWER }),
      packed: Type.Optional(Type.Literal(true)),
    }),
    { cost: ({ count }) => count * BLOCK_COST },
  ),
  /**
   * Blocks, as an attachment: u32le length ‖ FullBlock, or with `packed` its record in a segment (storage/segments/record.ts), `count` times, from
   * number `from` on. `certificates`: those that there are.
   */
  blocks: define(
    Type.Object({
      from: BlockNum,
      count: Type.Integer({ minimum: 0, maximum: MAX_BLOCKS_PER_ANSWER }),
      /** Facts of the round of the last block sent, if it is the sender's last block. */
      round: Type.Optional(RoundFactsBody),
      packed: Type.Optional(Type.Literal(true)),
      certificates: Type.Optional(
        Type.Array(Type.Object({ block_num: BlockNum, certificate: Certificate }), { maxItems: MAX_BLOCKS_PER_ANSWER }),
      ),
    }),
    { maxAttachment: MAX_BLOCK_BYTES + 64 },
  ),

  // Mempool → miners and users
  /** A block that storage has confirmed. Attachment: FullBlock. */
  'block.mined': define(Type.Object({ block_num: BlockNum, hash: Hash, certificate: BlockCertificate }), {
    maxAttachment: MAX_BLOCK_BYTES,
  }),
  /** Asks which producer the mempool node speaks for, and whether it takes transactions now; answered by `producer`. */
  'producer.get': define(Empty),
  /** The sender. `certificate`: by a producer, of the sender's node key, if one vouches. `unready`: why it takes no transactions now. */
  producer: define(Type.Object({ certificate: Type.Optional(Certificate), unready: Type.Optional(Reason) })),

  // Mempool ↔ mempool
  /** Asks for a part of the sender's state; the first part begins a transfer, the last part sent may be asked for again. */
  'snapshot.get': define(Type.Object({ transfer: Type.Optional(hexOf(16)), part: BlockNum })),
  /** A part of the state: the attachment has the next bytes of the records (mempool/replicas/snapshot-records.ts). `sha256` of all is in the last. */
  'snapshot.part': define(Type.Object({ transfer: hexOf(16), part: BlockNum, sha256: Type.Optional(hexOf(32)) }), {
    maxAttachment: SNAPSHOT_PART_BYTES,
  }),

  // Wallets → mempool
  /** Transactions (attachment: Vec<Transaction>, at most `MAX_LIST`), admitted together or not at all. Answered by `transactions.result`. */
  'transactions.submit': define(Empty, {
    maxAttachment: MAX_SUBMISSION_BYTES,
    cost: transactionsCost,
  }),
  /** The outcome of a submission; when it is not accepted, `code` is one of the error catalogue. */
  'transactions.result': define(
    Type.Object({ accepted: Type.Boolean(), code: Type.String({ maxLength: 64 }), detail: Reason }),
  ),
  /** Asks for a page of unspent outputs. `after`: the last output of the previous page; `invalid_request` when it is spent. */
  'utxos.get': define(
    Type.Object({ addresses: Type.Array(Address, { maxItems: MAX_LIST }), after: Type.Optional(PagePoint) }),
    { cost: ({ addresses }) => PAGE_COST + addresses.length / ENTRIES_PER_UNIT },
  ),
  /**
   * A page of unspent outputs, as an attachment: Vec<(OutPoint, TxOut)>. `block_num` and `hash` of the last stored
   * block, -1 and null before the first. `next`: where the next page begins.
   */
  utxos: define(
    Type.Object({
      block_num: Type.Integer({ minimum: -1 }),
      hash: Type.Union([Hash, Type.Null()]),
      certificate: BlockCertificate,
      next: Type.Optional(Type.Object({ address: Address, after: Type.Optional(PagePoint) })),
    }),
    { maxAttachment: MAX_BLOCK_BYTES },
  ),
  /** Asks what became of transactions; answered by `statuses`. */
  'statuses.get': define(Type.Object({ hashes: Type.Array(Hash, { maxItems: MAX_LIST }) }), {
    cost: ({ hashes }) => hashes.length / ENTRIES_PER_UNIT,
  }),
  statuses: define(
    Type.Object({
      statuses: Type.Array(
        Type.Object({
          hash: Hash,
          status: Type.Union([Type.Literal('Pending'), Type.Literal('Confirmed'), Type.Literal('Rejected')]),
          info: Reason,
        }),
        { maxItems: MAX_LIST },
      ),
    }),
  ),

  // User ↔ user (payments by ip, donations)
  /** Asks for an address to pay to; answered by `address`. */
  'address.get': define(Empty, { cost: () => WRITE_COST }),
  address: define(Type.Object({ address: Address })),
  /** Tells the payee of a payment (attachment). `creation`: in hex, the transaction that created the items paid, which proves their metadata. */
  'payment.sent': define(Type.Object({ creation: Type.Optional(Creation) }), {
    maxAttachment: MAX_TRANSACTION_BYTES,
    cost: transactionsCost,
  }),
  /** Asks for a donation to `address`; answered by `donation.reply`. For one `id`, a peer is paid once. */
  'donation.request': define(Type.Object({ address: Address, id: Type.Optional(hexOf(32)) }), {
    cost: () => WRITE_COST,
  }),
  'donation.reply': define(Type.Object({ accepted: Type.Boolean(), reason: Reason })),

  // User ↔ user (trades)
  /** An offer of a trade, which the receiver only lists; answered by `trade.listed`. Documents are JSON. */
  'trade.offer': define(Type.Object({ document: TradeDocument }), { cost: () => WRITE_COST }),
  'trade.listed': define(Empty),
  /** The acceptance of an offer that the receiver made; answered by `trade.confirm`, each time the same. */
  'trade.accept': define(Type.Object({ document: TradeDocument }), { cost: () => WRITE_COST }),
  'trade.confirm': define(Type.Object({ document: TradeDocument })),

  // Any node
  /** The answer to a request that failed inside the peer. */
  error: define(Type.Object({ code: Type.String({ maxLength: 64 }), detail: Reason })),
} as const satisfies Readonly<Record<MessageType, unknown>>;

export type { MessageType } from './permissions.js';
export type MessageBody<T extends MessageType> = Static<(typeof MESSAGES)[T]['body']>;

const LENGTH_BYTES = 4;

/** The attachment of a `blocks` message. */
export function joinBlocks(blocks: readonly Uint8Array[]): Uint8Array {
  return concatBytes(
    ...blocks.flatMap((block) => {
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt32LE(block.length);
      return [length, block];
    }),
  );
}

/** The blocks of an attachment. Throws `protocol_violation` when it does not hold exactly `count`. */
export function splitBlocks(attachment: Uint8Array, count: number): Uint8Array[] {
  const buffer = asBuffer(attachment);
  const blocks: Uint8Array[] = [];
  let at = 0;
  while (at < buffer.length) {
    const start = at + LENGTH_BYTES;
    const end = start <= buffer.length ? start + buffer.readUInt32LE(at) : Number.POSITIVE_INFINITY;
    if (end > buffer.length) throw new TesseraError('protocol_violation', 'a block in the answer is cut');
    blocks.push(attachment.subarray(start, end));
    at = end;
  }
  if (blocks.length !== count) {
    throw new TesseraError('protocol_violation', `the answer holds ${blocks.length} blocks and says ${count}`);
  }
  return blocks;
}
