/** The options of the links of a node, and what is wrong with them. */

import { type KeyPair, PUBLIC_KEY_LENGTH } from '../crypto/ed25519.js';
import { isHex } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import type { NodeRole } from '../lib/roles.js';
import { type HostAndPort, parseAddress } from './address.js';
import type { LinkBounds, LinkSettings } from './link/limits.js';
import type { NetworkRules } from './link/rules.js';

const MAX_NETWORK_NAME_LENGTH = 64;
const MIN_SECRET_LENGTH = 16;

export interface PeerNetworkOptions {
  /** Name of the network; nodes of another one are refused. */
  readonly network: string;
  readonly role: NodeRole;
  /** See `loadOrCreateNodeKey`. */
  readonly nodeKey: KeyPair;
  /** Address where links are accepted; port 0 takes a free one. */
  readonly listen: HostAndPort;
  /** `host:port` that peers are told to dial, where it is not the one listened on. */
  readonly advertise?: string;
  /** Addresses to keep a link to. */
  readonly peers: readonly string[];
  /** The operator's `network.secret`, at least 16 characters; without it no link is `trusted`. */
  readonly secret?: string;
  /** The rules of the network that this node follows. */
  readonly rules: NetworkRules;
  /** Version of the program, which other nodes show to people. */
  readonly version?: string;
  /** Node keys (hex) that may link in a role; a role that is not named is open to all. */
  readonly allowedKeys?: Partial<Readonly<Record<NodeRole, readonly string[]>>>;
  readonly limits: LinkSettings & Partial<LinkBounds>;
}

/** Throws `invalid_config`, `invalid_socket_address`. */
export function checkOptions(options: PeerNetworkOptions): void {
  const wrong = (message: string) => new TesseraError('invalid_config', message);
  if (options.network.length < 1 || options.network.length > MAX_NETWORK_NAME_LENGTH) {
    throw wrong(`network.name must have 1 to ${MAX_NETWORK_NAME_LENGTH} characters`);
  }
  if (options.secret !== undefined && options.secret.length < MIN_SECRET_LENGTH) {
    throw wrong(`network.secret must have at least ${MIN_SECRET_LENGTH} characters: take 64 random hex digits`);
  }
  for (const key of Object.values(options.allowedKeys ?? {}).flat()) {
    if (!isHex(key, PUBLIC_KEY_LENGTH)) throw wrong(`"${key}" is not a node key: a node key is 64 hex digits`);
  }
  for (const peer of options.peers) parseAddress(peer);
  if (options.advertise !== undefined) parseAddress(options.advertise);
}
