/** A peer that speaks the protocol, knows no secret and lies: what the attacks on links are made of. */

import { createConfig } from '../../src/config/load.js';
import { generateKeyPair } from '../../src/crypto/ed25519.js';
import { systemClock } from '../../src/lib/clock.js';
import { silentLogger } from '../../src/lib/logger.js';
import { systemRandom } from '../../src/lib/random.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { readGenesis } from '../../src/node/genesis-file.js';
import { networkRules } from '../../src/node/network-rules.js';
import { noMetrics } from '../../src/observability/metrics.js';
import type { HostAndPort } from '../../src/peers/address.js';
import type { Identity } from '../../src/peers/link/handshake.js';
import { LinkNetwork } from '../../src/peers/link-network.js';
import { WebSocketTransport } from '../../src/peers/transport/websocket-transport.js';
import { SETTINGS } from '../support/peers.js';

/** What everybody can know of the network under attack: its name, and its rules, which are those of `config/dev.toml`. */
export const PUBLIC = { network: 'tessera-dev', genesisFile: 'config/genesis-dev.json' };
/** The secret of the operator under attack, for the good nodes of the tests. */
export const OPERATOR_SECRET = 'loopback-only-test-secret';

/** Who a stranger says it is: a new key each time, the public rules, no secret. */
export async function publicIdentity(role: NodeRole): Promise<Identity> {
  const config = createConfig(role, { 'network.secret': 'no secret that anybody else knows' });
  return {
    network: PUBLIC.network,
    role,
    address: '127.0.0.1:9',
    nodeKey: generateKeyPair(systemRandom),
    secret: undefined,
    rules: networkRules(config, await readGenesis(PUBLIC.genesisFile)),
  };
}

interface PeerOptions {
  /** Of the operator; without it the peer is a stranger. */
  readonly secret?: string;
  /** A free port by default. */
  readonly listen?: HostAndPort;
}

/** A node of the given role with a key of its own. Not started; it can dial all the same. */
export async function createPeer(role: NodeRole, { secret, listen }: PeerOptions = {}): Promise<LinkNetwork> {
  const { network, nodeKey, rules } = await publicIdentity(role);
  return new LinkNetwork(
    {
      network,
      role,
      nodeKey,
      rules,
      listen: listen ?? { host: '127.0.0.1', port: 0 },
      peers: [],
      limits: SETTINGS,
      ...(secret === undefined ? {} : { secret }),
    },
    {
      transport: new WebSocketTransport(),
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      metrics: noMetrics,
    },
  );
}
