/** The operations on blocks and transactions in the index of the chain, and what a search finds, with their schemas. Extensions of the contract. */

import { Type } from '@sinclair/typebox';
import { INDEX_STATES, MAX_LISTED, MAX_PARTNERS } from '../../../storage/chain-index/service.js';
import { section } from '../../operation.js';
import {
  Address,
  Enum,
  EXAMPLE_ADDRESS,
  EXAMPLE_BLOCK_HASH,
  EXAMPLE_TX_HASH,
  Int32,
  Int64,
  Nullable,
  named,
  TransactionHash,
  Uint64,
} from '../../schemas/scalars.js';
import {
  ASSET,
  AsOfBlock,
  Count,
  EXAMPLE_PLACE,
  EXAMPLE_TIME,
  EXAMPLE_TOKENS,
  Height,
  Kind,
  LOCKED,
  limitOf,
  MAX_NAME,
  Next,
  PageQuery,
  PLACE,
  Raw,
  Time,
} from './parts.js';

export const DEFAULT_BLOCKS = 20;
const MAX_BLOCKS = 500;

export const ChainIndexResponse = named('ChainIndexResponse', 'How far the index of the chain is.').object(
  {
    state: Enum(INDEX_STATES, {
      description: 'off: storage.index is false. building: blocks are missing in it. waiting: it cannot go on now.',
    }),
    block_num: Nullable(Int64(), { description: 'The last block in it.', examples: [12] }),
    blocks: Count('Blocks that this node stores.'),
    problem: Nullable(Type.String(), { description: 'Why it cannot go on now.' }),
  },
  { state: 'ready', block_num: 12, blocks: 13, problem: null },
);

const EXAMPLE_BLOCK = {
  block_num: 12,
  hash: EXAMPLE_BLOCK_HASH,
  previous_hash: EXAMPLE_BLOCK_HASH,
  time: EXAMPLE_TIME,
  transactions: 2,
  transactions_so_far: 14,
  bytes: 612,
  difficulty: '22000001',
  reward: 1000,
  issued: 90_090,
  miner: EXAMPLE_ADDRESS,
  coinbase: EXAMPLE_TX_HASH,
};

export const ChainBlock = named('ChainBlock', 'What a list of blocks says of one.').object(
  {
    block_num: Height(),
    hash: Type.String({ description: 'Its hash.' }),
    previous_hash: Nullable(Type.String(), { description: 'Hash of the block before it; null for block 0.' }),
    time: Time('When it was made, in Unix seconds.'),
    transactions: Count('Number of its transactions with the coinbase.'),
    transactions_so_far: Count('Transactions up to this block, itself included, coinbases left out.'),
    bytes: Count('Size of the block with all its transactions, encoded.'),
    difficulty: Type.String({
      description:
        'Compact target, eight hex digits; empty for the fixed difficulty, a hash that begins with a zero byte.',
    }),
    reward: Raw('What its coinbase pays, in raw units.'),
    issued: Raw('Raw units issued up to this block, itself included.'),
    miner: Nullable(Address(), { description: 'The address that its coinbase pays.' }),
    coinbase: TransactionHash({ description: 'Hash of its coinbase.' }),
  },
  EXAMPLE_BLOCK,
);

const ChainBlocksQuery = Type.Object({
  limit: limitOf(MAX_BLOCKS, DEFAULT_BLOCKS),
  before: Type.Optional(Int64({ description: 'Only blocks with smaller numbers.', examples: [13] })),
  step: Type.Optional(
    Int64({
      minimum: 1,
      description: 'Only blocks whose number is a multiple of it: a chart of a long chain needs no more.',
      examples: [1],
    }),
  ),
});
export const ChainBlocksResponse = named('ChainBlocksResponse', 'Blocks, newest first.').object(
  {
    blocks: Type.Array(ChainBlock),
    next: Nullable(Int64(), {
      description: '`before` for the next page: the number of the last block of this one; null at the end.',
      examples: [12],
    }),
    as_of_block: AsOfBlock,
  },
  { blocks: [EXAMPLE_BLOCK], next: 12, as_of_block: 12 },
);

const ChainBlockParams = Type.Object({
  block: Type.String({
    minLength: 1,
    maxLength: MAX_NAME,
    description: 'Number or hash of a block.',
    examples: [EXAMPLE_BLOCK_HASH],
  }),
});

