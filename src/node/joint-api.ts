/** One address for several nodes of this process (docs/adr/0035-one-address.md); each joins when it has its services. */

import type { FastifyInstance } from 'fastify';
import type { ApiKeys } from '../api/http/api-key.js';
import type { NodePeer, NodeServices } from '../api/options.js';
import type { DevService } from '../api/routes/dev/service.js';
import { IdempotencyCache } from '../api/routes/envelope/idempotency.js';
import { EventHub } from '../api/routes/events/event-hub.js';
import type { Config } from '../config/schema.js';
import { makeFolder } from '../db/write-file-durable.js';
import { systemClock } from '../lib/clock.js';
import { TesseraError } from '../lib/errors.js';
import { systemRandom } from '../lib/random.js';
import { factsOf, isFirstWallet, NODE_ROLES, type NodeRole, STAGES } from '../lib/roles.js';
import { Failure, type Service } from '../lib/service.js';
import type { NodeLogger } from '../observability/logger.js';
import { noMetrics } from '../observability/metrics.js';
import type { HasClock, HasMetrics, HasRandom } from '../observability/modules.js';
import { descriptorLimit, planDescriptors } from './descriptors.js';
import { listening } from './listening.js';
import { apiKeys, createNodeApi, keysOf, type NodeApiOptions } from './node-api.js';
import { publishEvents } from './publish-events.js';
import type { RoleServices } from './roles/role.js';

/** Roles that may report blocks, best first: only one node of the address does. */
const TELLERS_OF_BLOCKS: readonly NodeRole[] = STAGES.flatMap((stage) => stage.toReversed());

/** What a node adds to the address. */
export interface JointPart {
  readonly role: NodeRole;
  readonly services: RoleServices;
  peers(): readonly NodePeer[];
  readiness(): readonly string[];
  degraded?(): readonly string[];
}

export interface JointApiOptions {
  readonly roles: readonly NodeRole[];
  /** Configuration of the API: `api.host` and `api.port` are those of the address. */
  readonly config: Pick<Config, 'api' | 'envelope'>;
  /** Address to listen on instead of `api.host`: `tessera dev` in a container is open although it is not on loopback. */
  readonly listenOn?: string | undefined;
  /** The folder for the key that is made when none is configured. */
  readonly folder: string;
  /** The option for the port, named in the error when the port is in use. */
  readonly portOption: string;
  /** Number of nodes that share the files and sockets of this process; as many as roles by default. */
  readonly nodes?: number;
}

export interface JointApiModules extends Partial<HasClock & HasMetrics & HasRandom> {
  readonly logger: NodeLogger;
  /** Service of the routes under /v1/dev in dev networks; undefined until the network is up. */
  readonly dev?: () => DevService | undefined;
}

export class JointApi implements Service {
  readonly #options: JointApiOptions;
  readonly #modules: Required<Omit<JointApiModules, 'dev'>> & Pick<JointApiModules, 'dev'>;
  readonly #events: EventHub;
  readonly #keptAnswers: IdempotencyCache;
  readonly #parts = new Map<NodeRole, JointPart>();
  readonly #failure = new Failure();
  readonly failed = this.#failure.promise;
  #app: FastifyInstance | undefined;
  #keys: ApiKeys | undefined;
  #url = '';
  #isHeld = false;
  /** API options with the keys of the configuration that was read last. */
  #api: Config['api'];

  constructor(options: JointApiOptions, modules: JointApiModules) {
    this.#options = options;
    this.#api = options.config.api;
    const defaults = { clock: systemClock, random: systemRandom, metrics: noMetrics };
    this.#modules = { ...defaults, ...modules, logger: modules.logger.child('api') };
    const { clock } = this.#modules;
    this.#events = new EventHub({ epoch: clock.now() });
    this.#keptAnswers = IdempotencyCache.of(options.config.envelope, { clock });
  }

  get url(): string {
    return this.#url;
  }

