/** Shared parts of the wallet commands: the flags that name a node with a wallet, and a client for it. */

import type { LoadedConfig } from '../../config/load.js';
import { WALLET_ROLES } from '../../lib/roles.js';
import { type CliContext, type FlagSpec, flag, type ParsedArgs } from '../command.js';
import { type CommandClient, TIMEOUT_FLAG } from '../command-client.js';
import { CONFIG_FLAGS } from '../config-flags.js';
import { connect as connectTo, nodeConfig, nodeFlags, type WantedNode } from '../node-access.js';
import { ASKING_EXITS } from './prompt.js';

const ROLE = 'The node whose wallet it is: user (the default) or miner.';

export const ROLE_FLAGS: readonly FlagSpec[] = [
  flag('-r, --role ROLE', ROLE, { completes: WALLET_ROLES }),
  ...CONFIG_FLAGS.filter(({ name }) => name === 'config' || name === 'data'),
];

export const NODE_FLAGS: readonly FlagSpec[] = [
  ...nodeFlags(
    WALLET_ROLES,
    ROLE,
    'where the node of the data folder listens, else as configured: http://127.0.0.1:3000 for a user.',
  ),
  TIMEOUT_FLAG,
];

export const YES_FLAG: FlagSpec = flag('-y, --yes', 'Asks nothing.');

export const NODE_EXITS: Readonly<Record<number, string>> = {
  1: 'failed: the node refused, or cannot be reached',
};

export const ASKING_NODE_EXITS = { ...NODE_EXITS, ...ASKING_EXITS };

const WALLET_NODE: WantedNode = {
  roles: WALLET_ROLES,
  refusal: (role) => `a ${role} node has no wallet: use --role user or --role miner`,
};

/** The configuration of the node whose wallet is meant; the role is user when nothing says otherwise. */
export function walletConfig(args: ParsedArgs, context: CliContext): LoadedConfig {
  return nodeConfig(args, context, WALLET_NODE);
}

/** A client for the node that flags, environment and configuration name. Throws `UsageError`. */
export function connect(args: ParsedArgs, context: CliContext): CommandClient {
  return connectTo(args, context, WALLET_NODE);
}
