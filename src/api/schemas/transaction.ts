/** Schemas of transactions. They document the shapes; `chain/create-transaction.ts` checks what is posted, in every accepted spelling. */

import { type Static, Type } from '@sinclair/typebox';
import { ApiAsset, AssetValue, OutPoint } from './asset.js';
import {
  Address,
  EXAMPLE_ADDRESS,
  EXAMPLE_TX_HASH,
  MapOf,
  Nullable,
  named,
  TransactionHash,
  Uint64,
} from './scalars.js';

const EXAMPLE_SCRIPT = {
  Pay2PkH: {
    signable_data: 'dda7c5b0e4fb7d3f4fc4bd9dd6a0e6a1f8f8a0ecaf8a0d5f6ad1ac9cd5b2b5c0',
    signature:
      '3d920151b954a014e761dea0d5dc0c68ab332a50a2e2907707890fec2d0fa1b1994b4b86a8cd851b4ff8b2bcb38466fa8618bcb13344e9509a013121706aaf09',
    public_key: 'ae7c8238b1a79ae72dfe27ef608c31b713b01a4b8144d6be3d9bd32d83b8fc3b',
    address_version: null,
  },
};

const EXAMPLE_OUTPUT = { value: { Token: 1000 }, locktime: 0, script_public_key: EXAMPLE_ADDRESS };

/** A transaction of the right shape, whose input does not exist. */
export const EXAMPLE_TRANSACTION = {
  inputs: [{ previous_out: { t_hash: EXAMPLE_TX_HASH, n: 0 }, script_signature: EXAMPLE_SCRIPT }],
  outputs: [EXAMPLE_OUTPUT],
  version: 2,
  fees: null,
  druid_info: null,
};

const HexOrBytes = (what: string, length?: number) =>
  Type.Union(
    [
      Type.String({ pattern: '^([0-9a-fA-F]{2})*$', ...(length && { minLength: length * 2, maxLength: length * 2 }) }),
      Type.Array(Type.Integer({ minimum: 0, maximum: 255 }), length ? { minItems: length, maxItems: length } : {}),
    ],
    { description: `${what}, as hex text or as a list of byte values.` },
  );

const PrettyStackEntry = Type.Union(
  [
    Type.Object({ Op: Type.String({ description: 'Name of an opcode.', examples: ['OP_DUP'] }) }),
    Type.Object({ Signature: HexOrBytes('A signature of 64 bytes', 64) }),
    Type.Object({ PubKey: HexOrBytes('A public key of 32 bytes', 32) }),
    Type.Object({ Num: Uint64({ description: 'A number.' }) }),
    Type.Object({ Bytes: HexOrBytes('A text') }),
  ],
  { $id: 'PrettyStackEntry', description: 'One entry of a script.', examples: [{ Op: 'OP_DUP' }] },
);

const Pay2PkH = named('Pay2PkH', 'A signature, and the key that it is made with.').object(
  {
    signable_data: Type.Optional(
      Nullable(Type.String(), {
        description:
          'Hex digest that is signed: SHA3-256 over the JSON of all outputs and of the previous output of this input.',
      }),
    ),
    signature: Type.String({
      pattern: '^[0-9a-fA-F]{128}$',
      description: 'ed25519 signature over the 64 characters of signable_data, in hex.',
    }),
    public_key: Type.String({ pattern: '^[0-9a-fA-F]{64}$', description: 'ed25519 public key in hex.' }),
    address_version: Type.Optional(
      Nullable(Type.Union([Uint64(), Type.String()]), {
        description: 'How the address comes from the key: null is the current form, 0 the short, 99999 the temporary.',
      }),
    ),
  },
  EXAMPLE_SCRIPT.Pay2PkH,
);

const Pay2PkHScript = named('Pay2PkHScript', 'The short form of pay-to-public-key-hash.').object(
  { Pay2PkH },
  EXAMPLE_SCRIPT,
);

const StackScript = named('StackScript', 'A whole script.').object(
  { stack: Type.Array(PrettyStackEntry) },
  { stack: [{ Num: 12 }] },
);

const CreateTxInScript = Type.Union([Pay2PkHScript, StackScript], {
  $id: 'CreateTxInScript',
  description: 'The script that spends an output: the short form of pay-to-public-key-hash, or a whole script.',
  examples: [EXAMPLE_SCRIPT],
});

