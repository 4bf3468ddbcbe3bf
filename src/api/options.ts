/** Parts of an app: options, plain data in the shape of the configuration, and modules, which do the work. */

import type { FastifyPluginCallback } from 'fastify';
import type { NodeRole, OperatorType } from '../lib/roles.js';
import type { MempoolService } from '../mempool/service.js';
import type { MinerService } from '../miner/service.js';
import type { HasClock, HasLogger, HasMetrics, HasRandom } from '../observability/modules.js';
import type { ChainIndexService } from '../storage/chain-index/service.js';
import type { StorageService } from '../storage/service.js';
import type { UserService } from '../user/service.js';
import type { WalletService } from '../wallet/service.js';
import type { ApiKeyOptions, ApiKeys } from './http/api-key.js';
import type { LineSink } from './http/request-log.js';
import type { Validators } from './http/validator.js';
import type { AllowedOrigins } from './http/web-pages.js';
import type { PageFiles } from './pages/page-files.js';
import type { DevService } from './routes/dev/service.js';
import type { IdempotencyCache } from './routes/envelope/idempotency.js';
import type { EventHub } from './routes/events/event-hub.js';

export interface ApiLimits {
  readonly bodyBytes: number;
  /** Maximum number of entries in a list in a body. */
  readonly batch: number;
  /** Maximum number of values of a list in a query string. */
  readonly queryValues: number;
  /** Maximum number of open connections of one remote address; loopback is not counted. */
  readonly connectionsPerAddress: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
}

export interface EnvelopeOptions {
  readonly enabled: boolean;
  /** True if a request without `x-cache-id` is refused (decision E1). */
  readonly requireCacheId: boolean;
  /** Serves the wallet routes of the original node. */
  readonly walletRoutes: boolean;
  /** Statuses and shapes of answers: of the contract, or of the original node (decision E10). */
  readonly answers: 'contract' | 'original';
  /** Form of the answer of `block_by_num` (decision E9). */
  readonly blockByNum: 'blocks' | 'pairs';
  readonly cacheEntries: number;
  readonly cacheTtlSeconds: number;
}

/** Options with the members of the sections `api` and `envelope` of the configuration. */
export interface ApiOptions {
  /** Role of the node, or the roles that are served at one address, in the order of `NODE_ROLES`. */
  readonly roles: readonly NodeRole[];
  readonly api: {
    /** The address that the server will listen on: `auth: 'open'` is for loopback only. */
    readonly host: string;
    readonly auth: 'keys' | 'open';
    readonly keys: readonly ApiKeyOptions[];
    readonly cors: AllowedOrigins;
    readonly toolingEverywhere: boolean;
    /** True if `POST /v1/items` needs no key on mempool nodes. */
    readonly openItemCreation: boolean;
    /** Addresses and networks whose X-Forwarded-For names the client; see `http/client-address.ts`. */
    readonly trustedProxies: readonly string[];
    readonly limits: ApiLimits;
    readonly rateLimit: { readonly enabled: boolean; readonly perMinute: number };
  };
  readonly envelope: EnvelopeOptions;
  /** Certificate and key in PEM, for HTTPS. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
}

export interface NodeInfo {
  /** Type of the node: `Mempool`, `Storage`, `User`, `Miner` or `Miner/User` (decision V20); types of several nodes have a slash between them. */
  type(): string;
  /** Connected mempool and storage nodes. */
  peers(): readonly NodePeer[];
  readonly routesPow: Readonly<Record<string, number>>;
}

export interface NodePeer {
  readonly address: string;
  readonly node_type: OperatorType;
  /** Version that the peer named when the link was opened. */
  readonly version?: string;
}

/** Services behind the routes; those of a role that is not served are missing. */
export interface NodeServices {
  readonly mempool?: MempoolService | undefined;
  readonly storage?: StorageService | undefined;
  readonly chainIndex?: ChainIndexService | undefined;
  readonly miner?: MinerService | undefined;
  readonly wallet?: WalletService | undefined;
  readonly user?: UserService | undefined;
}

export interface ApiModules extends NodeServices, HasClock, HasLogger, HasMetrics, HasRandom {
  /** Takes the log lines of requests as JSON text, many at once. By default each line goes to `logger`, which is much slower. */
  readonly requestLines?: LineSink | undefined;
  /** API keys that open protected routes; by default made from the options. A caller that passes them can replace them later. */
  readonly keys?: ApiKeys | undefined;
  readonly events?: EventHub | undefined;
  /** Checks of requests; by default those that the apps of a process share. */
  readonly validators?: Validators | undefined;
  /** Answers by `x-cache-id`; by default the app has a cache of its own. */
  readonly keptAnswers?: IdempotencyCache | undefined;
  /** The built pages; without them the node serves none. */
  readonly pages?: PageFiles | undefined;
  /** The built pages with the page of the API, which every node serves; without them that page says that they are missing. */
  readonly docs?: PageFiles | undefined;
  readonly node: NodeInfo;
  /** Why the node is not ready; empty when it is. */
  readonly readiness: () => readonly string[];
  /** Work that a ready node cannot do now. */
  readonly degraded?: (() => readonly string[]) | undefined;
  /** Service of the routes under /v1/dev, in dev networks only; undefined while the network starts. */
  readonly dev?: (() => DevService | undefined) | undefined;
  /** True where a block number may become that of another block: dev networks revert, and begin anew at the same port. */
  readonly isRevertible?: boolean | undefined;
  /** Services in place of those above, for services that come and go: they are read at each request. */
  readonly services?: NodeServices | undefined;
}

export type ApiPlugin = FastifyPluginCallback<{ readonly options: ApiOptions; readonly modules: ApiModules }>;
