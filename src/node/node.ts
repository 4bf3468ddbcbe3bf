/**
 * The composition root: one node out of its configuration. Builds bottom-up (data directory, links, services of the role,
 * HTTP), starts in an order in which nothing answers before it can, and closes top-down.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { createApi } from '../api/app.js';
import { type ApiKeyGate, createApiKeyGate, loadOrCreateApiKey } from '../api/http/api-key.js';
import { OPERATIONS } from '../api/operations.js';
import type { NodePeer } from '../api/options.js';
import { createEventHub, type EventHub } from '../api/routes/events/event-hub.js';
import { type Genesis, parseGenesis } from '../chain/genesis.js';
import type { Config } from '../config/schema.js';
import { type DataDir, openDataDir } from '../db/data-dir.js';
import { observeDataDir } from '../db/observed-kv.js';
import { type Clock, systemClock } from '../lib/clock.js';
import { createDeferred } from '../lib/deferred.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import { parseExactJson } from '../lib/json.js';
import { type Random, systemRandom } from '../lib/random.js';
import { programVersion } from '../lib/version.js';
import type { NodeLogger } from '../observability/logger.js';
import { createMetrics, type Metrics, noMetrics } from '../observability/metrics.js';
import { createMetricsServer } from '../observability/metrics-server.js';
import { createProgress } from '../observability/progress.js';
import type { PeerObserver } from '../peers/link/link.js';
import type { PeerNetwork } from '../peers/network.js';
import { loadOrCreateNodeKey } from '../peers/node-key.js';
import { createPeerNetwork } from '../peers/peer-network.js';
import { createWebSocketTransport } from '../peers/transport/websocket-transport.js';
import { feedEvents } from './event-feed.js';
import { feedNode } from './feeds.js';
import { createMempoolRole } from './mempool-role.js';
import { kvObserver, peerObserver, requestObserver } from './observers.js';
import type { RoleContext, RoleServices, RunningRole } from './role.js';
import { createStorageRole } from './storage-role.js';
import { createWalletRole } from './wallet-role.js';

const NODE_KEY_FILE = 'node-key';
const API_KEY_FILE = 'api-key';

export interface NodeModules {
  readonly logger: NodeLogger;
  readonly clock?: Clock;
  readonly random?: Random;
  /** A terminal for progress bars; without one progress goes to the log. */
  readonly terminal?: { write(text: string): unknown } | undefined;
}

export interface Node {
  /** Resolves when the API listens, the state is loaded and the links are being opened. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /**
   * Applies what can change while the node runs: the API keys (with none configured, those of the node's key file). Throws
   * `invalid_config` and changes nothing when one is wrong.
   */
  reload(config: Config): Promise<void>;
  /** Never resolves; rejects with a named error when the node must not go on. */
  readonly failed: Promise<never>;
  /** `http://host:port`, once started. */
  readonly apiUrl: string;
  /** Base URL of the metrics, once started; empty when they are off. */
  readonly metricsUrl: string;
  /** `host:port` for other nodes, once started. */
  readonly peerAddress: string;
  /** The services of its role, once started. */
  readonly services: RoleServices;
}

/** What the node is asked about while it runs. */
interface Parts {
  readonly context: RoleContext;
  readonly keys: ApiKeyGate;
  readonly network: PeerNetwork;
  readonly role: RunningRole;
}

