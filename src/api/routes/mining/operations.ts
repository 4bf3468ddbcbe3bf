/** The operations of nodes that mine. */

import { section } from '../../operation.js';
import { Int64, Nullable, named } from '../../schemas/scalars.js';
import { BlockHeader, EXAMPLE_HEADER } from '../storage/operations.js';

const mining = section('Mining');

/** The current block of a miner: its header and reward. */
const CurrentBlockResponse = named('CurrentBlockResponse', 'The block being mined; null before the first.').object(
  {
    block: Nullable(
      named('CurrentBlock', 'A header to find a nonce for, and its reward.').object(
        { block: BlockHeader, reward: Int64({ description: 'Block reward in raw token units.' }) },
        { block: EXAMPLE_HEADER, reward: 3261259526 },
      ),
    ),
  },
  { block: null },
);

export const getCurrentBlock = mining.get('getCurrentBlock', '/v1/mining/current-block', {
  summary: 'The block being mined',
  success: { 200: { description: 'The block; null before the first.', schema: CurrentBlockResponse } },
  errors: ['not_mining'],
});

export const miningOperations = [getCurrentBlock] as const;
