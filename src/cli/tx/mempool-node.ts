/** The mempool node that `tessera tx` asks and sends to. */

import type { CliContext, FlagSpec, ParsedArgs } from '../command.js';
import { type CommandClient, TIMEOUT_FLAG } from '../command-client.js';
import { connect, nodeFlags } from '../node-access.js';

const MEMPOOL_NODE = {
  roles: ['mempool'],
  refusal: (role: string) =>
    `transactions go to a mempool node, and this is a ${role} node: name one with --url or --role mempool`,
} as const;

export const MEMPOOL_FLAGS: readonly FlagSpec[] = [
  ...nodeFlags(
    MEMPOOL_NODE.roles,
    'mempool, which is the default.',
    'where the mempool node of the data folder listens, else as configured: http://127.0.0.1:3003.',
  ),
  TIMEOUT_FLAG,
];

export function connectToMempool(args: ParsedArgs, context: CliContext): CommandClient {
  return connect(args, context, MEMPOOL_NODE);
}
