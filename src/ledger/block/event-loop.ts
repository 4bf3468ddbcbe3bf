/** Letting others work between the parts of a long computation. */

import { setImmediate } from 'node:timers/promises';

/** Resolves after pending I/O has had its turn. */
export const eventLoopTurn = (): Promise<void> => setImmediate();
