/** Names of requests: the client's own when it is harmless, else one of ours (decision H7). */

import type { IncomingMessage } from 'node:http';
import { toHex } from '../../lib/bytes.js';
import type { Random } from '../../lib/random.js';

const SANE = /^[A-Za-z0-9._:-]{1,128}$/;
/** Bytes that keep the ids of two runs of a node apart. */
const RUN_BYTES = 4;

/** The id of a request: `x-request-id` if it is sane, else `<run>-<count>`. */
export function createRequestIds(random: Random): (request: Pick<IncomingMessage, 'headers'>) => string {
  const run = toHex(random.bytes(RUN_BYTES));
  let count = 0;
  return ({ headers }) => {
    const given = headers['x-request-id'];
    if (typeof given === 'string' && SANE.test(given)) return given;
    count++;
    return `${run}-${count.toString(36)}`;
  };
}
