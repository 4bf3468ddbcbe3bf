/**
 * Every option of a node, with its type, bounds, default, unit and meaning. This is the only place where an option or a
 * default is written: the sample file `config/default.toml`, `tessera config`, the help texts and the `Config` type are
 * made from it. Wire names are snake_case; the loaded `Config` is the same tree in camelCase, frozen.
 */

import { Type } from '@sinclair/typebox';
import { choice, flag, group, integer, type Loaded, list, maybeText, ROLES, type Role, text } from './options.js';

const KIB = 1_024;
const MIB = 1_024 * KIB;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_S = 86_400;

/** 2^521 - 1, the modulus of the network's unicorn (a Mersenne prime). */
const UNICORN_MODULUS = (2n ** 521n - 1n).toString();

/** Host name, IPv4 address or bracketed IPv6 address, colon, port. */
const HOST_PORT = '^([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$';
const hostPort = () => Type.String({ pattern: HOST_PORT, maxLength: 261, form: 'host:port' });
const host = (description: string) =>
  text({
    default: '127.0.0.1',
    pattern: '^[A-Za-z0-9._:-]+$',
    maxLength: 253,
    form: 'a host name or address',
    description,
  });
const port = (roleDefaults: Readonly<Record<Role, number>>, description: string) =>
  integer({ minimum: 0, maximum: 65_535, roleDefaults, description: `${description} 0 takes any free port.` });
const peerList = (description: string) =>
  list(hostPort(), { default: [], maxItems: 256, example: '["10.0.0.2:12300"]', description });
const file = (description: string) =>
  maybeText({ minLength: 1, path: 'working-directory', form: 'a file path', description });
const hex = (bytes: number) =>
  Type.String({ pattern: `^[0-9a-f]{${bytes * 2}}$`, form: `${bytes * 2} lower-case hex digits` });

const node = group('The node itself.', {
  role: choice(ROLES, { description: 'What this node does. Usually given by --role.' }),
  data_dir: text({
    minLength: 1,
    path: 'working-directory',
    roleDefaults: {
      mempool: '.tessera/mempool',
      storage: '.tessera/storage',
      miner: '.tessera/miner',
      user: '.tessera/user',
    },
    description: 'Folder for everything the node keeps. One node to a folder; made at the first start.',
  }),
  name: text({
    minLength: 1,
    maxLength: 64,
    pattern: '^[A-Za-z0-9._-]+$',
    form: 'letters, digits, dot, dash, underscore',
    roleDefaults: { mempool: 'mempool', storage: 'storage', miner: 'miner', user: 'user' },
    description: 'Name of this node in logs and metrics.',
  }),
});

const network = group('The network that the node belongs to. The same on all of its nodes.', {
  name: text({
    minLength: 1,
    maxLength: 64,
    pattern: '^[A-Za-z0-9._-]+$',
    form: 'letters, digits, dot, dash, underscore',
    default: 'tessera-local',
    description: 'Nodes of another network are refused in the handshake.',
  }),
  secret: maybeText({
    minLength: 16,
    maxLength: 1_024,
    secret: true,
    description:
      'Shared by the mempool and storage nodes of one operator, who prove to each other that they know it. Needed by ' +
      'these two roles. 16 characters or more.',
  }),
  secret_file: file('A file that holds network.secret (spaces and line ends around it are dropped).'),
  genesis_file: text({
    minLength: 1,
    path: 'package-config',
    default: 'genesis.json',
    form: 'a file path',
    description:
      'The first outputs and issuances of the chain. The default is the file that ships with the program in its config ' +
      'folder.',
  }),
});

const ApiKey = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 64 }),
    key: Type.Optional(Type.String({ minLength: 16, maxLength: 256, secret: true })),
    sha256: Type.Optional(hex(32)),
    routes: Type.Optional(
      Type.Array(Type.String({ pattern: '^(GET|POST|PUT|\\*) /', maxLength: 128 }), { maxItems: 64 }),
    ),
  },
  { additionalProperties: false },
);

