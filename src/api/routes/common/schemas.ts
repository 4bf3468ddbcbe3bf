/** Answers of every node: facts about itself, and its health. */

import { type Static, Type } from '@sinclair/typebox';
import { OPERATOR_TYPES } from '../../../lib/roles.js';
import { Enum, Int64, MapOf, named } from '../../schemas/scalars.js';

const PeerInfo = named('PeerInfo', 'A connected mempool or storage node.').object(
  {
    address: Type.String({ description: 'Socket address, ip:port.', examples: ['127.0.0.1:12300'] }),
    node_type: Enum(OPERATOR_TYPES, { description: 'What the peer is.' }),
    version: Type.Optional(
      Type.String({
        description: 'Version of its program, as it says; missing when it did not say.',
        examples: ['0.1.0'],
      }),
    ),
  },
  { address: '127.0.0.1:12300', node_type: 'Mempool', version: '0.1.0' },
);
export type PeerInfo = Static<typeof PeerInfo>;

export const DebugData = named('DebugData', 'What this node is and serves.').object(
  {
    node_api: Type.Array(Type.String(), { description: 'The /v1 paths mounted on this node.' }),
    node_peers: Type.Array(PeerInfo, { description: 'Connected mempool and storage nodes.' }),
    node_type: Type.String({
      description: 'Type of this node: Mempool, Storage, Miner, User, or several with slashes between them.',
      examples: ['Miner/User'],
    }),
    routes_pow: MapOf(Int64(), { description: 'Proof-of-work difficulty by route; empty when none is asked for.' }),
  },
  {
    node_api: ['/v1/debug', '/v1/supply'],
    node_peers: [{ address: '127.0.0.1:12330', node_type: 'Storage', version: '0.1.0' }],
    node_type: 'Mempool',
    routes_pow: {},
  },
);
export type DebugData = Static<typeof DebugData>;

export const HealthResponse = named('HealthResponse', 'Health of the node.').object(
  {
    status: Enum(['ok', 'unavailable']),
    reasons: Type.Array(Type.String(), { description: 'Why the node is not ready; empty when it is.' }),
  },
  { status: 'ok', reasons: [] },
);
export type HealthResponse = Static<typeof HealthResponse>;
