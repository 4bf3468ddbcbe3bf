/** Four nodes of one network in this process (decision V25): for `tessera dev` and for tests of the whole. */

import { type DevConfigOptions, devConfig } from '../config/dev-config.js';
import { createDeferred } from '../lib/deferred.js';
import { NODE_ROLES, type NodeRole } from '../lib/roles.js';
import type { NodeLogger } from '../observability/logger.js';
import { createNode, type Node } from './node.js';

export interface DevNetworkOptions extends DevConfigOptions {
  readonly logger: NodeLogger;
}

export interface DevNetwork {
  /** Resolves when every node is up and block 0 is stored. */
  start(): Promise<void>;
  stop(): Promise<void>;
  readonly failed: Promise<never>;
  readonly nodes: Readonly<Record<NodeRole, Node>>;
  /** Base URL of each node's API, once started. */
  readonly urls: Readonly<Record<NodeRole, string>>;
}

/** Who asks is stopped before who answers. */
const STOP_ORDER = ['user', 'miner', 'mempool', 'storage'] as const satisfies readonly NodeRole[];

export async function createDevNetwork({ logger, ...options }: DevNetworkOptions): Promise<DevNetwork> {
  const nodes = new Map<NodeRole, Node>();
  const failure = createDeferred<never>();
  failure.promise.catch(() => undefined);

  async function startNode(role: NodeRole): Promise<void> {
    const peers = {
      ...(role === 'mempool' ? { storage: [addressOf('storage')] } : {}),
      ...(role === 'miner' || role === 'user' ? { mempool: [addressOf('mempool')] } : {}),
    };
    const node = await createNode(devConfig(role, { ...options, peers }), { logger: logger.child(role) });
    nodes.set(role, node);
    node.failed.catch(failure.reject);
    await node.start();
  }

  function nodeOf(role: NodeRole): Node {
    const node = nodes.get(role);
    if (node === undefined) throw new Error(`the ${role} node is not started`);
    return node;
  }

  /** Resolves when block 0 is stored. */
  async function firstBlock(): Promise<void> {
    const mempool = nodeOf('mempool').services.mempool;
    if (mempool === undefined || mempool.figures().height >= 0) return;
    const stored = createDeferred<void>();
    const off = mempool.blockConfirmed.on(() => stored.resolve());
    await stored.promise;
    off();
  }

  function addressOf(role: NodeRole): string {
    const { host, port } = devConfig(role, options).peers;
    return port === 0 ? nodeOf(role).peerAddress : `${host}:${port}`;
  }

  const perRole = <T>(read: (node: Node) => T): Record<NodeRole, T> =>
    Object.fromEntries(NODE_ROLES.map((role) => [role, read(nodeOf(role))])) as Record<NodeRole, T>;

  return {
    failed: failure.promise,
    get nodes() {
      return perRole((node) => node);
    },
    get urls() {
      return perRole((node) => node.apiUrl);
    },
    async start() {
      const chain = startNode('storage').then(() => startNode('mempool'));
      // Opening a wallet takes a while on purpose. Where ports are known beforehand the chain starts meanwhile.
      if (devConfig('mempool', options).peers.port === 0) await chain;
      await Promise.all([chain, startNode('miner'), startNode('user')]);
      await Promise.race([firstBlock(), failure.promise]);
    },
    async stop() {
      for (const role of STOP_ORDER) await nodes.get(role)?.stop();
    },
  };
}
