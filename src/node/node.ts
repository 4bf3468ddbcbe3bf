/** The composition root: builds one node bottom-up, starts it so that no part answers before it can, and closes it top-down. */

import type { Genesis } from '../chain/genesis.js';
import type { Config } from '../config/schema.js';
import { fileError, isDiskFull } from '../db/database-error.js';
import { noteApi } from '../db/folder-lock.js';
import { isForgotten } from '../journal/journal.js';
import { type Clock, systemClock } from '../lib/clock.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import { pause } from '../lib/pause.js';
import { type Random, systemRandom } from '../lib/random.js';
import { ClosingStack, Failure, type Service } from '../lib/service.js';
import type { NodeLogger } from '../observability/logger.js';
import { MetricsRegistry, noMetrics } from '../observability/metrics.js';
import { type DescriptorPlan, descriptorLimit, planDescriptors, warnOfMachine } from './descriptors.js';
import { impersonable } from './dev/impersonation.js';
import { readGenesis } from './genesis-file.js';
import type { JointApi } from './joint-api.js';
import { listening } from './listening.js';
import { apiKeys, createNodeApi, type NodeApi, type NodeApiOptions } from './node-api.js';
import { type NodeFolder, openNodeFolder } from './node-folder.js';
import { createNodeLinks, linkedPeers, nodeInfo } from './node-links.js';
import { NodeMetrics, taskProgress } from './node-metrics.js';
import { producersOf } from './producers.js';
import { eventsOf } from './publish-events.js';
import type { Role, RoleContext, RoleServices } from './roles/role.js';
import { DEFINITIONS } from './roles/roles.js';

/** Milliseconds between two attempts to open a node whose disk is full. */
const ROOM_AGAIN_MS = 5_000;

export interface NodeModules {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger: NodeLogger;
  /** Terminal for progress bars; without one, progress goes to the log. */
  readonly terminal?: { write(text: string): unknown } | undefined;
  /** The address that the node has in common with others of its process. */
  readonly joint?: JointApi | undefined;
  /** False for a node that is reached at the joint address only. */
  readonly hasOwnApi?: boolean;
  /** True for a node of a dev network, whose chain may go back. */
  readonly isRevertible?: boolean;
  /** True when the wallet opens with the configured passphrase each time: see `WalletOptions`. */
  readonly keepsPassphrase?: boolean;
  /** True for a node of `tessera dev --impersonate`, whose chain no other node takes. */
  readonly impersonates?: boolean;
  /** True while a mempool node makes blocks only when somebody asks for them: see `MempoolModules`. */
  readonly isMiningHeld?: (() => boolean) | undefined;
  /** Number of nodes that share the files and sockets of this process; warnings of too few are the caller's. */
  readonly nodes?: number;
  /** Registry: by default a new one, if the metrics are on. */
  readonly registry?: MetricsRegistry | undefined;
}

export class Node implements Service {
  #config: Config;
  readonly #genesis: Genesis;
  readonly #descriptors: DescriptorPlan;
  readonly #modules: NodeModules & { readonly clock: Clock; readonly random: Random };
  readonly #registry: MetricsRegistry | undefined;
  readonly #abort = new AbortController();
  readonly #opened = new ClosingStack();
  /** Why the role has to be opened anew. */
  #behind: unknown;
  readonly #failure = new Failure();
  readonly failed = this.#failure.promise;
  #starting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #isUp = false;
  #context: RoleContext | undefined;
  #role: Role | undefined;
  #room: NodeFolder['room'] | undefined;
  #keys: NodeApi['keys'] | undefined;
  #metrics: NodeMetrics | undefined;
  #apiUrl = '';

  /** Makes the node; nothing is opened yet. An invalid configuration throws `invalid_config` here or in `start`. */
  static async create(config: Config, modules: NodeModules): Promise<Node> {
    const genesis = await readGenesis(config.network.genesisFile);
    return new Node(config, modules.impersonates === true ? impersonable(genesis) : genesis, modules);
  }

  private constructor(config: Config, genesis: Genesis, modules: NodeModules) {
    this.#config = config;
    this.#genesis = genesis;
    const { warning, ...plan } = planDescriptors(descriptorLimit(), modules.nodes);
    this.#descriptors = { ...plan, warning: modules.nodes === undefined ? warning : undefined };
    this.#modules = { clock: systemClock, random: systemRandom, ...modules };
    this.#registry = modules.registry ?? (config.metrics.enabled ? new MetricsRegistry(config.node.role) : undefined);
  }