const api = group('The HTTP API.', {
  host: host('Address to listen on.'),
  port: port({ storage: 3001, mempool: 3003, miner: 3004, user: 3000 }, 'Port to listen on.'),
  auth: choice(['keys', 'open'], {
    default: 'keys',
    description:
      'keys: protected routes ask for an x-api-key. open: they are open to everyone, which is allowed on loopback only.',
  }),
  keys: list(ApiKey, {
    default: [],
    maxItems: 100,
    example: '[{ name = "ops", sha256 = "<64 hex digits>", routes = ["POST /v1/payments"] }]',
    description:
      'Keys for protected routes: a name, the key or its SHA-256 in hex, and optionally the routes it opens (all without ' +
      'a list). With none the node writes a random key to <data_dir>/api-key.',
  }),
  cors: Type.Union(
    [
      Type.Literal('off'),
      Type.Literal('all'),
      Type.Array(Type.String({ pattern: '^https?://[^/]+$' }), { maxItems: 100 }),
    ],
    {
      default: 'off',
      form: '"off", "all" or a list of origins (https://host[:port])',
      example: '["https://wallet.example"]',
      description: 'Which browser origins may read answers: "off", "all", or a list of origins.',
    },
  ),
  tooling_everywhere: flag({
    default: false,
    description: 'Serves transactions:serialize and :deserialize on every role, not on users alone.',
  }),
  limits: group('Bounds of a request. What is beyond them is answered with 413, 400 or 408.', {
    body_bytes: integer({
      minimum: KIB,
      maximum: 64 * MIB,
      default: 2 * MIB,
      unit: 'bytes',
      description: 'Largest body.',
    }),
    batch: integer({
      minimum: 1,
      maximum: 10_000,
      default: 1_000,
      unit: 'entries',
      description: 'Most entries of a list in a body.',
    }),
    query_values: integer({
      minimum: 1,
      maximum: 1_000,
      default: 100,
      unit: 'values',
      description: 'Most numbers, hashes or addresses in a query string.',
    }),
    connections_per_address: integer({
      minimum: 1,
      maximum: 65_536,
      default: 64,
      unit: 'connections',
      description: 'Most open connections from one remote address (loopback is not counted).',
    }),
    request_timeout_ms: integer({
      minimum: 100,
      maximum: 10 * MINUTE_MS,
      default: 30_000,
      unit: 'ms',
      description: 'Time in which a request must have arrived in full.',
    }),
    keep_alive_timeout_ms: integer({
      minimum: 100,
      maximum: 10 * MINUTE_MS,
      default: 72_000,
      unit: 'ms',
      description: 'How long an idle connection is kept.',
    }),
  }),
  rate_limit: group('Requests counted by remote address; beyond the limit the answer is 429.', {
    enabled: flag({ default: false, description: 'Turns the limit on.' }),
    per_minute: integer({
      minimum: 1,
      maximum: 10_000_000,
      default: 600,
      unit: 'requests/minute',
      description: 'Requests of one address in a minute.',
    }),
  }),
  tls: group('HTTPS, when both files are given.', {
    cert_file: file('Certificate chain, PEM.'),
    key_file: file('Private key of the certificate, PEM.'),
  }),
});

const envelope = group('The older routes at the root of the API, with the x-cache-id header.', {
  enabled: flag({ default: true, description: 'Serves these routes.' }),
  require_cache_id: flag({ default: false, description: 'Refuses requests without x-cache-id.' }),
  block_by_num: choice(['blocks', 'pairs'], {
    default: 'blocks',
    description: 'Form of the answer of block_by_num: {"blocks": [...]}, or a list of [hash, block] pairs.',
  }),
  cache_entries: integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 10_000,
    unit: 'answers',
    description: 'Answers kept for repeated ids.',
  }),
  cache_ttl_seconds: integer({
    minimum: 1,
    maximum: 7 * DAY_S,
    default: 3_600,
    unit: 's',
    description: 'How long an answer is kept.',
  }),
});

const metrics = group('Prometheus metrics on a port of their own.', {
  enabled: flag({ default: false, description: 'Serves /metrics.' }),
  host: host('Address to listen on.'),
  port: port({ storage: 9301, mempool: 9303, miner: 9304, user: 9300 }, 'Port to listen on.'),
});