const CreateTxIn = named(
  'CreateTxIn',
  'An output to spend, and the script that spends it. In effect a script_signature is required.',
).object(
  {
    previous_out: Nullable(OutPoint, {
      description: 'The output to spend. Null only in answers, for a coinbase.',
    }),
    script_signature: Type.Optional(Nullable(CreateTxInScript)),
  },
  { previous_out: { t_hash: EXAMPLE_TX_HASH, n: 0 }, script_signature: EXAMPLE_SCRIPT },
);

const CreateTxOut = named('CreateTxOut', 'An output.').object(
  {
    value: AssetValue,
    locktime: Uint64({ description: 'Number of the first block in which it can be spent; 0 is at once.' }),
    script_public_key: Type.Optional(Nullable(Address(), { description: 'Address that is paid.' })),
  },
  EXAMPLE_OUTPUT,
);

const DruidExpectation = named(
  'DruidExpectation',
  'A payment that another transaction of the same trade must make.',
).object(
  {
    from: Type.String({ description: 'Digest of the inputs of the paying party.' }),
    to: Type.String({ description: 'Address that must be paid.' }),
    asset: AssetValue,
  },
  { from: EXAMPLE_ADDRESS, to: EXAMPLE_ADDRESS, asset: { Token: 1000 } },
);

const EXAMPLE_EXPECTATION = { from: EXAMPLE_ADDRESS, to: EXAMPLE_ADDRESS, asset: { Token: 1000 } };

const DruidExpectations = Type.Array(DruidExpectation, {
  $id: 'DruidExpectations',
  description: 'What the other transactions must pay.',
  examples: [[EXAMPLE_EXPECTATION]],
});

const EXAMPLE_DRUID = {
  druid: 'DRUID0xd0f407436f7f1fc494d7aee22939090e',
  participants: 2,
  expectations: [EXAMPLE_EXPECTATION],
  genesis_hash: null,
};

const DruidInfo = named('DruidInfo', 'Ties transactions together: all of them enter a block, or none.').object(
  {
    druid: Type.String({ minLength: 1, description: 'Name of the trade.' }),
    participants: Uint64({ description: 'Number of transactions that belong together.' }),
    expectations: Type.Union([DruidExpectations, DruidExpectation], {
      description: 'What the other transactions must pay; one may stand without a list.',
    }),
    genesis_hash: Type.Optional(Nullable(Type.String())),
  },
  EXAMPLE_DRUID,
);

export const CreateTransaction = named('CreateTransaction', 'A signed transaction.').object(
  {
    inputs: Type.Array(CreateTxIn),
    outputs: Type.Array(CreateTxOut),
    version: Uint64({ description: 'Version of the transaction; any number is accepted and kept.', examples: [2] }),
    fees: Type.Optional(Nullable(Type.Array(CreateTxOut), { description: 'Outputs that pay fees.' })),
    druid_info: Type.Optional(Nullable(DruidInfo)),
  },
  EXAMPLE_TRANSACTION,
);
export type CreateTransaction = Static<typeof CreateTransaction>;

export const JsonSerializedTransaction = named(
  'JsonSerializedTransaction',
  'The bytes of a transaction and their hash.',
).object(
  {
    txn_hash_hex: TransactionHash(),
    txn_hex: Type.String({ description: 'The bytes of the transaction (bincode) in hex.' }),
  },
  { txn_hash_hex: 'g1b4a9035171a3dd4758197ce8907f07', txn_hex: `${'00'.repeat(16)}06${'00'.repeat(16)}` },
);
export type JsonSerializedTransaction = Static<typeof JsonSerializedTransaction>;

const TxOutputSummary = named('TxOutputSummary', 'The first output of a transaction.').object(
  {
    address: Type.String({ description: 'Address of the first output; empty when it has none.' }),
    asset: ApiAsset,
  },
  { address: EXAMPLE_ADDRESS, asset: { kind: 'token', amount: 1000 } },
);

export const CreateTransactionsResponse = named(
  'CreateTransactionsResponse',
  'What was admitted to the mempool.',
).object(
  { transactions: MapOf(TxOutputSummary, { description: 'The admitted transactions by hash.' }) },
  { transactions: { [EXAMPLE_TX_HASH]: { address: EXAMPLE_ADDRESS, asset: { kind: 'token', amount: 1000 } } } },
);
export type CreateTransactionsResponse = Static<typeof CreateTransactionsResponse>;