const SUMMARY = {
  ...PLACE,
  kind: Kind,
  bytes: Count('Size of the transaction, encoded.'),
  input_count: Count('Number of its inputs.'),
  output_count: Count('Number of its outputs, fees included.'),
  tokens: Raw('Raw units in its outputs and fees.'),
  paid: Raw(
    'Raw units that were paid: those in its outputs, without the last of several outputs of tokens when it spends any. Wallets put ' +
      'their change there; the chain does not mark it, so this is a guess.',
  ),
};
const EXAMPLE_SUMMARY = {
  ...EXAMPLE_PLACE,
  kind: 'payment',
  bytes: 310,
  input_count: 1,
  output_count: 2,
  tokens: 2000,
  paid: 1500,
};

export const BlockTransactionsResponse = named(
  'BlockTransactionsResponse',
  'Transactions of a block, in order.',
).object(
  { transactions: Type.Array(Type.Object(SUMMARY)), next: Next },
  { transactions: [EXAMPLE_SUMMARY], next: null },
);

const ScriptEntry = Type.Object({
  kind: Enum(['op', 'signature', 'pubkey', 'num', 'bytes'] as const, { description: 'What it is.' }),
  value: Type.String({ description: 'Name of the operation, hex digits of a key or signature, digits, or text.' }),
});

const Spender = Type.Object({
  tx_hash: TransactionHash({ description: 'The transaction that spends it.' }),
  input: Int32({ minimum: 0, description: 'Index of the input that spends it.', examples: [0] }),
  block_num: Height('Number of the block of that transaction.'),
});
const OUTPUT = {
  n: Int32({ minimum: 0, description: 'Index of the output.', examples: [0] }),
  address: Nullable(Address(), { description: 'Address of the output; null when nobody can spend it.' }),
  ...ASSET,
  locktime: LOCKED,
  fee: Type.Boolean({ description: 'A fee output.' }),
};
const SpentBy = Nullable(Spender, { description: 'What spends it; null while it is unspent.' });
const EXAMPLE_OUTPUT = { n: 0, address: EXAMPLE_ADDRESS, ...EXAMPLE_TOKENS, locktime: 0, fee: false };

const Input = Type.Object({
  source: Nullable(
    Type.Object({ tx_hash: TransactionHash(), ...OUTPUT, block_num: Height('Number of the block that made it.') }),
    { description: 'The output that it spends; null for what creates: coinbases, issuances, items.' },
  ),
  script: Type.Array(ScriptEntry, { description: 'Its script, from the bottom of the stack to the top.' }),
});

const ChainTransactionParams = Type.Object({ tx_hash: TransactionHash() });
const FirstListed = (what: string) =>
  Type.Optional(Int64({ description: `Index of the first ${what} to list; 0 by default.`, examples: [0] }));
const ChainTransactionQuery = Type.Object({
  first_input: FirstListed('input'),
  first_output: FirstListed('output'),
});
const Trade = Type.Object({
  druid: Type.String({ description: 'The name of the trade. Text of strangers.' }),
  participants: Uint64({ description: 'Number of transactions in it.', examples: [2] }),
  partners: Type.Array(TransactionHash(), {
    description: `The other transactions of the trade; at most ${MAX_PARTNERS}.`,
  }),
  expectations: Type.Array(Type.Object({ from: Type.String(), to: Type.String(), ...ASSET }), {
    description: `What it asks of the others; at most ${MAX_LISTED}. \`from\` names inputs, \`to\` is an address.`,
  }),
});
export const ChainTransaction = named(
  'ChainTransaction',
  'A transaction, the outputs it spends, and the transactions that spend its own.',
).object(
  {
    ...SUMMARY,
    block_hash: Type.String({ description: 'Hash of its block.' }),
    confirmations: Count('Blocks from its own to the last one: 1 in the last block.'),
    version: Uint64({ description: 'Version of the format.', examples: [6] }),
    first_input: Count('Index of the first input listed.'),
    inputs: Type.Array(Input, {
      description: `At most ${MAX_LISTED}, from \`first_input\` on; fewer when what they spend is large.`,
    }),
    first_output: Count('Index of the first output listed.'),
    outputs: Type.Array(Type.Object({ ...OUTPUT, spent_by: SpentBy }), {
      description: `Outputs, then fees; at most ${MAX_LISTED}, from \`first_output\` on.`,
    }),
    trade: Nullable(Trade, { description: 'Null unless it is part of a trade.' }),
    as_of_block: AsOfBlock,
  },
  {
    ...EXAMPLE_SUMMARY,
    block_hash: EXAMPLE_BLOCK_HASH,
    confirmations: 1,
    version: 6,
    first_input: 0,
    inputs: [
      {
        source: { tx_hash: EXAMPLE_TX_HASH, ...EXAMPLE_OUTPUT, block_num: 3 },
        script: [{ kind: 'op', value: 'OP_DUP' }],
      },
    ],
    first_output: 0,
    outputs: [{ ...EXAMPLE_OUTPUT, spent_by: null }],
    trade: null,
    as_of_block: 12,
  },
);