/** Opens nothing yet: a wrong configuration throws `invalid_config` here or in `start`. */
export async function createNode(config: Config, modules: NodeModules): Promise<Node> {
  const { logger, clock = systemClock, random = systemRandom, terminal } = modules;
  const genesis = await readGenesis(config.network.genesisFile);
  const failure = createDeferred<never>();
  failure.promise.catch(() => undefined);
  const closers: (() => Promise<void>)[] = [];
  let parts: Parts | undefined;
  const registry = config.metrics.enabled ? createMetrics(config.node.role) : undefined;
  const metrics: Metrics = registry ?? noMetrics;
  const observed = registry && { metrics: registry, clock };
  let apiUrl = '';
  let metricsUrl = '';
  let starting: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;

  async function open(): Promise<void> {
    const openedDir = await openDataDir(config.node.dataDir, {
      role: config.node.role,
      networkName: config.network.name,
    });
    closers.push(() => openedDir.close());
    const dataDir = observed ? observeDataDir(openedDir, kvObserver(observed)) : openedDir;
    const peers = observed && peerObserver(observed);
    const network = await createNetwork(config, dataDir, { logger, clock, random, observer: peers });
    const context: RoleContext = {
      config,
      genesis,
      dataDir,
      network,
      clock,
      random,
      logger: (component) => logger.child(component),
      metrics,
      observed,
      progress(name, options) {
        const share = metrics.gauge('tessera_progress_ratio', name);
        share.set(1);
        const log = logger.child(name.replace('_', '-'));
        const line = (text: string): void => log.info({ task: name }, text);
        return createProgress(options, { clock, terminal, line, share: share.set });
      },
    };
    const role = await createRole(context);
    closers.push(() => role.stop());
    role.failed.catch(failure.reject);
    let loaded = false;
    const readiness = (): readonly string[] =>
      loaded ? role.readiness() : ['the node is starting', ...role.readiness()];
    if (registry) {
      const server = createMetricsServer(config.metrics, { metrics: registry, logger: logger.child('metrics') });
      await server.start();
      metricsUrl = server.url;
      closers.push(() => server.stop());
      const { name, role: ownRole } = config.node;
      const node = { version: programVersion(), role: ownRole, name, dataDir: dataDir.path };
      const stopFeed = feedNode(registry, { node, network, logger, clock, readiness });
      closers.push(async () => stopFeed());
    }
    const events = createEventHub({ epoch: clock.now() });
    const keys = createApiKeyGate({ ...config.api, keys: await apiKeys(config, context) }, OPERATIONS);
    const modules = { apiLog: logger.child('api'), readiness, events, keys };
    const api = await createNodeApi(config, context, role, modules);
    closers.push(() => network.stop());
    closers.push(() => api.close());
    parts = { context, keys, network, role };
    // The API comes first: while the node loads, it says so (decision V24).
    apiUrl = await listening('api.port', () => api.listen({ host: config.api.host, port: config.api.port }));
    feedEvents(events, role.services);
    await role.load();
    await listening('peers.port', () => network.start());
    await role.start();
    loaded = true;
  }

  async function close(): Promise<void> {
    // What failed to start has closers too; one that fails must not keep the others from closing.
    await starting?.catch(() => undefined);
    for (const closer of closers.reverse()) {
      await closer().catch((error: unknown) => logger.error({ err: error }, `closing failed: ${errorMessage(error)}`));
    }
  }

  return {
    failed: failure.promise,
    get apiUrl() {
      return apiUrl;
    },
    get metricsUrl() {
      return metricsUrl;
    },
    get peerAddress() {
      return parts?.network.address ?? '';
    },
    get services() {
      return parts?.role.services ?? {};
    },
    start() {
      starting ??= open();
      return starting;
    },
    stop() {
      stopping ??= close();
      return stopping;
    },
    async reload(next) {
      if (parts === undefined) throw new TesseraError('shutting_down', 'the node is not up');
      parts.keys.replace(await apiKeys(next, parts.context));
    },
  };
}

/** Reads and checks a genesis file. Throws `invalid_config` naming the file and the place in it. */
export async function readGenesis(file: string): Promise<Genesis> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(file);
  } catch (cause) {
    throw new TesseraError('invalid_config', `network.genesis_file: ${errorMessage(cause)}`, { cause });
  }
  try {
    return parseGenesis(parseExactJson(bytes));
  } catch (cause) {
    throw new TesseraError('invalid_config', `network.genesis_file ${file}: ${errorMessage(cause)}`, { cause });
  }
}

