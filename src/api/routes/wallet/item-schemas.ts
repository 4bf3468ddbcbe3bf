/** Items of the wallet, and payments with them. */

import { type Static, Type } from '@sinclair/typebox';
import { Enum, EXAMPLE_ADDRESS, EXAMPLE_TX_HASH, Int64, Nullable } from '../../schemas/scalars.js';
import { Passphrase } from './schemas.js';

const GenesisHash = Type.String({
  minLength: 1,
  maxLength: 256,
  description: 'The class of the items: the hash of the transaction that created them, or default_genesis_hash.',
  examples: [EXAMPLE_TX_HASH],
});

export const WalletItemsResponse = Type.Object(
  {
    items: Type.Array(
      Type.Object({
        genesis_hash: Type.String({ description: 'The class of the items.' }),
        amount: Int64({ description: 'How many the wallet holds.' }),
        available: Int64({ description: 'How many of them can be spent now.' }),
        metadata: Nullable(Type.String(), {
          description:
            'Free text from the creator. Null when there is none, and when the wallet has not seen the creation: a storage node ' +
            'tells it then (GET /v1/items/{genesis_hash}).',
        }),
      }),
    ),
  },
  {
    $id: 'WalletItemsResponse',
    description: 'Items that the wallet holds, by genesis hash.',
    examples: [{ items: [{ genesis_hash: EXAMPLE_TX_HASH, amount: 3, available: 3, metadata: 'ticket' }] }],
  },
);

export const ItemPaymentRequest = Type.Object(
  {
    kind: Enum(['address', 'ip'], { description: 'What address names.' }),
    address: Type.String({
      maxLength: 256,
      description: 'A payment address (kind address) or the ip:port of a node (kind ip).',
      examples: [EXAMPLE_ADDRESS],
    }),
    genesis_hash: GenesisHash,
    amount: Int64({
      'x-range': 'uint64',
      description: 'How many; 0 and more than 2^63 - 1 cannot be paid (422).',
      examples: [1],
    }),
    locktime: Type.Optional(
      Nullable(Int64(), { description: 'Number of the first block in which the payee can spend it; null means 0.' }),
    ),
    passphrase: Passphrase('The passphrase of the wallet.'),
  },
  {
    $id: 'ItemPaymentRequest',
    description: 'A payment with items from the wallet of this node.',
    examples: [{ kind: 'address', address: EXAMPLE_ADDRESS, genesis_hash: EXAMPLE_TX_HASH, amount: 1, passphrase: '' }],
  },
);
export type ItemPaymentRequest = Static<typeof ItemPaymentRequest>;
