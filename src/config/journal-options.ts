/** The options of the journal: on the disk of one mempool node, or in etcd. */

import { Type } from '@sinclair/typebox';
import { file, MINUTE_MS } from './option-kinds.js';
import { choice, group, integer, list, maybeText, text } from './options.js';

/** Members of a cluster that one names. */
const MAX_ENDPOINTS = 16;

const endpoint = () =>
  Type.String({
    pattern: '^https?://([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$',
    maxLength: 261,
    form: 'http://host:port or https://host:port',
  });

export const journal = group('Where a mempool node keeps its journal: the order of all commands.', {
  kind: choice(['local', 'etcd'], {
    default: 'local',
    description:
      'local: in data_dir. etcd: in a cluster of etcd, version 3.4 or newer, which survives the loss of any one machine.',
  }),
  endpoints: list(endpoint(), {
    default: [],
    maxItems: MAX_ENDPOINTS,
    example: '["https://10.0.0.11:2379", "https://10.0.0.12:2379", "https://10.0.0.13:2379"]',
    description:
      'Client URLs of the members of etcd; all https or all http. The node uses the member that answers first, and the next one ' +
      'if it stops answering.',
  }),
  prefix: text({
    minLength: 1,
    maxLength: 128,
    pattern: '^[A-Za-z0-9._/-]+$',
    form: 'letters, digits, dot, dash, underscore, slash',
    default: 'tessera',
    description: 'Prefix of all keys in etcd, followed by the name of the network. Nothing else may write there.',
  }),
  timeout_ms: integer({
    minimum: 500,
    maximum: 10 * MINUTE_MS,
    default: 5_000,
    unit: 'ms',
    description:
      'Time limit for etcd to confirm an entry. A request that waits longer is answered with outcome_unknown, and may still be ' +
      'accepted.',
  }),
  replica_lifetime_minutes: integer({
    minimum: 5,
    maximum: 10_080,
    default: 60,
    unit: 'minutes',
    description:
      'How long etcd keeps the journal for an absent mempool node. A node that is away for longer takes the state of another ' +
      'node in peers.mempool when it comes back.',
  }),
  user: maybeText({ minLength: 1, maxLength: 256, description: 'User name for etcd, if it requires one.' }),
  password: maybeText({ minLength: 1, maxLength: 1_024, secret: true, description: 'The password of journal.user.' }),
  password_file: file('A file that contains journal.password (surrounding spaces and line ends are ignored).'),
  tls: group('TLS for etcd, when its endpoints are https.', {
    ca_file: file('CA certificates for checking etcd, PEM; those of the system by default.'),
    cert_file: file('Certificate of this client, PEM, if etcd requires one.'),
    key_file: file('Private key of that certificate, PEM.'),
  }),
});