  /** Base URL of the API, `http://host:port`, once started; empty for a node without an address of its own. */
  get apiUrl(): string {
    return this.#apiUrl;
  }

  /** Base URL of the metrics, once started; empty when they are off. */
  get metricsUrl(): string {
    return this.#metrics?.url ?? '';
  }

  get peerAddress(): string {
    return this.#context?.network.address ?? '';
  }

  get services(): RoleServices {
    return this.#role?.services ?? {};
  }

  /** Resolves when the API listens, the state is loaded and the links are being opened. */
  start(): Promise<void> {
    this.#starting ??= this.#openUntilItKeeps();
    return this.#starting;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#close();
    return this.#stopping;
  }

  /**
   * Applies the API keys, or the key in the node's key file if none is configured. Throws `invalid_config` and changes
   * nothing when one is invalid, `shutting_down` when it stops.
   */
  async reload({ api: { keys: configured } }: Config): Promise<void> {
    if (this.#stopping !== undefined) throw new TesseraError('shutting_down', 'the node is stopping');
    const context = this.#context;
    // A reload does not change whether keys are required at all; a restart does.
    const config = { ...this.#config, api: { ...this.#config.api, keys: configured } };
    const keys =
      context === undefined ? configured : await apiKeys(this.#apiOptions(config), this.#apiModules(context));
    this.#keys?.replace(keys);
    this.#config = { ...config, api: { ...config.api, keys } };
  }

  /** Opens the node, again when the journal went on without it (docs/adr/0042-snapshots-and-trimming.md) or a disk is full. */
  async #openUntilItKeeps(): Promise<void> {
    for (;;) {
      try {
        this.#behind = undefined;
        await this.#open();
        if (this.#behind === undefined) return;
        throw this.#behind;
      } catch (error) {
        const isFull = isDiskFull(error);
        if (!(isFull || isForgotten(error)) || this.#abort.signal.aborted) throw fileError(error);
        const what = isFull ? 'the disk is full, and the node opens when it has room' : 'the node opens again';
        this.#modules.logger[isFull ? 'error' : 'warn'](
          isFull ? {} : { err: error },
          `${what}: ${errorMessage(error)}`,
        );
        await this.#shut();
        if (isFull) await pause(ROOM_AGAIN_MS, this.#abort.signal);
      }
    }
  }

  #onRoleFailed(role: Role, error: unknown): void {
    if (role !== this.#role) return;
    if (!isForgotten(error) || this.#abort.signal.aborted) {
      this.#failure.report(error);
      return;
    }
    this.#behind = error;
    // A node that is starting notices by itself.
    if (!this.#isUp) return;
    this.#modules.logger.warn({ err: error }, `the node opens again: ${errorMessage(error)}`);
    this.#starting = this.#shut().then(() => this.#openUntilItKeeps());
    this.#starting.catch(this.#failure.report);
  }

  /** Closes everything but the metrics. The node comes back at the same ports. */
  async #shut(): Promise<void> {
    this.#isUp = false;
    this.#role = undefined;
    const { api, peers } = this.#config;
    this.#config = {
      ...this.#config,
      api: { ...api, port: portOf(this.#apiUrl) ?? api.port },
      peers: { ...peers, port: peers.port === 0 ? (portOf(`ws://${this.peerAddress}`) ?? 0) : peers.port },
    };
    await this.#closeAll();
  }

  async #open(): Promise<void> {
    const { logger, clock, random } = this.#modules;
    const metrics = this.#registry;
    const opened = this.#opened;
    const folder = await openNodeFolder(this.#config, { clock, random, logger, metrics, opened });
    this.#room = folder.room;
    warnOfMachine(this.#descriptors, logger);
    const network = await createNodeLinks(this.#config, {
      clock,
      random,
      nodeKey: folder.nodeKey,
      logger: logger.child('peers'),
      genesis: this.#genesis,
      metrics: metrics ?? noMetrics,
      maxSockets: this.#descriptors.peerSockets,
    });
    const context = this.#createContext(folder, network);
    const role = await this.#openRole(context);
    await this.#startMetrics(folder.dataDir.path);
    this.#opened.add(() => network.stop());
    this.#failure.follow(network);
    // The API comes first, so that it can say that the node is loading (decision V24).
    await this.#startApi(context, role);
    await role.load();
    await listening('peers.port', this.#config.peers, () => network.start());
    await role.start();
    this.#isUp = true;
  }

  async #close(): Promise<void> {
    this.#abort.abort();
    // A failed start may have opened things too.
    await this.#starting?.catch(() => undefined);
    await this.#metrics?.stop();
    await this.#closeAll();
  }

  async #closeAll(): Promise<void> {
    await this.#opened.closeAll((error) => {
      this.#modules.logger.error({ err: error }, `closing failed: ${errorMessage(error)}`);
    });
  }

  #createContext(folder: NodeFolder, network: RoleContext['network']): RoleContext {
    const metrics = this.#registry ?? noMetrics;
    const { logger, clock, random, terminal, isMiningHeld } = this.#modules;
    this.#context = {
      ...folder,
      config: this.#config,
      genesis: this.#genesis,
      producers: producersOf(this.#config, this.#genesis),
      network,
      clock,
      random,
      stopping: this.#abort.signal,
      keepsPassphrase: this.#modules.keepsPassphrase === true,
      isMiningHeld,
      logger: (component) => logger.child(component),
      metrics,
      progress: (name, options) =>
        taskProgress(name, options, { metrics, clock, terminal, logger: logger.child(name.replace('_', '-')) }),
    };
    return this.#context;
  }

  async #openRole(context: RoleContext): Promise<Role> {
    const role = await DEFINITIONS[context.config.node.role].open(context);
    this.#role = role;
    this.#opened.add(() => role.stop());
    role.failed.catch((error: unknown) => this.#onRoleFailed(role, error));
    return role;
  }

  /** Starts the metrics once: they go on while the node opens again. */
  async #startMetrics(folder: string): Promise<void> {
    if (this.#registry === undefined || this.#metrics !== undefined) return;
    const { metrics, node } = this.#config;
    const started = new NodeMetrics(
      { ...metrics, role: node.role, name: node.name, folder },
      {
        registry: this.#registry,
        clock: this.#modules.clock,
        logger: this.#modules.logger,
        readiness: () => this.#readiness(),
      },
    );
    this.#metrics = started;
    this.#failure.follow(started);
    await listening('metrics.port', metrics, () => started.start());
  }

  async #startApi(context: RoleContext, role: Role): Promise<void> {
    this.#joinOthers(context, role);
    if (this.#modules.hasOwnApi === false) {
      this.#opened.add(await noteApi(context.dataDir.path, this.#modules.joint?.url ?? ''));
      return;
    }
    const { host, port } = this.#config.api;
    const { app, keys } = await createNodeApi(this.#apiOptions(this.#config), {
      ...this.#apiModules(context),
      ...role.services,
      events: eventsOf(role.services, this.#modules.clock),
      isRevertible: this.#modules.isRevertible === true,
      node: nodeInfo(context.network, this.#config.node.role),
    });
    this.#opened.add(() => app.close());
    this.#keys = keys;
    this.#apiUrl = await listening('api.port', { host, port }, () => app.listen({ host, port }));
    this.#opened.add(await noteApi(context.dataDir.path, this.#apiUrl));
  }

  #joinOthers(context: RoleContext, { services }: Role): void {
    const { role } = this.#config.node;
    const peers = () => linkedPeers(context.network);
    const leave = this.#modules.joint?.join({ role, services, peers, ...this.#health });
    if (leave !== undefined) this.#opened.add(leave);
  }

  #apiOptions({ node, api, envelope }: Config): NodeApiOptions {
    return { roles: [node.role], api, envelope, folder: node.dataDir, maxSockets: this.#descriptors.apiSockets };
  }

  #apiModules({ clock, random, metrics }: RoleContext) {
    return { clock, random, metrics, logger: this.#modules.logger.child('api'), ...this.#health };
  }

  get #health() {
    return { readiness: () => this.#readiness(), degraded: () => this.#role?.degraded?.() ?? [] };
  }

  #readiness(): readonly string[] {
    const reasons = [...(this.#room?.problems ?? []), ...(this.#role?.readiness() ?? [])];
    return this.#isUp ? reasons : ['the node is starting', ...reasons];
  }
}

/** The port of an address; undefined when there is none yet. */
function portOf(url: string): number | undefined {
  const port = URL.canParse(url) ? Number(new URL(url).port) : 0;
  return port === 0 ? undefined : port;
}
