/** The default ports of each role. */

import type { NodeRole } from '../lib/roles.js';

type Ports = Readonly<Record<NodeRole, number>>;

/** Ports of the HTTP API. */
export const API_PORTS: Ports = { storage: 3001, mempool: 3003, miner: 3004, user: 3000 };

/** Port of the HTTP API of several nodes at one address. */
export const JOINT_API_PORT = 8080;

/** Ports of links between nodes. */
export const PEER_PORTS: Ports = { storage: 12_330, mempool: 12_300, miner: 12_340, user: 12_360 };

/** Ports of the metrics. */
export const METRICS_PORTS: Ports = { storage: 9301, mempool: 9303, miner: 9304, user: 9300 };
