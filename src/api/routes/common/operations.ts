/** The operations that every node serves. */

import { Type } from '@sinclair/typebox';
import { section } from '../../operation.js';
import { DebugData, HealthResponse } from './schemas.js';

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
  description: 'For load balancers: a node that answers 503 should get no traffic. The reasons are listed.',
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
