/** Assets and outpoints as the API shows them. */

import { type Static, Type } from '@sinclair/typebox';
import { Amount, EXAMPLE_TX_HASH, Int32, Int64, Nullable, named, TransactionHash, Uint64 } from './scalars.js';

const TokenApiAsset = named('TokenApiAsset', 'Tokens.').object(
  { kind: Type.Literal('token'), amount: Amount() },
  { kind: 'token', amount: 1000 },
);

const ItemApiAsset = named('ItemApiAsset', 'Items of one class.').object(
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
  { kind: 'item', amount: 1, genesis_hash: EXAMPLE_TX_HASH, metadata: null },
);

export const ApiAsset = Type.Union([TokenApiAsset, ItemApiAsset], {
  $id: 'ApiAsset',
  description: 'An asset, tagged by its kind.',
  examples: [{ kind: 'token', amount: 1000 }],
});
export type ApiAsset = Static<typeof ApiAsset>;

const TokenValue = named('TokenValue', 'Tokens, in the form of the chain.').object(
  { Token: Uint64({ description: 'Raw token units.', examples: [1000] }) },
  { Token: 1000 },
);

const ItemValue = named('ItemValue', 'Items of one class, in the form of the chain.').object(
  {
    Item: Type.Object({
      amount: Uint64({ description: 'Number of items.' }),
      genesis_hash: Type.Optional(Nullable(Type.String())),
      metadata: Type.Optional(Nullable(Type.String())),
    }),
  },
  { Item: { amount: 1, genesis_hash: EXAMPLE_TX_HASH, metadata: null } },
);

export const AssetValue = Type.Union([TokenValue, ItemValue], {
  $id: 'AssetValue',
  description: 'An asset in the form of the chain: an object whose only key names the kind.',
  examples: [{ Token: 1000 }],
});
export type AssetValue = Static<typeof AssetValue>;

export const OutPoint = named('OutPoint', 'One output of one transaction.').object(
  {
    t_hash: TransactionHash({ description: 'Hash of the transaction.' }),
    n: Int32({ description: 'Index of the output.', examples: [0] }),
  },
  { t_hash: EXAMPLE_TX_HASH, n: 0 },
);
export type OutPoint = Static<typeof OutPoint>;

export const OutpointEntry = named('OutpointEntry', 'An output and what it holds.').object(
  { out_point: OutPoint, value: AssetValue },
  { out_point: { t_hash: EXAMPLE_TX_HASH, n: 0 }, value: { Token: 1000 } },
);
export type OutpointEntry = Static<typeof OutpointEntry>;
