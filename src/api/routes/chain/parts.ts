/** Shared schemas of blocks, transactions, addresses and items. */

import { Type } from '@sinclair/typebox';
import { TRANSACTION_KINDS } from '../../../storage/chain-index/service.js';
import {
  Enum,
  EXAMPLE_TX_HASH,
  Int32,
  Int64,
  Limit,
  Nullable,
  TransactionHash,
  Uint64,
} from '../../schemas/scalars.js';

export const DEFAULT_ENTRIES = 25;
const MAX_ENTRIES = 100;
const MAX_CURSOR = 128;
export const MAX_NAME = 256;
export const EXAMPLE_TIME = 1_700_000_000;
const EXAMPLE_CURSOR = 'aAAAAAAMAAAB3q2-7w';

export const Height = (description = 'Number of the block.') => Int64({ description, examples: [12] });
export const Count = (description: string) => Int64({ description, examples: [2] });
export const Raw = (description: string) => Uint64({ description, examples: [1000] });
export const Time = (description = 'When its block was made, in Unix seconds.') =>
  Type.Unsafe<number | bigint>({ type: 'integer', format: 'int64', description, examples: [EXAMPLE_TIME] });
export const GenesisHash = (description = 'Genesis hash of the item: what names it.') =>
  Type.String({ description, examples: [EXAMPLE_TX_HASH] });
export const Kind = Enum(TRANSACTION_KINDS, {
  description:
    'coinbase: the reward of a block. genesis: of block 0. issuance: set by the genesis file for its block. creation: of ' +
    'items. trade: one of a set that happens together or not at all. payment: every other one.',
});
export const Next = Nullable(Type.String(), {
  description: 'Cursor of the next page; null at the end.',
  examples: [EXAMPLE_CURSOR],
});

export const PLACE = {
  tx_hash: TransactionHash(),
  block_num: Height('Number of its block.'),
  tx_num: Int32({ minimum: 0, description: 'Its place in the block; the coinbase comes last.', examples: [0] }),
  time: Time(),
};
export const EXAMPLE_PLACE = { tx_hash: EXAMPLE_TX_HASH, block_num: 12, tx_num: 0, time: EXAMPLE_TIME };
export const Place = Type.Object(PLACE);

/** An asset in one shape, so that a page needs no cases. */
export const ASSET = {
  asset: Enum(['token', 'item'] as const, { description: 'What it holds.' }),
  amount: Raw('Raw token units, or items.'),
  genesis_hash: Nullable(Type.String(), { description: 'Genesis hash of the items; null for tokens.' }),
  metadata: Nullable(Type.String(), { description: 'Free text from the creator of the items.' }),
};
export const EXAMPLE_TOKENS = { asset: 'token', amount: 1000, genesis_hash: null, metadata: null };

export const AsOfBlock = Nullable(Int64(), {
  description: 'The answer is that after this block; null in an empty chain.',
  examples: [12],
});

export const limitOf = (maximum: number, byDefault: number) =>
  Limit(maximum, `Entries of the page; ${byDefault} by default.`, { examples: [10] });
const Cursor = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: MAX_CURSOR,
    description: '`next` of the page before this one. What it is made of may change.',
    // A cursor of another list is refused by the list that reads it.
    pattern: '^[A-Za-z0-9_-]+$',
    'x-fault': 'must be `next` of the page before this one',
  }),
);
export const LOCKED = Uint64({
  description: 'The number of the first block that may spend it; 0 for any.',
  examples: [0],
});

export const PageQuery = Type.Object({ limit: limitOf(MAX_ENTRIES, DEFAULT_ENTRIES), cursor: Cursor });
