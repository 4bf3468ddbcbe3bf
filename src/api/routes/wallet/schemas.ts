/** Schemas of a wallet's contents, its keys and its payments. */

import { type SchemaOptions, type Static, Type } from '@sinclair/typebox';
import { PAYMENT_KINDS, PAYMENT_STATES } from '../../../wallet/service.js';
import { ApiAsset, AssetValue, OutpointEntry } from '../../schemas/asset.js';
import {
  Address,
  Amount,
  DEFAULT_BATCH,
  Enum,
  EXAMPLE_ADDRESS,
  EXAMPLE_TX_HASH,
  INT64_MAX,
  Int64,
  Limit,
  MapOf,
  Nullable,
  named,
  TransactionHash,
} from '../../schemas/scalars.js';
import { StoredTransactionData } from '../storage/operations.js';

/** Maximum length of a passphrase, in characters. */
const MAX_PASSPHRASE = 1_024;

export const Passphrase = (description: string, options: SchemaOptions = {}) =>
  Type.String({ maxLength: MAX_PASSPHRASE, description, format: 'password', ...options });

export const WalletInfoQuery = Type.Object({
  page: Type.Optional(
    Int64({
      description: 'Page of unspent outputs, 25 to a page, from 0. Without it all are returned.',
      examples: [0],
    }),
  ),
  spent: Type.Optional(
    Type.Boolean({ description: 'True: the spent outputs instead; page is then ignored.', examples: [false] }),
  ),
});

const Display = (what: string) => Type.Number({ description: `${what}, in display units.`, examples: [1.5] });

/** The member `temporary_addresses` in answers of the contract: absent when there are none. */
const temporaryAddresses = (which: string) => ({
  temporary_addresses: Type.Optional(
    Type.Array(Type.String(), {
      description: `An extension of the contract: ${which} of version 99999. Other keys can have the same address, and spend from it.`,
    }),
  ),
});

export const WalletInfoResponse = named('WalletInfoResponse', 'What the wallet of this node holds.').object(
  {
    addresses: MapOf(Type.Array(OutpointEntry), { description: 'Outputs by owning address.' }),
    available_total: Display('Spendable tokens'),
    available_total_tokens: Amount({ description: 'Spendable tokens, in raw units.' }),
    locked_total: Display('Locked tokens, for example young coinbases'),
    locked_total_tokens: Amount({ description: 'Locked tokens, in raw units.' }),
    running_total: Display('All tokens held'),
    running_total_tokens: Amount({ description: 'All tokens held, in raw units.' }),
    item_total: MapOf(Int64(), { description: 'Number of items by genesis hash.' }),
    ...temporaryAddresses('up to 1,000 addresses of the wallet'),
  },
  {
    addresses: {
      [EXAMPLE_ADDRESS]: [{ out_point: { t_hash: EXAMPLE_TX_HASH, n: 0 }, value: { Token: 72072000 } }],
    },
    available_total: 1,
    available_total_tokens: 72072000,
    locked_total: 0,
    locked_total_tokens: 0,
    running_total: 1,
    running_total_tokens: 72072000,
    item_total: {},
  },
);
export type WalletInfoResponse = Static<typeof WalletInfoResponse>;

export const NewAddressResponse = named('NewAddressResponse', 'A new payment address.').object(
  { address: Address({ description: 'A new payment address.' }) },
  { address: EXAMPLE_ADDRESS },
);

export const Keypair = named('Keypair', 'A key pair. Holds the private key: whoever has it can spend.').object(
  {
    // The handler checks the pair itself: a wrong one has an error code of its own.
    public_key: Type.String({
      description: 'ed25519 public key in hex.',
      'x-document': { pattern: '^[0-9a-fA-F]{64}$' },
    }),
    secret_key: Type.String({
      description: 'Private key in hex: PKCS#8 v2 (85 bytes); on import also the 32-byte seed or the 64-byte secret.',
      'x-document': { pattern: '^([0-9a-fA-F]{2})+$' },
    }),
    address_version: Type.Optional(
      Nullable(Int64(), { description: 'null for the current form of address, 0 the short, 99999 the temporary.' }),
    ),
  },
  { public_key: '00'.repeat(32), secret_key: '00'.repeat(32), address_version: null },
);

export type Keypair = Static<typeof Keypair>;

export const KeypairsResponse = named('KeypairsResponse', 'The key pairs of the wallet.').object(
  { addresses: MapOf(Keypair, { description: 'Key pairs by payment address.' }) },
  { addresses: {} },
);

export const ImportKeypairsRequest = named('ImportKeypairsRequest', 'Key pairs to import.').object(
  {
    addresses: MapOf(Keypair, {
      maxProperties: DEFAULT_BATCH,
      'x-limit': 'batch',
      description: 'Key pairs by payment address; the address must belong to the key. All are imported or none.',
    }),
  },
  { addresses: {} },
);

export const ImportKeypairsResponse = named('ImportKeypairsResponse', 'The imported addresses.').object(
  {
    imported: Type.Array(Type.String(), { description: 'The imported addresses.' }),
    ...temporaryAddresses('the addresses among them'),
  },
  { imported: [] },
);

