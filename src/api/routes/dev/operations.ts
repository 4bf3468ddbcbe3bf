/** The operations of a dev network, with their schemas, all under /v1/dev. Other networks do not have them, so only `dev.json` lists them. */

import { type Static, Type } from '@sinclair/typebox';
import { DISPLAY_UNIT } from '../../../chain/constants.js';
import { section } from '../../operation.js';
import {
  Address,
  Amount,
  EXAMPLE_ADDRESS,
  EXAMPLE_TX_HASH,
  Int64,
  MapOf,
  Nullable,
  named,
  TransactionHash,
} from '../../schemas/scalars.js';
import { CreateTransaction, EXAMPLE_TRANSACTION } from '../../schemas/transaction.js';
import { MAX_BLOCKS_PER_REQUEST, MAX_TIME } from './service.js';

/** Raw units that the faucet pays when no amount is given: 1,000 display units. */
export const FAUCET_AMOUNT = 1_000n * DISPLAY_UNIT;

const BlockNumber = () => Int64({ description: 'Number of a block.', examples: [7] });
const UnixTime = (description: string) =>
  Type.Integer({ minimum: 0, maximum: MAX_TIME, description, examples: [1_800_000_000] });

const DevAccountView = named(
  'DevAccount',
  'An account that is funded in block 0 and whose keys everyone knows.',
).object(
  {
    account: Type.String({ description: 'The number of the account, or `user` or `miner`.', examples: ['1'] }),
    address: Address(),
    tokens: Amount({ description: 'Raw units that it has in block 0.' }),
  },
  { account: '1', address: EXAMPLE_ADDRESS, tokens: 7_207_200_000_000_000 },
);

export const DevFactsResponse = named('DevFactsResponse', 'What this dev network is.').object(
  {
    accounts: Type.Array(DevAccountView),
    urls: MapOf(Type.String(), { description: 'Base URL of the API of each node, by role.' }),
    interval_ms: Nullable(Int64(), { description: 'Milliseconds between blocks; null when they are made on demand.' }),
    automine: Type.Boolean({ description: 'False while blocks are made only for who asks for them.' }),
    time: UnixTime('Unix seconds on the clock of the chain.'),
  },
  {
    accounts: [{ account: '1', address: EXAMPLE_ADDRESS, tokens: 7_207_200_000_000_000 }],
    urls: { mempool: 'http://127.0.0.1:3003' },
    interval_ms: null,
    automine: true,
    time: 1_800_000_000,
  },
);

export const FaucetRequest = Type.Object(
  {
    address: Address({ description: 'Who is paid.' }),
    amount: Type.Optional(
      Amount({
        description: 'Raw units. By default 72,072,000,000, which is 1,000 display units.',
      }),
    ),
    from: Type.Optional(
      Address({ description: 'Address that is spent from without its key, in networks with --impersonate.' }),
    ),
    set: Type.Optional(
      Type.Boolean({
        description:
          'True: `amount` is the balance afterwards. What is too much goes to the miner, if the network impersonates.',
      }),
    ),
  },
  {
    $id: 'FaucetRequest',
    additionalProperties: false,
    description: 'A payment out of nothing but the wallet of the miner, or from any address.',
    examples: [{ address: EXAMPLE_ADDRESS, amount: 72_072_000 }],
  },
);

export const FaucetResponse = named('FaucetResponse', 'The payment of the faucet.').object(
  {
    tx_hash: Nullable(TransactionHash(), { description: 'Null when the balance was the wanted one.' }),
    to_address: Address({ description: 'Who is paid: with `set`, the miner if the balance was too large.' }),
    amount: Amount(),
    block_num: Nullable(BlockNumber(), {
      description:
        'The block that the payment is in; null when the network makes its blocks at an interval, or only for who asks for them.',
    }),
  },
  { tx_hash: EXAMPLE_TX_HASH, to_address: EXAMPLE_ADDRESS, amount: 72_072_000, block_num: 7 },
);

export const MakeBlocksRequest = Type.Object(
  {
    count: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MAX_BLOCKS_PER_REQUEST, description: 'How many; 1 by default.' }),
    ),
    time: Type.Optional(UnixTime('Time of the blocks. The clock goes on from there.')),
  },
  {
    $id: 'MakeBlocksRequest',
    additionalProperties: false,
    description: 'How many blocks to make.',
    examples: [{ count: 3 }, {}],
  },
);

