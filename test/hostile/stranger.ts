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
import { LinkNetwork } from '../../src/peers/link-network.js';
import { WebSocketTransport } from '../../src/peers/transport/websocket-transport.js';

/** What everybody can know of the network under attack: its name, and its rules, which are those of `config/dev.toml`. */
export const PUBLIC = { network: 'tessera-dev', genesisFile: 'config/genesis-dev.json' };

const SETTINGS = {
  maxLinks: 256,
  maxLinksPerAddress: 256,
  dialTimeoutMs: 5_000,
  heartbeatMs: 10_000,
  reconnectMaxMs: 1_000,
};

/** A node of the given role with a key of its own and without the secret; not started, and it can dial all the same. */
export async function createStranger(role: NodeRole): Promise<LinkNetwork> {
  const genesis = await readGenesis(PUBLIC.genesisFile);
  const config = createConfig(role, { 'network.secret': 'no secret that anybody else knows' });
  return new LinkNetwork(
    {
      network: PUBLIC.network,
      role,
      nodeKey: generateKeyPair(systemRandom),
      listen: { host: '127.0.0.1', port: 0 },
      peers: [],
      rules: networkRules(config, genesis),
      limits: SETTINGS,
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
