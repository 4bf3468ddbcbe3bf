/** Several nodes in this process, one of each role, at one address (docs/adr/0035-one-address.md): started and stopped together. */

import type { Config } from '../config/schema.js';
import { fileError } from '../db/database-error.js';
import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';
import { factsOf, type NodeRole, STAGES } from '../lib/roles.js';
import { Failure, type Service } from '../lib/service.js';
import type { NodeLogger } from '../observability/logger.js';
import { MetricsRegistry } from '../observability/metrics.js';
import { descriptorLimit, planDescriptors } from './descriptors.js';
import { JointApi } from './joint-api.js';
import { Node } from './node.js';

/** Roles whose metrics may count requests to the shared address, best first. */
const METERED: readonly NodeRole[] = STAGES.flat().reverse();

export interface GroupNode {
  readonly config: Config;
  /** False for a node that is reached at the shared address only. */
  readonly hasOwnApi: boolean;
}

export interface NodeGroupOptions {
  /** The nodes, one for each role. */
  readonly nodes: readonly GroupNode[];
  /** Configuration of the shared address; its `node.data_dir` contains the folders of the nodes. */
  readonly joint: Config;
}

export interface NodeGroupModules {
  readonly logger: NodeLogger;
  /** Terminal for progress bars; without one, progress goes to the log. */
  readonly terminal?: { write(text: string): unknown } | undefined;
}

export class NodeGroup implements Service {
  readonly #members: Map<NodeRole, GroupNode>;
  readonly #modules: NodeGroupModules;
  readonly #metered: NodeRole | undefined;
  readonly #registry: MetricsRegistry | undefined;
  readonly #joint: JointApi;
  readonly #started = new Map<NodeRole, Node>();
  readonly #failure = new Failure();
  readonly failed = this.#failure.promise;
  #isStopping = false;

  /** Makes the group; nothing is opened yet. */
  constructor({ nodes, joint }: NodeGroupOptions, modules: NodeGroupModules) {
    this.#members = new Map(nodes.map((node) => [node.config.node.role, node]));
    this.#modules = modules;
    this.#metered = METERED.find((role) => this.#members.get(role)?.config.metrics.enabled);
    this.#registry = this.#metered && new MetricsRegistry(this.#metered);
    this.#joint = new JointApi(
      { roles: [...this.#members.keys()], config: joint, folder: joint.node.dataDir, portOption: 'api.port' },
      { logger: modules.logger, ...(this.#registry === undefined ? {} : { metrics: this.#registry }) },
    );
  }

  get apiUrl(): string {
    return this.#joint.url;
  }

  get nodes(): ReadonlyMap<NodeRole, Node> {
    return this.#started;
  }

  /** Resolves when every node is up. Throws the error of the first that cannot start. */
  async start(): Promise<void> {
    const { warning } = planDescriptors(descriptorLimit(), this.#members.size);
    if (warning !== undefined) this.#modules.logger.warn({}, warning);
    await this.#joint.start();
    const starting: Promise<void>[] = [];
    for (const role of STAGES.flat()) {
      const member = this.#members.get(role);
      if (member === undefined || this.#isStopping) continue;
      const started = this.#start(role, member);
      // A node that fails is reported at the end, or while another is waited for.
      started.catch(() => undefined);
      starting.push(started);
      // Nodes that dial this one need its port, which a free port has only after the start.
      if (member.config.peers.port === 0) await started;
    }
    await Promise.all(starting);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#joint.stop();
    for (const roles of STAGES.toReversed()) await Promise.all(roles.map((role) => this.#started.get(role)?.stop()));
  }

  /** Applies the settings that can change while nodes run: the API keys. Throws `invalid_config` when one is invalid. */
  async reload({ nodes, joint }: NodeGroupOptions): Promise<void> {
    await this.#joint.reload(joint);
    for (const { config } of nodes) {
      const { role } = config.node;
      const member = this.#members.get(role);
      const node = this.#started.get(role);
      if (node !== undefined) await node.reload(config);
      else if (member !== undefined) {
        const api = { ...member.config.api, keys: config.api.keys };
        this.#members.set(role, { ...member, config: { ...member.config, api } });
      }
    }
  }

  async #start(role: NodeRole, { config, hasOwnApi }: GroupNode): Promise<void> {
    try {
      const node = await Node.create(this.#linked(config), {
        logger: this.#modules.logger.child(role),
        terminal: this.#modules.terminal,
        joint: this.#joint,
        hasOwnApi,
        nodes: this.#members.size,
        registry: role === this.#metered ? this.#registry : undefined,
      });
      if (this.#isStopping) return;
      this.#started.set(role, node);
      node.failed.catch((error: unknown) => this.#failure.report(namedAfter(role, error)));
      await node.start();
    } catch (error) {
      throw namedAfter(role, error);
    }
  }

  #linked(config: Config): Config {
    const { role } = config.node;
    const found = (other: NodeRole): readonly string[] => {
      const isAny = this.#members.get(other)?.config.peers.port === 0;
      return isAny ? [this.#started.get(other)?.peerAddress ?? ''] : [];
    };
    const { peers } = config;
    const linked = factsOf(role).dials.map((other) => [other, [...found(other), ...peers[other]]] as const);
    return { ...config, peers: { ...peers, ...Object.fromEntries(linked) } };
  }
}

/** An error with the role of its node in the message. */
function namedAfter(role: NodeRole, thrown: unknown): TesseraError {
  const error = fileError(thrown);
  const message = `the ${role} node: ${errorMessage(error)}`;
  if (!isTesseraError(error)) return new TesseraError('internal_error', message, { cause: error });
  return new TesseraError(error.code, message, { cause: error, details: error.details });
}
