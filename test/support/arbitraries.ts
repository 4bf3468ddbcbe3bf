/** Generators of the chain's values for property tests. Texts are any well-formed Unicode, numbers reach both ends. */

import { MAX_HEADER_VERSION } from '../../src/chain/codec.js';
import { U64_MAX } from '../../src/chain/constants.js';
import { OPCODE_COUNT } from '../../src/chain/script/opcodes.js';
import type {
  Asset,
  Block,
  BlockHeader,
  DruidInfo,
  FullBlock,
  OutPoint,
  Script,
  StackEntry,
  Transaction,
  TxIn,
  TxOut,
} from '../../src/chain/types.js';
import { fc } from './property.js';

const u64 = fc.oneof(
  fc.bigInt({ min: 0n, max: U64_MAX }),
  fc.constantFrom(0n, 1n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n, U64_MAX),
);
const i32 = fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff });
const i64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 40 }), fc.string({ maxLength: 130 }));
const optionalText = fc.option(text);
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const shortBytes = fc.uint8Array({ maxLength: 40 });

export const outPoint: fc.Arbitrary<OutPoint> = fc.record({ tHash: text, n: i32 });

export const asset: fc.Arbitrary<Asset> = fc.oneof(
  u64.map((amount): Asset => ({ kind: 'token', amount })),
  fc
    .record({ amount: u64, genesisHash: optionalText, metadata: optionalText })
    .map((item): Asset => ({ kind: 'item', ...item })),
);

const entry: fc.Arbitrary<StackEntry> = fc.oneof(
  fc.integer({ min: 0, max: OPCODE_COUNT - 1 }).map((op): StackEntry => ({ kind: 'op', op })),
  bytes(64).map((value): StackEntry => ({ kind: 'signature', bytes: value })),
  bytes(32).map((value): StackEntry => ({ kind: 'pubkey', bytes: value })),
  u64.map((value): StackEntry => ({ kind: 'num', value })),
  text.map((value): StackEntry => ({ kind: 'bytes', text: value })),
);

export const script: fc.Arbitrary<Script> = fc.array(entry, { maxLength: 12 });
const txIn: fc.Arbitrary<TxIn> = fc.record({ previousOut: fc.option(outPoint), script });
export const txOut: fc.Arbitrary<TxOut> = fc.record({ value: asset, locktime: u64, scriptPublicKey: optionalText });

export const druidInfo: fc.Arbitrary<DruidInfo> = fc.record({
  druid: text,
  participants: u64,
  expectations: fc.array(fc.record({ from: text, to: text, asset }), { maxLength: 3 }),
  genesisHash: optionalText,
});

export const transaction: fc.Arbitrary<Transaction> = fc.record({
  inputs: fc.array(txIn, { maxLength: 4 }),
  outputs: fc.array(txOut, { maxLength: 4 }),
  version: u64,
  fees: fc.array(txOut, { maxLength: 2 }),
  druidInfo: fc.option(druidInfo),
});

export const header: fc.Arbitrary<BlockHeader> = fc.record({
  version: fc.integer({ min: 0, max: MAX_HEADER_VERSION }),
  bits: u64,
  nonce: shortBytes,
  miningTxHash: text,
  bNum: u64,
  timestamp: i64,
  difficulty: shortBytes,
  seedValue: shortBytes,
  previousHash: optionalText,
  merkleRoot: text,
  txsHash: text,
});

export const block: fc.Arbitrary<Block> = fc.record({ header, transactions: fc.array(text, { maxLength: 4 }) });
export const fullBlock: fc.Arbitrary<FullBlock> = fc.record({
  block,
  transactions: fc.array(transaction, { maxLength: 3 }),
  miningTransaction: transaction,
});
