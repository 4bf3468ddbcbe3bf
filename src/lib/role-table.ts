/** The one table of roles, with the facts that every part of the program may ask for (docs/adr/0055-a-role-is-a-room.md). */

export interface RoleFacts {
  /** Name of the role's nodes in `GET /v1/debug` (decision V20). */
  readonly type: string;
  /** Default ports: of the HTTP API, of links, of the metrics. */
  readonly ports: { readonly api: number; readonly peers: number; readonly metrics: number };
  /** Services that the role's nodes run; `api/options.ts` has their interfaces. */
  readonly services: readonly string[];
  /** Topics of the role's event stream. */
  readonly topics: readonly string[];
  /** Roles to which the role's nodes keep links, the indispensable one first. */
  readonly dials: readonly string[];
  /** Consequence for a node that has no link to the first role of `dials`, as a sentence for people. */
  readonly unlinked?: string;
  /** Need for `network.secret`, which only nodes of the network's operator have; `unsigned`: needed only where blocks are not signed. */
  readonly secret: 'needed' | 'unsigned' | 'optional';
  /** Databases in the order in which they are checked. Later ones can catch up from the first. */
  readonly databases: readonly string[];
  /** Metrics that only nodes with this role serve: `journal` for all that begin with `tessera_journal_`. */
  readonly metrics: readonly string[];
  /** Description of the option with the addresses of the role's nodes, such as `peers.storage`. */
  readonly peers: string;
}

export const ROLES = {
  mempool: {
    type: 'Mempool',
    ports: { api: 3003, peers: 12_300, metrics: 9303 },
    services: ['mempool'],
    topics: ['blocks', 'transactions'],
    dials: ['storage'],
    unlinked: 'no block is final until a storage node has linked itself to this node',
    secret: 'needed',
    databases: ['journal', 'mempool'],
    metrics: ['mempool', 'journal'],
    peers: 'Mempool nodes to keep a link to. Miners and users need one.',
  },
  storage: {
    type: 'Storage',
    ports: { api: 3001, peers: 12_330, metrics: 9301 },
    services: ['storage', 'chainIndex'],
    topics: ['blocks'],
    dials: [],
    secret: 'unsigned',
    databases: ['archive'],
    metrics: ['storage'],
    peers:
      'Storage nodes to keep a link to. A mempool node needs one; storage nodes catch up from each other; miners and users ' +
      'read the blocks there that were made while they were away.',
  },
  miner: {
    type: 'Miner/User',
    ports: { api: 3004, peers: 12_340, metrics: 9304 },
    services: ['miner', 'wallet', 'user'],
    topics: ['blocks', 'wallet'],
    dials: ['mempool', 'storage'],
    unlinked: 'this node can neither send transactions nor hear of blocks',
    secret: 'optional',
    databases: ['wallet'],
    metrics: ['miner', 'wallet'],
    peers: 'Miners to keep a link to. Rarely needed: miners open the link themselves.',
  },
  user: {
    type: 'User',
    ports: { api: 3000, peers: 12_360, metrics: 9300 },
    services: ['wallet', 'user'],
    topics: ['blocks', 'wallet'],
    dials: ['mempool', 'storage'],
    unlinked: 'this node can neither send transactions nor hear of blocks',
    secret: 'optional',
    databases: ['wallet'],
    metrics: ['wallet'],
    peers: 'Users to keep a link to. Rarely needed: users open the link themselves.',
  },
} as const satisfies Readonly<Record<string, RoleFacts>>;

export type NodeRole = keyof typeof ROLES;
/** The services of all roles, by name. */
export type ServiceName = (typeof ROLES)[NodeRole]['services'][number];
/** Names of nodes of operators. */
export type OperatorType = Extract<(typeof ROLES)[NodeRole], { readonly secret: 'needed' | 'unsigned' }>['type'];
/** The topics of all roles. */
export type Topic = (typeof ROLES)[NodeRole]['topics'][number];
