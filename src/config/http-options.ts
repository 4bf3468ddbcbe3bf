/** The options of the HTTP servers of a node: the API, the older envelope routes, the metrics. */

import { Type } from '@sinclair/typebox';
import { API_PERMISSIONS } from './api-keys.js';
import { addressOrNetwork, DAY_S, file, hex, host, KIB, MIB, MINUTE_MS, port } from './option-kinds.js';
import { choice, flag, group, integer, list } from './options.js';

const ApiKey = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 64 }),
    key: Type.Optional(Type.String({ minLength: 16, maxLength: 256, secret: true })),
    sha256: Type.Optional(hex(32)),
    routes: Type.Optional(
      Type.Array(Type.String({ pattern: '^(GET|POST|PUT|\\*) /', maxLength: 128 }), { maxItems: 64 }),
    ),
    permissions: Type.Optional(
      Type.Array(Type.Union(API_PERMISSIONS.map((name) => Type.Literal(name))), { maxItems: API_PERMISSIONS.length }),
    ),
  },
  { additionalProperties: false },
);

export const api = group('The HTTP API.', {
  host: host('Address to listen on.'),
  port: port('api', 'Port to listen on.'),
  auth: choice(
    ['keys', 'open'],
    { default: 'keys' },
    'keys: protected routes need an x-api-key. open: everyone may use them; allowed on loopback only.',
  ),
  keys: list(
    ApiKey,
    {
      default: [],
      live: true,
      maxItems: 100,
      example: '[{ name = "shop", sha256 = "<64 hex digits>", permissions = ["read", "pay"] }]',
    },
    'Keys for protected routes: a name, the key or its SHA-256 in hex, and optionally its rights: permissions (read, pay, ' +
      'export of the private keys, admin for importing keys and changing the passphrase), routes such as "POST /v1/payments", ' +
      'or both; then both must allow a request. A key without such limits opens everything, export included. If no keys are ' +
      'set, the node writes a random key with all rights to <data_dir>/api-key.',
  ),
  cors: Type.Union(
    [
      Type.Literal('off'),
      Type.Literal('loopback'),
      Type.Literal('all'),
      Type.Array(Type.String({ pattern: '^https?://[^/]+$' }), { maxItems: 100 }),
    ],
    {
      default: 'off',
      form: '"off", "loopback", "all" or a list of origins (https://host[:port])',
      example: '["https://wallet.example"]',
      description:
        'Which browser origins may read answers: "off", "loopback" (pages of this machine), "all", or a list of origins. A node ' +
        'with auth = "open" also answers to the names in this list. Unless the list is "all", it answers to no other name ' +
        'that can be registered (DNS rebinding).',
    },
  ),
  pages: flag(
    true,
    'Serves pages for browsers: the explorer on storage nodes, at /, and the wallet on miner and user nodes.',
  ),
  tooling_everywhere: flag(false, 'Serves transactions:serialize and :deserialize on every role, not only on users.'),
  open_item_creation: flag(
    false,
    'On a mempool node, POST /v1/items needs no x-api-key: the client signs the item, and existing clients send no key. ' +
      'Miner and user nodes always need one, because there the wallet signs.',
  ),
  trusted_proxies: list(
    addressOrNetwork(),
    { default: [], maxItems: 64, example: '["10.0.0.9", "2001:db8:0:1::/64"]' },
    'Addresses, or networks, of the reverse proxies before this node. Limits by address then count the last client in the ' +
      'X-Forwarded-For header of such a proxy. The header is ignored from other senders. Name only proxies that set this ' +
      'header themselves: anyone who connects from such an address can pose as any client.',
  ),
  limits: group('Limits on requests. A request that exceeds one is answered with 413, 400 or 408.', {
    body_bytes: integer(
      { minimum: KIB, maximum: 64 * MIB, default: 2 * MIB, unit: 'bytes' },
      'Maximum size of a request body.',
    ),
    batch: integer(
      { minimum: 1, maximum: 10_000, default: 1_000, unit: 'entries' },
      'Maximum number of entries in a list in a body.',
    ),
    query_values: integer(
      { minimum: 1, maximum: 1_000, default: 100, unit: 'values' },
      'Maximum number of values (block numbers, hashes, addresses) in a query string.',
    ),
    connections_per_address: integer(
      { minimum: 1, maximum: 65_536, default: 64, unit: 'connections' },
      'Maximum number of open connections from one remote address (loopback is not limited).',
    ),
    request_timeout_ms: integer(
      { minimum: 100, maximum: 10 * MINUTE_MS, default: 30_000, unit: 'ms' },
      'Time limit for a request to arrive in full.',
    ),
    keep_alive_timeout_ms: integer(
      { minimum: 100, maximum: 10 * MINUTE_MS, default: 72_000, unit: 'ms' },
      'How long an idle connection is kept open.',
    ),
  }),
  rate_limit: group(
    'Limit on the number of requests from one remote address. Requests beyond it are answered with 429.',
    {
      enabled: flag(false, 'Turns the limit on.'),
      per_minute: integer(
        { minimum: 1, maximum: 10_000_000, default: 600, unit: 'requests/minute' },
        'Maximum number of requests per minute from one address.',
      ),
    },
  ),
  tls: group('HTTPS, when both files are given.', {
    cert_file: file('Certificate chain, PEM.'),
    key_file: file('Private key of the certificate, PEM.'),
  }),
});

export const envelope = group('The older routes at the root of the API, with the x-cache-id header.', {
  enabled: flag(true, 'Serves these routes.'),
  require_cache_id: flag(false, 'Refuses requests without x-cache-id.'),
  wallet_routes: flag(
    false,
    'Serves the wallet routes of the original node too (make_payment, wallet_info, …), with the keys of their twins under /v1.',
  ),
  answers: choice(
    ['contract', 'original'],
    { default: 'contract' },
    'Statuses and shapes: those of the contract, or those of the original node, which answers 500 where a rule refuses and takes ' +
      'the good transactions of a list.',
  ),
  block_by_num: choice(
    ['blocks', 'pairs'],
    { default: 'blocks' },
    'What block_by_num answers: {"blocks": [...]}, or a list of [hash, block] pairs; the original adds its place to each.',
  ),
  cache_entries: integer(
    { minimum: 1, maximum: 1_000_000, default: 10_000, unit: 'answers' },
    'Number of answers kept for requests that repeat their id.',
  ),
  cache_ttl_seconds: integer(
    { minimum: 1, maximum: 7 * DAY_S, default: 3_600, unit: 's' },
    'How long such an answer is kept.',
  ),
});

export const metrics = group('Prometheus metrics, on their own port.', {
  enabled: flag(false, 'Serves /metrics.'),
  host: host('Address to listen on.'),
  port: port('metrics', 'Port to listen on.'),
});
