/** What the commands for a running dev network have in common: where it is, and what to say when it is none. */

import { NodeClient } from '../client/client.js';
import { JOINT_API_PORT } from '../config/placing.js';
import { isTesseraError, TesseraError } from '../lib/errors.js';
import type { FlagSpec, ParsedArgs } from './command.js';
import { checkUrl } from './node-access.js';

const DEFAULT_URL = `http://127.0.0.1:${JOINT_API_PORT}`;
/** Milliseconds for one request: longer than the network takes for one, whatever it is. */
const TIMEOUT_MS = 60_000;

export const DEV_URL_FLAG: FlagSpec = {
  name: 'url',
  short: 'u',
  value: 'URL',
  description: `The one address of the network of \`tessera dev\`. Default: ${DEFAULT_URL}`,
};

/** A client for the network that is meant. Throws `UsageError`. */
export function devClient(args: ParsedArgs): NodeClient {
  return new NodeClient({ url: checkUrl(args.value('url') ?? DEFAULT_URL), timeoutMs: TIMEOUT_MS });
}

/** Does something that only dev networks do, and says so when the network is none. */
export async function onDevNetwork<T>(client: NodeClient, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isTesseraError(error, 'not_found')) throw error;
    const message = `${client.url} is not the one address of a dev network: only \`tessera dev\` does this`;
    throw new TesseraError('not_found', message, { cause: error });
  }
}
