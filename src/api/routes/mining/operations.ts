/** The operations of nodes that mine. */

import { defineOperation } from '../../operation.js';
import { CurrentBlockResponse } from './schemas.js';

export const getCurrentBlock = defineOperation({
  id: 'getCurrentBlock',
  family: 'v1',
  method: 'GET',
  path: '/v1/mining/current-block',
  tag: 'Mining',
  summary: 'The block being mined',
  success: { 200: { description: 'The block; null before the first.', schema: CurrentBlockResponse } },
  errors: ['not_mining'],
});

export const miningOperations = [getCurrentBlock] as const;