export const ChangePassphraseRequest = named('ChangePassphraseRequest', 'A change of the wallet passphrase.').object(
  {
    old_passphrase: Passphrase('The current passphrase.'),
    // The handler refuses a blank passphrase itself, with an error code of its own.
    new_passphrase: Passphrase('The new passphrase; not blank.', { 'x-document': { pattern: '\\S' } }),
  },
  { old_passphrase: 'correct horse', new_passphrase: 'battery staple' },
);

export const RefreshRequest = named('RefreshRequest', 'Addresses to ask the mempool about.').object(
  {
    addresses: Type.Optional(
      Type.Unsafe<string[]>({
        type: 'array',
        items: Address(),
        maxItems: DEFAULT_BATCH,
        'x-limit': 'batch',
        description: 'Addresses to refresh; ignored when all is true.',
      }),
    ),
    all: Type.Optional(Type.Boolean({ description: 'True: every address of the wallet.' })),
  },
  { all: true },
);

export const OutgoingTxsResponse = named('OutgoingTxsResponse', 'Payments of the wallet.').object(
  {
    transactions: Type.Array(
      Type.Unsafe<readonly [string, Static<typeof StoredTransactionData>]>({
        type: 'array',
        prefixItems: [
          TransactionHash({ $id: 'PaymentHash', description: 'Hash of a payment.' }),
          StoredTransactionData,
        ],
        minItems: 2,
        maxItems: 2,
      }),
      { description: 'Pairs of hash and transaction, oldest first.' },
    ),
  },
  { transactions: [] },
);

const MAX_HISTORY = 10_000;

export const OutgoingQuery = Type.Object({
  limit: Limit(MAX_HISTORY, 'An extension of the contract: only the most recent ones; 10,000 by default.', {
    examples: [20],
  }),
});

export const PaymentHistoryQuery = Type.Object({
  limit: Limit(MAX_HISTORY, 'Only the most recent ones; 10,000 by default. Older ones are in /v1/wallet/movements.', {
    examples: [20],
  }),
});

export const PaymentHistoryResponse = named(
  'PaymentHistoryResponse',
  'Payments of the wallet and their states.',
).object(
  {
    transactions: Type.Array(
      Type.Object({
        tx_hash: Type.String({ description: 'Transaction hash.' }),
        kind: Enum(PAYMENT_KINDS, { description: 'Its purpose; merge joins small outputs of the wallet.' }),
        state: Enum(PAYMENT_STATES, {
          description: 'queued: durable here. sent: admitted by the mempool. Then confirmed in a block, or rejected.',
        }),
        reason: Nullable(Type.String(), { description: 'Why it was rejected.' }),
        peer: Nullable(Type.String(), { description: 'The node that was paid, for payments of kind ip.' }),
        created_at: Int64({ description: 'Seconds since the Unix epoch.' }),
        outputs: Type.Array(
          Type.Object({
            address: Nullable(Type.String()),
            value: AssetValue,
            own: Type.Boolean({ description: 'True for what stays in the wallet, such as change.' }),
          }),
        ),
        amount: Amount({ description: 'Raw units that were paid, without change and fee.' }),
        fee: Nullable(Amount(), { description: 'Raw units.' }),
        to_self: Type.Boolean({ description: 'True when everything but the fee stays in the wallet.' }),
        block_num: Nullable(Int64(), { description: 'Number of its block, if the wallet has seen it.' }),
        block_time: Nullable(Int64({ minimum: Number(-INT64_MAX) }), { description: 'Unix seconds of its block.' }),
        label: Nullable(Type.String(), { description: 'What the owner calls it.' }),
      }),
      { description: 'Oldest first; the most recent 10,000.' },
    ),
  },
  { transactions: [] },
);

export const PaymentParams = Type.Object({
  tx_hash: Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'Hash of the payment.',
    examples: [EXAMPLE_TX_HASH],
  }),
});

/** Members that name the payee of a payment of tokens or items. */
export const PAYEE = {
  kind: Enum(['address', 'ip'], { description: 'What address names.' }),
  address: Type.String({
    maxLength: 256,
    description: 'A payment address (kind address) or the ip:port of a node (kind ip).',
    examples: [EXAMPLE_ADDRESS],
  }),
};
export const TERMS = {
  locktime: Type.Optional(
    Nullable(Int64(), { description: 'Number of the first block in which the payee can spend it; null means 0.' }),
  ),
  passphrase: Passphrase('The passphrase of the wallet.'),
};

export const PaymentRequest = named('PaymentRequest', 'A payment from the wallet of this node.').object(
  {
    ...PAYEE,
    amount: Amount({
      'x-range': 'uint64',
      description: 'Raw token units; 0 and more than 2^63 - 1 cannot be paid (422).',
    }),
    ...TERMS,
  },
  { kind: 'address', address: EXAMPLE_ADDRESS, amount: 1000, locktime: null, passphrase: '' },
);
export type PaymentRequest = Static<typeof PaymentRequest>;

export const PaymentAcceptedResponse = named(
  'PaymentAcceptedResponse',
  'The payment is queued (kind address) or sent (kind ip).',
).object(
  {
    to_address: Type.String({ description: 'The address of the request.' }),
    amount: ApiAsset,
    tx_hash: Nullable(Type.String(), { description: 'Hash of the payment; null for kind ip.' }),
    ...temporaryAddresses('the paid address, if it is one of this wallet and'),
  },
  { to_address: EXAMPLE_ADDRESS, amount: { kind: 'token', amount: 1000 }, tx_hash: EXAMPLE_TX_HASH },
);
