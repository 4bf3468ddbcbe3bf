/**
 * Every option of a node, with type, bounds, default, unit and meaning, here, in `http-options.ts` and `role-options.ts`. Sample file, help
 * and the `Config` type are made from it. Wire names are snake_case, `Config` camelCase.
 */

import { Type } from '@sinclair/typebox';
import { NODE_ROLES, type NodeRole, perRole } from '../lib/roles.js';
import { api, envelope, metrics } from './http-options.js';
import { file, HOST_PORT, HOUR_MS, hex, host, MIB, MINUTE_MS, peerList, port } from './option-kinds.js';
import { choice, group, integer, type Loaded, list, maybeText, text } from './options.js';
import { mempool, mining, storage, user, wallet } from './role-options.js';

/** Maximum number of endpoints of an etcd cluster that can be named. */
const MAX_ENDPOINTS = 16;

const endpoint = () =>
  Type.String({
    pattern: '^https?://([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$',
    maxLength: 261,
    form: 'http://host:port or https://host:port',
  });

const journal = group('Where a mempool node keeps its journal: the order of all commands.', {
  kind: choice(
    ['local', 'etcd'],
    { default: 'local' },
    'local: in data_dir. etcd: in a cluster of etcd, version 3.4 or newer, which survives the loss of any one machine.',
  ),
  endpoints: list(
    endpoint(),
    {
      default: [],
      maxItems: MAX_ENDPOINTS,
      example: '["https://10.0.0.11:2379", "https://10.0.0.12:2379", "https://10.0.0.13:2379"]',
    },
    'Client URLs of the members of etcd; all https or all http. The node uses the member that answers first, and the next one ' +
      'if it stops answering.',
  ),
  prefix: text(
    {
      minLength: 1,
      maxLength: 128,
      pattern: '^[A-Za-z0-9._/-]+$',
      form: 'letters, digits, dot, dash, underscore, slash',
      default: 'tessera',
    },
    'Prefix of all keys in etcd, followed by the name of the network. Nothing else may write there.',
  ),
  timeout_ms: integer(
    { minimum: 500, maximum: 10 * MINUTE_MS, default: 5_000, unit: 'ms' },
    'Time limit for etcd to confirm an entry. A request that waits longer is answered with outcome_unknown, and may still be ' +
      'accepted.',
  ),
  replica_lifetime_minutes: integer(
    { minimum: 5, maximum: 10_080, default: 60, unit: 'minutes' },
    'How long etcd keeps the journal for an absent mempool node. A node that is away for longer takes the state of another ' +
      'node in peers.mempool when it comes back.',
  ),
  user: maybeText({ minLength: 1, maxLength: 256 }, 'User name for etcd, if it requires one.'),
  password: maybeText({ minLength: 1, maxLength: 1_024, secret: true }, 'The password of journal.user.'),
  password_file: file('A file that contains journal.password (surrounding spaces and line ends are ignored).'),
  tls: group('TLS for etcd, when its endpoints are https.', {
    ca_file: file('CA certificates for checking etcd, PEM; those of the system by default.'),
    cert_file: file('Certificate of this client, PEM, if etcd requires one.'),
    key_file: file('Private key of that certificate, PEM.'),
  }),
});

const ROLE = `(${NODE_ROLES.join('|')})`;
const ROLE_NAMES = NODE_ROLES.join(', ').replace(/, (?=[^,]*$)/, ' or ');
export const DATA_ROOT = '.tessera';

/** Maximum number of keys that may sign blocks: of several producers, or an old and a new key of one. */
const MAX_PRODUCERS = 8;

const node = group('The node itself.', {
  role: Type.Unsafe<NodeRole>(
    text(
      {
        pattern: `^${ROLE}( *, *${ROLE}){0,${NODE_ROLES.length - 1}}$`,
        form: `${ROLE_NAMES}, or several of them, separated by commas`,
        example: `"${NODE_ROLES[0]}"`,
      },
      `What this node does: ${ROLE_NAMES}. Several roles, separated by commas, run several nodes in one process with ` +
        'a shared address. Usually set by --role.',
    ),
  ),
  data_dir: text(
    { minLength: 1, path: 'working-directory', roleDefaults: perRole((_, role) => `${DATA_ROOT}/${role}`) },
    'Folder for all data of the node. Each node needs its own folder; it is created at the first start. With several roles, ' +
      'each node has a subfolder with the name of its role.',
  ),
  min_free_bytes: integer(
    { minimum: 0, maximum: 1_024 * 1_024 * MIB, default: 256 * MIB, unit: 'bytes' },
    'With less free space than this on the disk of data_dir, the node accepts nothing new; reads continue. It accepts again ' +
      'when a quarter more is free. 0 turns the limit off.',
  ),
  name: text(
    {
      minLength: 1,
      maxLength: 64,
      pattern: '^[A-Za-z0-9._-]+$',
      form: 'letters, digits, dot, dash, underscore',
      roleDefaults: perRole((_, role) => role),
    },
    'The name of this node in logs and metrics.',
  ),
});

