/** Makes the links of a node from its configuration. */

import type { NodeInfo, NodePeer } from '../api/options.js';
import type { Genesis } from '../chain/genesis.js';
import type { Config } from '../config/schema.js';
import type { KeyPair } from '../crypto/ed25519.js';
import { programVersion } from '../lib/program-files.js';
import { factsOf, NODE_ROLES, type NodeRole, OPERATOR_TYPES } from '../lib/roles.js';
import type { HasClock, HasLogger, HasMetrics, HasRandom } from '../observability/modules.js';
import { LinkNetwork } from '../peers/link-network.js';
import type { Link, PeerNetwork } from '../peers/network.js';
import { WebSocketTransport } from '../peers/transport/websocket-transport.js';
import { networkRules } from './network-rules.js';
import { readTlsFiles } from './tls-files.js';

export interface NodeLinksModules extends HasClock, HasLogger, HasMetrics, HasRandom {
  readonly genesis: Genesis;
  readonly nodeKey: KeyPair;
  readonly maxSockets: number;
}

/** Makes the network of a node, without starting it. Throws `invalid_config`. */
export async function createNodeLinks(config: Config, modules: NodeLinksModules): Promise<PeerNetwork> {
  const { peers, network, mining } = config;
  const tls = readTlsFiles(peers.tls);
  return new LinkNetwork(
    {
      network: network.name,
      role: config.node.role,
      rules: networkRules(config, modules.genesis),
      version: programVersion(),
      nodeKey: modules.nodeKey,
      listen: { host: peers.host, port: peers.port },
      peers: NODE_ROLES.flatMap((role) => peers[role]),
      ...(peers.advertise === undefined ? {} : { advertise: peers.advertise }),
      ...(network.secret === undefined ? {} : { secret: network.secret }),
      ...(mining.allowedKeys.length === 0 ? {} : { allowedKeys: { miner: mining.allowedKeys } }),
      limits: {
        maxLinks: peers.maxLinks,
        maxLinksPerAddress: peers.maxLinksPerAddress,
        dialTimeoutMs: peers.dialTimeoutMs,
        heartbeatMs: peers.heartbeatMs,
        reconnectMaxMs: peers.reconnectMaxMs,
      },
    },
    {
      ...modules,
      transport: new WebSocketTransport({ maxSockets: modules.maxSockets, ...(tls === undefined ? {} : { tls }) }),
    },
  );
}

/** Why no peer of a kind can be asked now; null when one can. */
export function missingPeer(kind: string, links: readonly Link[]): string | null {
  if (links.some(({ isSilent }) => !isSilent)) return null;
  return `no ${kind} ${links.length === 0 ? 'is linked' : 'that is linked answers'}`;
}

/** Facts about one node, for its API. */
export function nodeInfo(network: PeerNetwork, role: NodeRole): NodeInfo {
  return { type: () => factsOf(role).type, peers: () => linkedPeers(network), routesPow: {} };
}

/** The connected mempool and storage nodes (decision V20). */
export function linkedPeers(network: PeerNetwork): NodePeer[] {
  const peers: NodePeer[] = [];
  for (const { role, address, version } of network.links) {
    const of = version === undefined ? {} : { version };
    const type = OPERATOR_TYPES.find((one) => one === factsOf(role).type);
    if (type !== undefined) peers.push({ address, node_type: type, ...of });
  }
  return peers.sort((a, b) => (a.address < b.address ? -1 : 1));
}