const peers = group('Links to the other nodes.', {
  host: host('Address to accept links on.'),
  port: port({ storage: 12_330, mempool: 12_300, miner: 12_340, user: 12_360 }, 'Port to accept links on.'),
  advertise: maybeText({
    pattern: HOST_PORT,
    maxLength: 261,
    form: 'host:port',
    example: '"node1.example:12300"',
    description: 'Where other nodes reach this one, when that is not peers.host and peers.port.',
  }),
  mempool: peerList('Mempool nodes to keep a link to. Miners and users need one.'),
  storage: peerList(
    'Storage nodes to keep a link to: a mempool node needs one, storage nodes catch up from each other.',
  ),
  miner: peerList('Miners to keep a link to. Rarely needed: miners open the link themselves.'),
  user: peerList('Users to keep a link to. Rarely needed: users open the link themselves.'),
  max_links: integer({
    minimum: 1,
    maximum: 10_000,
    default: 256,
    unit: 'links',
    description: 'Most links at a time, counting both directions.',
  }),
  dial_timeout_ms: integer({
    minimum: 100,
    maximum: MINUTE_MS,
    default: 5_000,
    unit: 'ms',
    description: 'Time in which a link must be open, handshake included.',
  }),
  heartbeat_ms: integer({
    minimum: 100,
    maximum: HOUR_MS,
    default: 10_000,
    unit: 'ms',
    description: 'Pause between heartbeats; a link that misses two is closed.',
  }),
  reconnect_max_ms: integer({
    minimum: 100,
    maximum: HOUR_MS,
    default: 15_000,
    unit: 'ms',
    description:
      'Longest pause between attempts to open a configured link again; the first is short, each next twice as long.',
  }),
  tls: group('TLS for links, when both certificate files are given.', {
    cert_file: file('Certificate chain, PEM.'),
    key_file: file('Private key of the certificate, PEM.'),
    ca_file: file('Certificates that other nodes are checked against, PEM; without it the ones of the system.'),
  }),
});

const mempool = group('The pool of transactions (role mempool).', {
  pool_max_transactions: integer({
    minimum: 1,
    maximum: 10_000_000,
    default: 200_000,
    unit: 'transactions',
    description: 'Most transactions waiting for a block; a full pool refuses new ones with mempool_full.',
  }),
  pool_max_bytes: integer({
    minimum: KIB,
    maximum: 16 * KIB * MIB,
    default: 256 * MIB,
    unit: 'bytes',
    description: 'Most bytes of encoded transactions waiting for a block.',
  }),
  tx_status_lifetime_hours: integer({
    minimum: 1,
    maximum: 24 * 365,
    default: 24,
    unit: 'hours',
    description: 'How long the status of a confirmed or rejected transaction is kept.',
  }),
  druid_lifetime_blocks: integer({
    minimum: 1,
    maximum: 10_000_000,
    default: 1_000,
    unit: 'blocks',
    description: 'How long one half of a DRUID trade waits for the others before it is rejected.',
  }),
  verify_threads: integer({
    minimum: 0,
    maximum: 64,
    default: 1,
    unit: 'threads',
    description: 'Threads that check signatures beside the main one; 0 checks on the main thread alone.',
  }),
});