const network = group('The network that the node belongs to. These options must be the same on all of its nodes.', {
  name: text(
    {
      minLength: 1,
      maxLength: 64,
      pattern: '^[A-Za-z0-9._-]+$',
      form: 'letters, digits, dot, dash, underscore',
      default: 'tessera-local',
    },
    'Name of the network. Nodes of other networks are refused in the handshake.',
  ),
  secret: maybeText(
    { minLength: 16, maxLength: 1_024, secret: true },
    'Secret shared by the mempool and storage nodes of one operator, which prove to each other that they know it. A ' +
      'mempool node and the storage nodes that keep its blocks need it. 16 characters or more.',
  ),
  secret_file: file('A file that contains network.secret (surrounding spaces and line ends are ignored).'),
  genesis_file: text(
    { minLength: 1, path: 'package-config', default: 'genesis.json', form: 'a file path' },
    'The first outputs and issuances of the chain. Default: the supplied file in the config folder of the program.',
  ),
  min_output_amount: integer(
    { minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: 1, unit: 'raw units' },
    'Smallest amount of tokens in one output or fee: mempool nodes admit no transaction with less, and wallets make none. ' +
      'Does not apply to items, or to existing blocks.',
  ),
  producer_keys: list(
    hex(32),
    { default: [], maxItems: MAX_PRODUCERS, example: '["<64 hex digits>"]' },
    'Public keys of the mempool nodes that make the blocks: each block must be signed by one of them. If the list is empty, ' +
      'blocks are not signed: nodes trust the link that they come from, and storage nodes need network.secret to exchange ' +
      'them.',
  ),
});

const peers = group('Links to the other nodes.', {
  host: host('Address to accept links on.'),
  port: port('peers', 'Port to accept links on.'),
  advertise: maybeText(
    { pattern: HOST_PORT, maxLength: 261, form: 'host:port', example: '"node1.example:12300"' },
    'The address at which other nodes reach this one, if it differs from peers.host and peers.port.',
  ),
  ...perRole(({ peers: description }) => peerList(description)),
  max_links: integer(
    { minimum: 1, maximum: 10_000, default: 256, unit: 'links' },
    'Maximum number of links with strangers: nodes that dialed this one and prove neither network.secret nor an allowed ' +
      'key. When all are taken, the least useful one makes room for a newcomer.',
  ),
  max_links_per_address: integer(
    { minimum: 1, maximum: 10_000, default: 64, unit: 'links' },
    'Maximum number of links with strangers from one address. An IPv6 /64 counts as one address; loopback is not limited.',
  ),
  dial_timeout_ms: integer(
    { minimum: 100, maximum: MINUTE_MS, default: 5_000, unit: 'ms' },
    'Time limit for opening a connection, and again for its handshake.',
  ),
  heartbeat_ms: integer(
    { minimum: 100, maximum: HOUR_MS, default: 10_000, unit: 'ms' },
    'Time between heartbeats. A silent peer that does not answer a ping counts as missing in /readyz before the next ' +
      'heartbeat; after three its link is closed.',
  ),
  reconnect_max_ms: integer(
    { minimum: 100, maximum: HOUR_MS, default: 15_000, unit: 'ms' },
    'Longest wait between attempts to reopen a configured link. The first wait is short; each further wait is twice as long.',
  ),
  tls: group('TLS for links, when both certificate files are given.', {
    cert_file: file('Certificate chain, PEM.'),
    key_file: file('Private key of the certificate, PEM.'),
    ca_file: file('CA certificates for checking other nodes, PEM; those of the system by default.'),
  }),
});

const log = group('The log, which goes to standard output.', {
  level: choice(
    ['debug', 'info', 'warn', 'error', 'silent'],
    { default: 'info', live: true },
    'The least severe level to write.',
  ),
  format: choice(
    ['auto', 'json', 'pretty'],
    { default: 'auto' },
    'json: one object per line. pretty: for people. auto: pretty on a terminal, json elsewhere.',
  ),
});

export const ConfigSchema = group('The configuration of a node.', {
  node,
  network,
  api,
  envelope,
  metrics,
  peers,
  mempool,
  journal,
  mining,
  wallet,
  user,
  storage,
  log,
});

/** The whole configuration of a node: the schema's tree, members in camelCase, frozen. Made by `loadConfig`. */
export type Config = Loaded<typeof ConfigSchema>;
