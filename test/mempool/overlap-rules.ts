/** The network of overlap-kill.e2e.test.ts, which two processes must know. */

import { account, rulesFor } from '../support/mempool.js';

export const alice = account('alice');
/** Block 0 is before the first cycle. */
export const BLOCKS_IN_CYCLE = 4;
export const OVERLAP_RULES = rulesFor([alice], { asertActivationHeight: 1 });
