/** Assets and outpoints as the API shows them. */

import { type Static, Type } from '@sinclair/typebox';
import { Amount, EXAMPLE_TX_HASH, Int32, Int64, Nullable, TransactionHash, Uint64 } from './scalars.js';

const TokenApiAsset = Type.Object(
  { kind: Type.Literal('token'), amount: Amount() },
  { $id: 'TokenApiAsset', description: 'Tokens.', examples: [{ kind: 'token', amount: 1000 }] },
);

const ItemApiAsset = Type.Object(
  {
    kind: Type.Literal('item'),
    amount: Int64({ description: 'Number of items.', examples: [1] }),
    genesis_hash: Type.Optional(
      Nullable(Type.String(), {
        description: 'Hash of the transaction that created the item, if known; the name of its class.',
        examples: [EXAMPLE_TX_HASH],
      }),
    ),
    metadata: Type.Optional(Nullable(Type.String(), { description: 'Free text from the creator.' })),
  },
  {
    $id: 'ItemApiAsset',
    description: 'Items of one class.',
    examples: [{ kind: 'item', amount: 1, genesis_hash: EXAMPLE_TX_HASH, metadata: null }],
  },
);

export const ApiAsset = Type.Union([TokenApiAsset, ItemApiAsset], {
  $id: 'ApiAsset',
  description: 'An asset, tagged by its kind.',
  discriminator: {
    propertyName: 'kind',
    mapping: { token: '#/components/schemas/TokenApiAsset', item: '#/components/schemas/ItemApiAsset' },
  },
  examples: [{ kind: 'token', amount: 1000 }],
});
export type ApiAsset = Static<typeof ApiAsset>;

const TokenValue = Type.Object(
  { Token: Uint64({ description: 'Raw token units.', examples: [1000] }) },
  { $id: 'TokenValue', description: 'Tokens, in the form of the chain.', examples: [{ Token: 1000 }] },
);

const ItemValue = Type.Object(
  {
    Item: Type.Object({
      amount: Uint64({ description: 'Number of items.' }),
      genesis_hash: Type.Optional(Nullable(Type.String())),
      metadata: Type.Optional(Nullable(Type.String())),
    }),
  },
  {
    $id: 'ItemValue',
    description: 'Items of one class, in the form of the chain.',
    examples: [{ Item: { amount: 1, genesis_hash: EXAMPLE_TX_HASH, metadata: null } }],
  },
);

export const AssetValue = Type.Union([TokenValue, ItemValue], {
  $id: 'AssetValue',
  description: 'An asset in the form of the chain: an object whose only key names the kind.',
  examples: [{ Token: 1000 }],
});
export type AssetValue = Static<typeof AssetValue>;

export const OutPoint = Type.Object(
  {
    t_hash: TransactionHash({ description: 'Hash of the transaction.' }),
    n: Int32({ description: 'Index of the output.', examples: [0] }),
  },
  { $id: 'OutPoint', description: 'One output of one transaction.', examples: [{ t_hash: EXAMPLE_TX_HASH, n: 0 }] },
);
export type OutPoint = Static<typeof OutPoint>;

export const OutpointEntry = Type.Object(
  { out_point: OutPoint, value: AssetValue },
  {
    $id: 'OutpointEntry',
    description: 'An output and what it holds.',
    examples: [{ out_point: { t_hash: EXAMPLE_TX_HASH, n: 0 }, value: { Token: 1000 } }],
  },
);
export type OutpointEntry = Static<typeof OutpointEntry>;
