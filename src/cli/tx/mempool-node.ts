/** The mempool node that `tessera tx` asks and sends to. */

import type { NodeClient } from '../../client/client.js';
import type { CliContext, FlagSpec, ParsedArgs } from '../command.js';
import { accessNode, connectTo, nodeFlags } from '../node-access.js';

const MEMPOOL_NODE = {
  roles: ['mempool'],
  fallback: 'mempool',
  refusal: (role: string) =>
    `transactions go to a mempool node, and this is a ${role} node: name one with --url or --role mempool`,
} as const;

export const MEMPOOL_FLAGS: readonly FlagSpec[] = nodeFlags(
  MEMPOOL_NODE.roles,
  'mempool, which is the default.',
  'where the mempool node of the data folder listens, else as configured: http://127.0.0.1:3003.',
);

export function connectToMempool(args: ParsedArgs, context: CliContext): NodeClient {
  return connectTo(accessNode(args, context, MEMPOOL_NODE));
}
