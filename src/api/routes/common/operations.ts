/** The operations that every node serves. */

import { type Static, Type } from '@sinclair/typebox';
import { OPERATOR_TYPES } from '../../../lib/roles.js';
import { section } from '../../operation.js';
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
    status: Enum(['ok', 'degraded', 'unavailable']),
    reasons: Type.Array(Type.String(), { description: 'Why the node is degraded or not ready; empty when it is ok.' }),
  },
  { status: 'ok', reasons: [] },
);
export type HealthResponse = Static<typeof HealthResponse>;

const common = section('Common');
const health = section('Health', 'node');

export const getDebug = common.get('getDebug', '/v1/debug', {
  summary: 'What this node is, what it serves, and its peers',
  success: { 200: { description: 'Facts about the node.', schema: DebugData } },
  errors: [],
});

export const getOpenApi = common.get('getOpenApi', '/v1/openapi.json', {
  summary: 'The OpenAPI description of this node’s routes',
  success: {
    200: {
      description: 'An OpenAPI 3.1 document.',
      schema: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
      cacheable: true,
    },
  },
  errors: [],
});

export const getDocs = common.get('getDocs', '/v1/docs', {
  summary: 'A page to read about the routes of this node and to try them',
  success: {
    200: {
      description: 'A web page that loads nothing from elsewhere.',
      schema: Type.String(),
      media: 'text/html',
      cacheable: true,
    },
  },
  errors: [],
});

export const getLiveness = health.get('getLiveness', '/livez', {
  summary: 'Whether the process answers',
  success: { 200: { description: 'It does.', schema: HealthResponse } },
  errors: [],
});

export const getReadiness = health.get('getReadiness', '/readyz', {
  summary: 'Whether the node can do its work',
  description:
    'For load balancers: a node that answers 503 should get no traffic. A degraded one does its work but for a part. The reasons are listed.',
  success: {
    200: { description: 'It can.', schema: HealthResponse },
    503: {
      description: 'It cannot now; the body says why.',
      schema: HealthResponse,
      example: { status: 'unavailable', reasons: ['the journal is being read'] },
    },
  },
  errors: [],
});

export const commonOperations = [getDebug, getOpenApi, getDocs, getLiveness, getReadiness] as const;