  /** Listens on the address. Throws `port_in_use`, and `invalid_config` when the options are not safe. */
  async start(): Promise<void> {
    const { roles, config, portOption } = this.#options;
    const { host, port } = config.api;
    const { listenOn = host } = this.#options;
    const options = this.#apiOptions();
    if (config.api.auth === 'keys') await makeFolder(options.folder);
    const { app, keys } = await createNodeApi(options, {
      ...this.#modules,
      events: this.#events,
      keptAnswers: this.#keptAnswers,
      readiness: () => [
        ...(this.#isHeld ? ['the network is starting'] : []),
        ...roles.flatMap((role) => named(role, this.#parts.get(role)?.readiness() ?? ['the node is starting'])),
      ],
      degraded: () => roles.flatMap((role) => named(role, this.#parts.get(role)?.degraded?.() ?? [])),
      isRevertible: this.#modules.dev !== undefined,
      services: jointServices(roles, (role) => (this.#isHeld ? undefined : this.#parts.get(role))),
      node: { type: () => this.#type(), peers: () => this.#peers(), routesPow: {} },
    });
    this.#app = app;
    this.#keys = keys;
    // A configuration may have been read again while the API was made.
    if (this.#api !== options.api) await this.reload({ api: this.#api });
    this.#url = await listening(portOption, { host: listenOn, port }, () => app.listen({ host: listenOn, port }));
  }

  async stop(): Promise<void> {
    await this.#app?.close();
  }

  /** Applies the API keys of a configuration that was read again. Throws `invalid_config` and changes nothing then. */
  async reload({ api: { keys } }: Pick<Config, 'api'>): Promise<void> {
    const { roles, folder } = this.#options;
    const api = { ...this.#api, keys };
    if (this.#keys === undefined) keysOf(roles, api);
    else this.#keys.replace(await apiKeys({ api, folder }, this.#modules));
    this.#api = api;
  }

  /** Serves the operations of a node, and tells its events, until the returned function is called. */
  join(part: JointPart): () => void {
    const { roles } = this.#options;
    this.#parts.set(part.role, part);
    const { wallet, user, ...others } = part.services;
    const told = isFirstWallet(part.role, roles) ? part.services : others;
    const areBlocksTold = TELLERS_OF_BLOCKS.find((role) => roles.includes(role)) !== part.role;
    publishEvents(this.#events, told, { areBlocksTold });
    return () => {
      if (this.#parts.get(part.role) === part) this.#parts.delete(part.role);
    };
  }

  /** Refuses requests that need a node until `release`, with the advice to come back: the nodes are stopped and started again. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
  }

  /** Forgets answers by `x-cache-id` while no node runs, before the chain is replaced. */
  forgetAnswers(): void {
    this.#keptAnswers.clear();
  }

  /** Tells readers of events that what they know is void: the nodes are on another chain than before. */
  startOver(): void {
    this.#events.startOver();
  }

  #apiOptions(): NodeApiOptions {
    const { roles, config, folder, nodes = roles.length } = this.#options;
    return {
      roles,
      api: this.#api,
      envelope: config.envelope,
      folder,
      maxSockets: planDescriptors(descriptorLimit(), nodes).apiSockets,
    };
  }

  /** The types of all nodes, each once: a miner with a wallet is `Miner/User`. */
  #type(): string {
    const types = NODE_ROLES.filter((role) => this.#parts.has(role)).flatMap((role) => factsOf(role).type.split('/'));
    return [...new Set(types)].join('/');
  }

  #peers(): readonly NodePeer[] {
    const peers = [...this.#parts.values()].flatMap((part) => part.peers());
    const byAddress = new Map(peers.map((peer) => [peer.address, peer]));
    return [...byAddress.values()].sort((a, b) => (a.address < b.address ? -1 : 1));
  }
}

/** The services of the nodes that have joined. If several nodes have a service, it is that of the first wallet. */
function jointServices(roles: readonly NodeRole[], partOf: (role: NodeRole) => JointPart | undefined): NodeServices {
  const services: NodeServices = {};
  const inOrder = [...roles].sort((a, b) => Number(isFirstWallet(b, roles)) - Number(isFirstWallet(a, roles)));
  for (const role of inOrder) {
    for (const name of factsOf(role).services) {
      if (Object.hasOwn(services, name)) continue;
      Object.defineProperty(services, name, { get: () => servicesOf(role, partOf(role))[name] });
    }
  }
  return services;
}

function servicesOf(role: NodeRole, part: JointPart | undefined): RoleServices {
  if (part !== undefined) return part.services;
  throw new TesseraError('overloaded', `The ${role} node at this address does not run yet; try again.`);
}

const named = (role: NodeRole, reasons: readonly string[]): string[] => reasons.map((reason) => `${role}: ${reason}`);
