/**
 * The operations of a dev network, all under /v1/dev: a faucet, blocks on request, the clock, snapshots, the state file. No
 * other network has them, so they are in no document but that of dev.
 */

import { defineOperation } from '../../operation.js';
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
} from './schemas.js';

/** Parts that all of them share. */
const dev = { family: 'v1', tag: 'Dev' } as const;
/** Operations that change the network: open where dev networks are, on loopback; elsewhere they ask for a key. */
const change = { ...dev, method: 'POST', apiKey: true, permission: 'admin' } as const;

export const getDevFacts = defineOperation({
  ...dev,
  id: 'getDevFacts',
  method: 'GET',
  path: '/v1/dev',
  summary: 'The accounts, addresses and clock of this dev network',
  success: { 200: { description: 'Facts about the network.', schema: DevFactsResponse } },
  errors: [],
});

export const payFromFaucet = defineOperation({
  ...change,
  permission: 'pay',
  id: 'payFromFaucet',
  path: '/v1/dev/faucet',
  summary: 'Pays tokens to any address',
  description:
    'From the wallet of the miner. Where blocks are made on demand the answer comes when the payment is in a block; where ' +
    'they are made at an interval, or only for who asks, it comes at once.',
  body: { schema: FaucetRequest },
  success: { 200: { description: 'The payment.', schema: FaucetResponse } },
  errors: ['insufficient_funds', 'payment_refused', 'wrong_passphrase', 'wallet_write_failed', 'shutting_down'],
});

export const makeBlocks = defineOperation({
  ...change,
  id: 'makeBlocks',
  path: '/v1/dev/blocks',
  summary: 'Makes blocks now, even if they are empty',
  description: 'What waits for a block is in the first of them. The answer comes when all are stored.',
  body: { schema: MakeBlocksRequest, optional: true },
  success: { 200: { description: 'Numbers of the blocks.', schema: MakeBlocksResponse } },
  errors: ['mempool_unreachable', 'shutting_down'],
});

export const setAutomine = defineOperation({
  ...change,
  id: 'setAutomine',
  path: '/v1/dev/automine',
  summary: 'Holds mining, or lets it go on',
  description:
    'While mining is held, admitted transactions wait, and only `POST /v1/dev/blocks` makes a block, even where blocks are made at ' +
    'an interval. When mining goes on, they are in the next block. A network that was started with --no-mining begins so.',
  body: { schema: AutomineRequest },
  success: { 200: { description: 'What holds now.', schema: AutomineResponse } },
  errors: ['mempool_unreachable', 'shutting_down'],
});

export const getDevTime = defineOperation({
  ...dev,
  id: 'getDevTime',
  method: 'GET',
  path: '/v1/dev/time',
  summary: 'The clock of the chain',
  success: { 200: { description: 'Its time.', schema: TimeResponse } },
  errors: [],
});

export const setDevTime = defineOperation({
  ...change,
  id: 'setDevTime',
  path: '/v1/dev/time',
  summary: 'Sets the clock of the chain, or moves it on',
  description:
    'All nodes go by it: the times of blocks, the expiry of trades, the times in histories. It goes on from there, and is ' +
    'never set to before the last block. Waiting times of nodes do not change.',
  body: { schema: TimeRequest },
  success: { 200: { description: 'Its new time.', schema: TimeResponse } },
  errors: ['shutting_down'],
});

export const getSnapshots = defineOperation({
  ...dev,
  id: 'getSnapshots',
  method: 'GET',
  path: '/v1/dev/snapshots',
  summary: 'The snapshots that are kept',
  success: { 200: { description: 'Oldest first.', schema: SnapshotsResponse } },
  errors: [],
});

export const takeSnapshot = defineOperation({
  ...change,
  id: 'takeSnapshot',
  path: '/v1/dev/snapshots',
  summary: 'Takes a snapshot of the chain, the wallets and the clock',
  description: 'The nodes are stopped for it and started again, on the same ports. The last 16 snapshots are kept.',
  body: { schema: EmptyRequest, optional: true },
  success: { 201: { description: 'The snapshot.', schema: SnapshotResponse } },
  errors: ['shutting_down'],
});

export const revertToSnapshot = defineOperation({
  ...change,
  id: 'revertToSnapshot',
  path: '/v1/dev/snapshots/{id}/revert',
  summary: 'Goes back to a snapshot',
  description:
    'The nodes stop and start again on the same ports. Event streams end; a reader that resumes gets the event `reset`, and ' +
    'forgets what it knows. All snapshots stay.',
  params: SnapshotParams,
  body: { schema: EmptyRequest, optional: true },
  success: { 200: { description: 'The snapshot.', schema: SnapshotResponse } },
  errors: ['not_found', 'shutting_down'],
});

export const saveState = defineOperation({
  ...change,
  id: 'saveState',
  path: '/v1/dev/state',
  summary: 'Writes the state file now',
  description:
    'The file that --state names, which is also written when the network stops. The nodes are away for a moment.',
  body: { schema: EmptyRequest, optional: true },
  success: { 200: { description: 'The file.', schema: SavedStateResponse } },
  errors: ['write_failed', 'shutting_down'],
});

export const devOperations = [
  getDevFacts,
  payFromFaucet,
  makeBlocks,
  setAutomine,
  getDevTime,
  setDevTime,
  getSnapshots,
  takeSnapshot,
  revertToSnapshot,
  saveState,
] as const;