export const MakeBlocksResponse = named('MakeBlocksResponse', 'The blocks that were made.').object(
  { block_nums: Type.Array(BlockNumber(), { description: 'Numbers of the blocks, in order.' }) },
  { block_nums: [7, 8, 9] },
);

const Automine = () =>
  Type.Boolean({ description: 'True: blocks are made by themselves. False: only for who asks for them.' });

export const AutomineRequest = Type.Object(
  { automine: Automine() },
  {
    $id: 'AutomineRequest',
    additionalProperties: false,
    description: 'Whether blocks are made by themselves from now on.',
    examples: [{ automine: false }],
  },
);

export const AutomineResponse = named('AutomineResponse', 'What holds now.').object(
  { automine: Automine() },
  { automine: false },
);

const TimeRequest = Type.Object(
  {
    time: Type.Optional(UnixTime('Sets the clock to this time.')),
    advance: Type.Optional(
      Type.Integer({ minimum: 0, maximum: MAX_TIME, description: 'Moves the clock on by so many seconds.' }),
    ),
  },
  {
    $id: 'DevTimeRequest',
    additionalProperties: false,
    minProperties: 1,
    maxProperties: 1,
    description: 'One of the two members.',
    examples: [{ advance: 86_400 }],
  },
);

const TimeResponse = named('DevTimeResponse', 'The clock of the chain.').object(
  { time: UnixTime('Unix seconds on the clock of the chain.') },
  { time: 1_800_000_000 },
);

export const EmptyRequest = Type.Object(
  {},
  { $id: 'EmptyRequest', additionalProperties: false, description: 'Nothing.', examples: [{}] },
);

const SnapshotId = () =>
  Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, description: 'Number of the snapshot.', examples: [1] });

const SnapshotParams = Type.Object({ id: SnapshotId() });

export const SnapshotResponse = named(
  'SnapshotResponse',
  'The chain, the wallets and the clock as they were at a moment.',
).object(
  {
    id: SnapshotId(),
    block_num: Int64({ description: 'Number of the last block in it.' }),
    time: UnixTime('Unix seconds on the clock of the chain.'),
  },
  { id: 1, block_num: 7, time: 1_800_000_000 },
);
export type SnapshotResponse = Static<typeof SnapshotResponse>;

export const SnapshotsResponse = named('SnapshotsResponse', 'The snapshots that are kept.').object(
  { snapshots: Type.Array(SnapshotResponse, { description: 'Oldest first.' }) },
  { snapshots: [{ id: 1, block_num: 7, time: 1_800_000_000 }] },
);

export const SavedStateResponse = named('SavedStateResponse', 'The state file that was written.').object(
  {
    file: Type.String({ description: 'Path of the file on the machine of the network.' }),
    bytes: Int64({ description: 'Its size.' }),
    block_num: Int64({ description: 'Number of the last block in it.' }),
  },
  { file: '/home/me/chain.state', bytes: 40_960, block_num: 7 },
);

export const TraceRequest = named('TraceRequest', 'A transaction, as POST /v1/transactions takes it.').object(
  { transaction: CreateTransaction },
  { transaction: EXAMPLE_TRANSACTION },
);

const TraceStep = named('TraceStep', 'An entry of a script, run.').object(
  {
    entry: Type.String({ description: 'An opcode, a number, a text in quotes, or the hex of a key or signature.' }),
    is_taken: Type.Boolean({ description: 'False in a branch that is not taken.' }),
    stack: Type.Array(Type.String(), { description: 'The last 20 entries of the stack afterwards, its top last.' }),
  },
  { entry: 'OP_ADD', is_taken: true, stack: ['3'] },
);

export const TraceResponse = named('TraceResponse', 'The scripts of a transaction, run.').object(
  {
    inputs: Type.Array(
      Type.Object({
        fault: Nullable(Type.String(), { description: 'Why the script is not true; null when it is.' }),
        steps: Type.Array(TraceStep, { description: 'Up to the one that fails.' }),
      }),
    ),
  },
  { inputs: [{ fault: null, steps: [{ entry: '3', is_taken: true, stack: ['3'] }] }] },
);

/** Operations that change the network are open where dev networks are, on loopback; elsewhere they ask for a key. */
const dev = section('Dev');

export const payFromFaucet = dev.post('payFromFaucet', '/v1/dev/faucet', {
  permission: 'pay',
  summary: 'Pays tokens to any address',
  description:
    'From the wallet of the miner, or with `from` out of any address, without its key, if the network impersonates. Where blocks are made on demand the answer comes when the payment is in a block; where ' +
    'they are made at an interval, or only for who asks, it comes at once.',
  body: { schema: FaucetRequest },
  success: { 200: { description: 'The payment.', schema: FaucetResponse } },
  errors: [
    'insufficient_funds',
    'payment_refused',
    'wrong_passphrase',
    'wallet_write_failed',
    'transaction_rejected',
    'double_spend',
    'shutting_down',
  ],
});