async function createNetwork(
  config: Config,
  dataDir: DataDir,
  modules: {
    readonly logger: NodeLogger;
    readonly clock: Clock;
    readonly random: Random;
    readonly observer: PeerObserver | undefined;
  },
): Promise<PeerNetwork> {
  const { peers, network, mining } = config;
  const { certFile, keyFile, caFile } = peers.tls;
  const tls =
    certFile === undefined || keyFile === undefined
      ? undefined
      : {
          cert: await readPem(certFile),
          key: await readPem(keyFile),
          ...(caFile === undefined ? {} : { ca: await readPem(caFile) }),
        };
  return createPeerNetwork(
    {
      network: network.name,
      role: config.node.role,
      nodeKey: await loadOrCreateNodeKey(join(dataDir.path, NODE_KEY_FILE), modules.random),
      listen: { host: peers.host, port: peers.port },
      peers: [...peers.mempool, ...peers.storage, ...peers.miner, ...peers.user],
      ...(peers.advertise === undefined ? {} : { advertise: peers.advertise }),
      ...(network.secret === undefined ? {} : { secret: network.secret }),
      ...(mining.allowedKeys.length === 0 ? {} : { allowedKeys: { miner: mining.allowedKeys } }),
      limits: {
        maxLinks: peers.maxLinks,
        dialTimeoutMs: peers.dialTimeoutMs,
        handshakeTimeoutMs: peers.dialTimeoutMs,
        heartbeatMs: peers.heartbeatMs,
        backoffMaxMs: peers.reconnectMaxMs,
      },
    },
    {
      ...modules,
      logger: modules.logger.child('peers'),
      transport: createWebSocketTransport(tls === undefined ? {} : { tls }),
    },
  );
}

function createRole(context: RoleContext): Promise<RunningRole> {
  switch (context.config.node.role) {
    case 'mempool':
      return createMempoolRole(context);
    case 'storage':
      return createStorageRole(context);
    case 'miner':
    case 'user':
      return createWalletRole(context);
  }
}

async function createNodeApi(
  config: Config,
  context: RoleContext,
  role: RunningRole,
  modules: {
    readonly apiLog: NodeLogger;
    readonly readiness: () => readonly string[];
    readonly events: EventHub;
    readonly keys: ApiKeyGate;
  },
): Promise<FastifyInstance> {
  const { certFile, keyFile } = config.api.tls;
  const { observed } = context;
  const { apiLog: logger, ...rest } = modules;
  return createApi(
    {
      role: config.node.role,
      api: config.api,
      envelope: config.envelope,
      ...(certFile === undefined || keyFile === undefined
        ? {}
        : { tls: { cert: await readPem(certFile), key: await readPem(keyFile) } }),
    },
    {
      ...role.services,
      logger,
      requestLines: logger.infoLines,
      requestObserver: observed && requestObserver(observed),
      clock: context.clock,
      random: context.random,
      ...rest,
      node: { type: () => role.type, peers: () => linkedPeers(context.network), routesPow: {} },
    },
  );
}

/** The configured keys, or the node's own one (decision H3). */
async function apiKeys(config: Config, { dataDir, random, logger }: RoleContext): Promise<Config['api']['keys']> {
  if (config.api.auth === 'open' || config.api.keys.length > 0) return config.api.keys;
  const path = join(dataDir.path, API_KEY_FILE);
  const key = await loadOrCreateApiKey(path, random);
  logger('api').info({ file: path }, `the API key of this node is in ${path}`);
  return [{ name: 'node', key }];
}

/** Connected mempool and storage nodes (decision V20). */
function linkedPeers(network: PeerNetwork): NodePeer[] {
  const peers: NodePeer[] = [];
  for (const { role, address } of network.links) {
    if (role === 'mempool') peers.push({ address, node_type: 'Mempool' });
    if (role === 'storage') peers.push({ address, node_type: 'Storage' });
  }
  return peers.sort((a, b) => (a.address < b.address ? -1 : 1));
}

async function readPem(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (cause) {
    throw new TesseraError('invalid_config', `the certificate file ${file} cannot be read: ${errorMessage(cause)}`, {
      cause,
    });
  }
}

/** Starts to listen; a port that is taken is the commonest slip of a newcomer, and is named. */
async function listening<T>(option: string, listen: () => Promise<T>): Promise<T> {
  try {
    return await listen();
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE')) throw cause;
    const message = `${errorMessage(cause)}: stop the program that uses it, or choose another ${option} (\`tessera dev\` has --port-offset)`;
    throw new TesseraError('port_in_use', message, { cause });
  }
}
