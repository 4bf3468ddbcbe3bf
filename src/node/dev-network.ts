/** Runs four nodes of one network in this process (decision V25), for `tessera dev` and for tests of the whole. */

import type { DevAccounts, DevAccountsOptions } from '../config/dev-accounts.js';
import { type DevConfigOptions, devAddressConfig, devConfig } from '../config/dev-config.js';
import { createDeferred } from '../lib/deferred.js';
import { NODE_ROLES, type NodeRole } from '../lib/roles.js';
import { Failure, type Service } from '../lib/service.js';
import type { NodeLogger } from '../observability/logger.js';
import { DevRecord } from './dev/dev-record.js';
import { JointApi } from './joint-api.js';
import { Node } from './node.js';

/** Clients are stopped before the nodes that they call. */
const STOP_ORDER = ['user', 'miner', 'mempool', 'storage'] as const satisfies readonly NodeRole[];

export interface DevNetworkOptions extends Omit<DevConfigOptions, 'genesisFile' | 'peers'> {
  /** The accounts of a new chain; one that is continued has those that it began with. */
  readonly accounts?: DevAccountsOptions;
}

export class DevNetwork implements Service {
  readonly #options: DevNetworkOptions;
  readonly #logger: NodeLogger;
  /** Undefined when the network has no address of its own. */
  readonly #joint: JointApi | undefined;
  readonly #started = new Map<NodeRole, Node>();
  readonly #failure = new Failure();
  readonly failed = this.#failure.promise;
  #record: DevRecord | undefined;

  constructor(options: DevNetworkOptions, modules: { readonly logger: NodeLogger }) {
    this.#options = options;
    this.#logger = modules.logger;
    const config = devAddressConfig(options);
    const common = { roles: NODE_ROLES, folder: options.dataDir, portOption: '--port', listenOn: options.host };
    this.#joint = config && new JointApi({ ...common, config }, { logger: this.#logger.child('network') });
  }

  /** Base URL of the API of the whole network, once started; undefined when it is off. */
  get url(): string | undefined {
    return this.#joint?.url;
  }

  /** The nodes, once started. */
  get nodes(): Readonly<Record<NodeRole, Node>> {
    return this.#perRole((node) => node);
  }

  /** Base URL of each node's API, once started. */
  get urls(): Readonly<Record<NodeRole, string>> {
    return this.#perRole((node) => node.apiUrl);
  }

  /** Who owns what in block 0, once started. */
  get accounts(): DevAccounts {
    return this.#chain.accounts;
  }

  /** The words that the keys of the accounts come from; null for the published keys. */
  get mnemonic(): string | null {
    return this.#chain.mnemonic;
  }

  /** Resolves when every node is up and block 0 is stored. */
  async start(): Promise<void> {
    await this.#joint?.start();
    this.#record = await DevRecord.open(this.#options.dataDir, this.#options.accounts);
    const chain = this.#startNode('storage').then(() => this.#startNode('mempool'));
    // Opening a wallet is slow on purpose. If the ports are known, the chain starts meanwhile.
    if (devConfig('mempool', this.#options).peers.port === 0) await chain;
    await Promise.all([chain, this.#startNode('miner'), this.#startNode('user')]);
    await Promise.race([this.#firstBlock(), this.failed]);
  }

  async stop(): Promise<void> {
    await this.#joint?.stop();
    for (const role of STOP_ORDER) await this.#started.get(role)?.stop();
  }

  async #startNode(role: NodeRole): Promise<void> {
    const peers = {
      ...(role === 'storage' ? {} : { storage: [this.#addressOf('storage')] }),
      ...(role === 'miner' || role === 'user' ? { mempool: [this.#addressOf('mempool')] } : {}),
    };
    const { genesisFile } = this.#chain;
    const config = devConfig(role, { ...this.#options, peers, ...(genesisFile === undefined ? {} : { genesisFile }) });
    const node = await Node.create(config, { logger: this.#logger.child(role), joint: this.#joint });
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

  get #chain(): DevRecord {
    if (this.#record === undefined) throw new Error('the network is not started');
    return this.#record;
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