export const makeBlocks = dev.post('makeBlocks', '/v1/dev/blocks', {
  permission: 'admin',
  summary: 'Makes blocks now, even if they are empty',
  description: 'What waits for a block is in the first of them. The answer comes when all are stored.',
  body: { schema: MakeBlocksRequest, optional: true },
  success: { 200: { description: 'Numbers of the blocks.', schema: MakeBlocksResponse } },
  errors: ['mempool_unreachable', 'shutting_down'],
});

export const devOperations = [
  dev.get('getDevFacts', '/v1/dev', {
    summary: 'The accounts, addresses and clock of this dev network',
    success: { 200: { description: 'Facts about the network.', schema: DevFactsResponse } },
    errors: [],
  }),
  payFromFaucet,
  makeBlocks,
  dev.post('setAutomine', '/v1/dev/automine', {
    permission: 'admin',
    summary: 'Holds mining, or lets it go on',
    description:
      'While mining is held, admitted transactions wait, and only `POST /v1/dev/blocks` makes a block, even where blocks are made at ' +
      'an interval. When mining goes on, they are in the next block. A network that was started with --no-mining begins so.',
    body: { schema: AutomineRequest },
    success: { 200: { description: 'What holds now.', schema: AutomineResponse } },
    errors: ['mempool_unreachable', 'shutting_down'],
  }),
  dev.get('getDevTime', '/v1/dev/time', {
    summary: 'The clock of the chain',
    success: { 200: { description: 'Its time.', schema: TimeResponse } },
    errors: [],
  }),
  dev.post('setDevTime', '/v1/dev/time', {
    permission: 'admin',
    summary: 'Sets the clock of the chain, or moves it on',
    description:
      'All nodes go by it: the times of blocks, the expiry of trades, the times in histories. It goes on from there, and is ' +
      'never set to before the last block. Waiting times of nodes do not change.',
    body: { schema: TimeRequest },
    success: { 200: { description: 'Its new time.', schema: TimeResponse } },
    errors: ['shutting_down'],
  }),
  dev.post('traceScripts', '/v1/dev/trace', {
    reads: true,
    summary: 'Runs the scripts of a transaction step by step',
    description:
      'Nothing is posted. For each input: every entry of its script, the stack after it, and why the script is not true. That one is true ' +
      'does not mean that it may spend its output: that is the answer of POST /v1/transactions.',
    body: { schema: TraceRequest },
    success: { 200: { description: 'A trace for each input.', schema: TraceResponse } },
    errors: ['malformed_transaction'],
  }),
  dev.get('getSnapshots', '/v1/dev/snapshots', {
    summary: 'The snapshots that are kept',
    success: { 200: { description: 'Oldest first.', schema: SnapshotsResponse } },
    errors: [],
  }),
  dev.post('takeSnapshot', '/v1/dev/snapshots', {
    permission: 'admin',
    summary: 'Takes a snapshot of the chain, the wallets and the clock',
    description: 'The nodes are stopped for it and started again, on the same ports. The last 16 snapshots are kept.',
    body: { schema: EmptyRequest, optional: true },
    success: { 201: { description: 'The snapshot.', schema: SnapshotResponse } },
    errors: ['shutting_down'],
  }),
  dev.post('revertToSnapshot', '/v1/dev/snapshots/{id}/revert', {
    permission: 'admin',
    summary: 'Goes back to a snapshot',
    description:
      'The nodes stop and start again on the same ports. Event streams end; a reader that resumes gets the event `reset`, and ' +
      'forgets what it knows. All snapshots stay.',
    params: SnapshotParams,
    body: { schema: EmptyRequest, optional: true },
    success: { 200: { description: 'The snapshot.', schema: SnapshotResponse } },
    errors: ['not_found', 'shutting_down'],
  }),
  dev.post('saveState', '/v1/dev/state', {
    permission: 'admin',
    summary: 'Writes the state file now',
    description:
      'The file that --state names, which is also written when the network stops. The nodes are away for a moment.',
    body: { schema: EmptyRequest, optional: true },
    success: { 200: { description: 'The file.', schema: SavedStateResponse } },
    errors: ['write_failed', 'shutting_down'],
  }),
] as const;
