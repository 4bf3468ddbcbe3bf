/** Shared parts of the commands for a running dev network: its address, and the advice when there is none. */

import type { NodeClient } from '../client/client.js';
import { nodeFetch } from '../client/node-fetch.js';
import { JOINT_API_PORT } from '../config/placing.js';
import { isTesseraError, TesseraError } from '../lib/errors.js';
import type { CliContext, FlagSpec, ParsedArgs } from './command.js';
import { CommandClient, TIMEOUT_FLAG } from './command-client.js';
import { checkUrl } from './node-access.js';

const DEFAULT_URL = `http://127.0.0.1:${JOINT_API_PORT}`;

export const DEV_FLAGS: readonly FlagSpec[] = [
  {
    name: 'url',
    short: 'u',
    value: 'URL',
    description: `The shared address of the network of \`tessera dev\`. Default: ${DEFAULT_URL}`,
  },
  TIMEOUT_FLAG,
];

export function devClient(args: ParsedArgs, context: CliContext): CommandClient {
  return new CommandClient({ url: checkUrl(args.value('url') ?? DEFAULT_URL), fetch: nodeFetch() }, args, context);
}

/** Does something that only dev networks do, and says so when the network is none. */
export async function onDevNetwork<T>(client: NodeClient, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isTesseraError(error, 'not_found')) throw error;
    const message = `${client.url} is not the shared address of a dev network: only \`tessera dev\` does this`;
    throw new TesseraError('not_found', message, { cause: error });
  }
}
