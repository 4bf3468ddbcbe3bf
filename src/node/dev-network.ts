/** Runs four nodes of one network in this process (decision V25), for `tessera dev` and for tests of the whole. */

import { type DevConfigOptions, devConfig } from '../config/dev-config.js';
import { createDeferred } from '../lib/deferred.js';
import { NODE_ROLES, type NodeRole } from '../lib/roles.js';
import { Failure, type Service } from '../lib/service.js';
import type { NodeLogger } from '../observability/logger.js';
import { Node } from './node.js';

/** Clients are stopped before the nodes that they call. */
const STOP_ORDER = ['user', 'miner', 'mempool', 'storage'] as const satisfies readonly NodeRole[];

export class DevNetwork implements Service {
  readonly #options: DevConfigOptions;
  readonly #logger: NodeLogger;
  readonly #started = new Map<NodeRole, Node>();
  readonly #failure = new Failure();
  readonly failed = this.#failure.promise;

  constructor(options: DevConfigOptions, modules: { readonly logger: NodeLogger }) {
    this.#options = options;
    this.#logger = modules.logger;
  }

  /** The nodes, once started. */
  get nodes(): Readonly<Record<NodeRole, Node>> {
    return this.#perRole((node) => node);
  }

  /** Base URL of each node's API, once started. */
  get urls(): Readonly<Record<NodeRole, string>> {
    return this.#perRole((node) => node.apiUrl);
  }

  /** Resolves when every node is up and block 0 is stored. */
  async start(): Promise<void> {
    const chain = this.#startNode('storage').then(() => this.#startNode('mempool'));
    // Opening a wallet is slow on purpose. If the ports are known, the chain starts meanwhile.
    if (devConfig('mempool', this.#options).peers.port === 0) await chain;
    await Promise.all([chain, this.#startNode('miner'), this.#startNode('user')]);
    await Promise.race([this.#firstBlock(), this.failed]);
  }

  async stop(): Promise<void> {
    for (const role of STOP_ORDER) await this.#started.get(role)?.stop();
  }

  async #startNode(role: NodeRole): Promise<void> {
    const peers = {
      ...(role === 'storage' ? {} : { storage: [this.#addressOf('storage')] }),
      ...(role === 'miner' || role === 'user' ? { mempool: [this.#addressOf('mempool')] } : {}),
    };
    const config = devConfig(role, { ...this.#options, peers });
    const node = await Node.create(config, { logger: this.#logger.child(role) });
    this.#started.set(role, node);
    this.#failure.follow(node);
    await node.start();
  }

  /** Resolves when block 0 is stored. */
  async #firstBlock(): Promise<void> {
    const { mempool } = this.#node('mempool').services;
    if (mempool === undefined || mempool.figures().height >= 0) return;
    const stored = createDeferred<void>();
    const off = mempool.blockConfirmed.on(() => stored.resolve());
    await stored.promise;
    off();
  }

  #addressOf(role: NodeRole): string {
    const { host, port } = devConfig(role, this.#options).peers;
    return port === 0 ? this.#node(role).peerAddress : `${host}:${port}`;
  }

  #node(role: NodeRole): Node {
    const node = this.#started.get(role);
    if (node === undefined) throw new Error(`the ${role} node is not started`);
    return node;
  }

  #perRole<T>(read: (node: Node) => T): Record<NodeRole, T> {
    return Object.fromEntries(NODE_ROLES.map((role) => [role, read(this.#node(role))])) as Record<NodeRole, T>;
  }
}