const mining = group('Making blocks: the first part is read by mempool nodes, the second by miners.', {
  block_interval_ms: integer({
    minimum: 0,
    maximum: 24 * HOUR_MS,
    default: 30_000,
    unit: 'ms',
    description: 'Least time between two block templates (mempool).',
  }),
  instant: flag({
    default: false,
    description:
      'Cuts a block as soon as there is something to put into it, and none while there is nothing (mempool).',
  }),
  min_miners: integer({
    minimum: 1,
    maximum: 10_000,
    default: 1,
    unit: 'miners',
    description: 'Miners that must be there before the first block is made (mempool).',
  }),
  partition_size: integer({
    minimum: 1,
    maximum: 10_000,
    default: 10,
    unit: 'miners',
    description: 'Most miners that take part in one block; among more, a draw decides (mempool).',
  }),
  proof_window_ms: integer({
    minimum: 0,
    maximum: HOUR_MS,
    default: 500,
    unit: 'ms',
    description: 'Time after the first valid proof in which others still count (mempool).',
  }),
  asert_activation_height: integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    default: 3,
    unit: 'blocks',
    description:
      'Blocks after this one carry a difficulty target. The same on all nodes of a network (mempool, storage).',
  }),
  allowed_keys: list(hex(32), {
    default: [],
    maxItems: 10_000,
    example: '["<64 hex digits>"]',
    description: 'Node keys of the miners that may join; an empty list lets every miner join (mempool).',
  }),
  unicorn: group('The draw of participants and winners (mempool). The same on all mempool nodes of a network.', {
    modulus: text({
      maxLength: 1_300,
      pattern: '^[1-9][0-9]*$',
      form: 'a decimal number',
      default: UNICORN_MODULUS,
      description: 'Prime modulus, congruent to 3 modulo 4, in decimal digits. The default is 2^521 - 1.',
    }),
    iterations: integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 1_000,
      unit: 'rounds',
      description: 'Rounds of the slow function; more make a draw harder to foresee and slower.',
    }),
    security: integer({
      minimum: 1,
      maximum: 2_048,
      default: 1,
      unit: 'bits',
      description: 'The modulus must be at least 2^(2 x security).',
    }),
  }),
  enabled: flag({ default: true, description: 'Searches for proofs of work (miner).' }),
  threads: integer({
    minimum: 1,
    maximum: 256,
    default: 1,
    unit: 'threads',
    description: 'Threads that search for a nonce (miner).',
  }),
  static_address: maybeText({
    pattern: '^[0-9a-f]{64}$',
    form: '64 lower-case hex digits',
    description:
      'Address that rewards are paid to; without it each reward goes to a new address of the wallet (miner).',
  }),
});

const wallet = group('The wallet (roles user and miner).', {
  enabled: flag({ default: true, description: 'Switched off, wallet routes answer no_wallet.' }),
  passphrase: text({
    maxLength: 1_024,
    secret: true,
    default: '',
    description: 'Opens the wallet at the start. Better in a file: see wallet.passphrase_file.',
  }),
  passphrase_file: file('A file that holds wallet.passphrase (line ends after it are dropped).'),
  aggregate_above: integer({
    minimum: 2,
    maximum: 1_000_000,
    default: 999,
    unit: 'addresses',
    description: 'With more addresses than this a miner merges the funds of its wallet into one address.',
  }),
  genesis_seed_index: Type.Optional(
    integer({
      minimum: 0,
      maximum: 10_000,
      unit: 'index',
      description:
        'Which list of user_wallet_seeds in the genesis file a new wallet takes its first keys from; none when unset. ' +
        'For test networks: such keys are known to everyone who has the file.',
    }),
  ),
});

const user = group('Payments between users (roles user and miner).', {
  donation_amount: integer({
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
    default: 0,
    unit: 'raw units',
    description: 'What a peer that asks for a donation is paid; 0 refuses.',
  }),
  donations_per_peer_per_day: integer({
    minimum: 1,
    maximum: 10_000,
    default: 1,
    unit: 'donations',
    description: 'Most donations to one peer in 24 hours.',
  }),
});

const storage = group('The archive of blocks (role storage).', {
  cache_bytes: integer({
    minimum: 0,
    maximum: 64 * KIB * MIB,
    default: 64 * MIB,
    unit: 'bytes',
    description: 'Memory for blocks and transactions that were read lately.',
  }),
});

const log = group('What the node writes to standard output.', {
  level: choice(['debug', 'info', 'warn', 'error', 'silent'], {
    default: 'info',
    description: 'Least severe level that is written.',
  }),
  format: choice(['auto', 'json', 'pretty'], {
    default: 'auto',
    description: 'json: one object a line. pretty: for people. auto: pretty on a terminal, json elsewhere.',
  }),
});

export const ConfigSchema = group('The configuration of a node.', {
  node,
  network,
  api,
  envelope,
  metrics,
  peers,
  mempool,
  mining,
  wallet,
  user,
  storage,
  log,
});

/** The whole configuration of a node: the schema's tree, members in camelCase, frozen. Made by `loadConfig`. */
export type Config = Loaded<typeof ConfigSchema>;
