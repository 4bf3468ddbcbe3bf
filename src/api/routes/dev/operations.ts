/** The operations of a dev network, all under /v1/dev. No other network has them, so they are in no document but that of dev. */

import { section } from '../../operation.js';
import {
  AutomineRequest,
  AutomineResponse,
  DevFactsResponse,
  EmptyRequest,
  FaucetRequest,
  FaucetResponse,
  MakeBlocksRequest,
  MakeBlocksResponse,
  SavedStateResponse,
  SnapshotParams,
  SnapshotResponse,
  SnapshotsResponse,
  TimeRequest,
  TimeResponse,
  TraceRequest,
  TraceResponse,
} from './schemas.js';

/** Those that change the network are open where dev networks are, on loopback; elsewhere they ask for a key. */
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