const OutputParams = Type.Object({
  tx_hash: TransactionHash(),
  n: Int64({ maximum: 0x7fff_ffff, description: 'Index of the output; fees come after the outputs.', examples: [0] }),
});
export const ChainOutput = named('ChainOutput', 'An output, and the transaction that spends it.').object(
  {
    tx_hash: TransactionHash(),
    ...OUTPUT,
    block_num: Height('Number of the block that made it.'),
    spent_by: SpentBy,
    as_of_block: AsOfBlock,
  },
  { tx_hash: EXAMPLE_TX_HASH, ...EXAMPLE_OUTPUT, block_num: 12, spent_by: null, as_of_block: 12 },
);

const SearchQuery = Type.Object({
  q: Type.String({
    minLength: 1,
    maxLength: MAX_NAME,
    description:
      'The number of a block, or a hash of a block, transaction or item, or an address: whole, or six or more characters ' +
      'of its beginning; or words of the metadata of items, or their beginnings.',
    examples: [EXAMPLE_TX_HASH],
  }),
});
const SEARCH_KINDS = ['block', 'transaction', 'item', 'address'] as const;
export const SearchResponse = named('SearchResponse', 'What was found.').object(
  {
    found: Type.Array(
      Type.Object({
        kind: Enum(SEARCH_KINDS, { description: 'What it is.' }),
        name: Type.String({ description: 'Its hash, or the address.' }),
        block_num: Nullable(Int64(), { description: 'Number of the block, or of the block of the transaction.' }),
      }),
      { description: 'What the text names, at most 8 of a kind.' },
    ),
  },
  { found: [{ kind: 'transaction', name: EXAMPLE_TX_HASH, block_num: 12 }] },
);

export const explorer = section('Explorer');

export const OFF = ['index_off', 'index_incomplete'] as const;
/** Errors of operations that read data that may be in an object store. */
export const READS = [...OFF, 'archive_incomplete'] as const;
export const AS_OF =
  'An extension of the contract, answered from the index of the node (`storage.index`). Its ETag changes with each block.';

export const chainOperations = [
  explorer.get('getChainIndex', '/v1/chain/index', {
    summary: 'How far the index of the chain is',
    description: 'An extension of the contract. Answers whether there is an index or not.',
    success: { 200: { description: 'How far it is.', schema: ChainIndexResponse } },
    errors: [],
  }),
  explorer.get('getChainBlocks', '/v1/chain/blocks', {
    summary: 'Blocks, newest first',
    description: AS_OF,
    query: ChainBlocksQuery,
    success: { 200: { description: 'A page of blocks.', schema: ChainBlocksResponse, cacheable: true } },
    errors: OFF,
  }),
  explorer.get('getChainBlock', '/v1/chain/blocks/{block}', {
    summary: 'What a list of blocks says of one',
    description: 'An extension of the contract. By number or hash; it never changes.',
    params: ChainBlockParams,
    success: { 200: { description: 'The block.', schema: ChainBlock, cacheable: true } },
    errors: [...READS, 'block_not_found'],
  }),
  explorer.get('getBlockTransactions', '/v1/chain/blocks/{block}/transactions', {
    summary: 'The transactions of a block, in order',
    description: 'An extension of the contract. A page never changes.',
    params: ChainBlockParams,
    query: PageQuery,
    success: { 200: { description: 'A page of transactions.', schema: BlockTransactionsResponse, cacheable: true } },
    errors: [...READS, 'block_not_found'],
  }),
  explorer.get('getChainTransaction', '/v1/chain/transactions/{tx_hash}', {
    summary: 'A transaction, the outputs it spends, and what spends its own',
    description: AS_OF,
    params: ChainTransactionParams,
    query: ChainTransactionQuery,
    success: { 200: { description: 'The transaction.', schema: ChainTransaction, cacheable: true } },
    errors: [...READS, 'entry_not_found'],
  }),
  explorer.get('getChainOutput', '/v1/chain/outputs/{tx_hash}/{n}', {
    summary: 'An output, and the transaction that spends it',
    description: AS_OF,
    params: OutputParams,
    success: { 200: { description: 'The output.', schema: ChainOutput, cacheable: true } },
    errors: [...READS, 'entry_not_found'],
  }),
  explorer.get('searchChain', '/v1/chain/search', {
    summary: 'What a number, hash or address names',
    description: 'An extension of the contract. Nothing found is an empty list.',
    query: SearchQuery,
    success: { 200: { description: 'What was found.', schema: SearchResponse } },
    errors: READS,
  }),
] as const;
