/** The composition root, imported when a node is to be run. */

import type { DevModules } from './dev.js';
import type { StartModules } from './start.js';

const NODE_MODULE = '../node/node.js';
const DEV_NETWORK_MODULE = '../node/dev-network.js';

export const loadNode = (): Promise<StartModules> => import(NODE_MODULE);
export const loadDevNetwork = (): Promise<DevModules> => import(DEV_NETWORK_MODULE);
