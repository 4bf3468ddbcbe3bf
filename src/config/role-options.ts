/** The options of the work of the roles: the pool, mining, the wallet and its payments, the archive. */

import { Type } from '@sinclair/typebox';
import { file, HOUR_MS, hex, KIB, MIB, MINUTE_MS, url } from './option-kinds.js';
import { choice, flag, group, integer, list, maybeInteger, maybeText, text } from './options.js';

/** 2^521 - 1, the modulus of the network's unicorn (a Mersenne prime). */
const UNICORN_MODULUS = (2n ** 521n - 1n).toString();

export const mempool = group('The pool of transactions (role mempool).', {
  pool_max_transactions: integer(
    { minimum: 1, maximum: 10_000_000, default: 200_000, unit: 'transactions' },
    'Maximum number of transactions waiting for a block. A full pool refuses new ones with mempool_full.',
  ),
  pool_max_bytes: integer(
    { minimum: KIB, maximum: 16 * KIB * MIB, default: 256 * MIB, unit: 'bytes' },
    'Maximum size of all transactions waiting for a block, encoded.',
  ),
  max_ancestors: integer(
    { minimum: 0, maximum: 2_000, default: 100, unit: 'transactions' },
    'Maximum number of waiting transactions that a transaction may depend on. With 0, unconfirmed outputs cannot be spent.',
  ),
  max_ancestor_bytes: integer(
    { minimum: 0, maximum: 16 * MIB, default: 100_000, unit: 'bytes' },
    'Maximum size of those transactions together, encoded.',
  ),
  tx_status_lifetime_hours: integer(
    { minimum: 1, maximum: 24 * 365, default: 24, unit: 'hours' },
    'How long the status of a confirmed or rejected transaction is kept.',
  ),
  druid_lifetime_blocks: integer(
    { minimum: 1, maximum: 10_000_000, default: 1_000, unit: 'blocks' },
    'How long one part of a DRUID trade waits for the others before it is rejected.',
  ),
  pass_on: list(
    url(),
    { default: [], maxItems: 16, example: '["https://mempool.example.net:3003"]' },
    'Mempool nodes of a network of original nodes, which make the blocks. Transactions go on to the first one that answers. ' +
      'Without any, a node of such a network takes no transactions.',
  ),
  image_outputs: integer(
    { minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: 100_000, unit: 'outputs' },
    'With at least this many unspent outputs, the node keeps an image of them, to start faster. It makes a new image when a ' +
      'fifth of this number, and a sixteenth of all outputs, have changed.',
  ),
  verify_threads: integer(
    { minimum: 0, maximum: 64, default: 1, unit: 'threads' },
    'Threads for checking signatures, in addition to the main thread, started when they are needed. With 0, the main thread ' +
      'checks them.',
  ),
  producer_key: maybeText(
    { pattern: '^[0-9a-f]{64}$', form: '64 lower-case hex digits', secret: true },
    'The secret key (seed) for signing blocks; its public key must be one of network.producer_keys. By default the node key ' +
      'in the data folder signs. A file is better: see mempool.producer_key_file.',
  ),
  producer_key_file: file('A file that contains mempool.producer_key (surrounding spaces and line ends are ignored).'),
});

export const mining = group('Making blocks. The first options are for mempool nodes, the last for miners.', {
  block_interval_ms: maybeInteger(
    { minimum: 0, maximum: 24 * HOUR_MS, example: '30000', unit: 'ms' },
    'Longest time between two block templates (mempool); a full block starts a round at once. If block_rules in the ' +
      'genesis file set the interval, leave this out. If neither sets it, the interval is 30000.',
  ),
  instant: flag(false, 'Makes a block as soon as a transaction waits for one, and no empty blocks (mempool).'),
  min_miners: integer(
    { minimum: 1, maximum: 10_000, default: 1, unit: 'miners' },
    'Number of miners that must have joined before the first block is made (mempool).',
  ),
  partition_size: integer(
    { minimum: 1, maximum: 10_000, default: 10, unit: 'miners' },
    'Maximum number of miners in one block; if there are more, they are drawn by lot (mempool).',
  ),
  proof_window_ms: integer(
    { minimum: 0, maximum: HOUR_MS, default: 500, unit: 'ms' },
    'How long after the first valid proof others still count (mempool).',
  ),
  max_clock_skew_ms: integer(
    { minimum: 100, maximum: MINUTE_MS, default: 5_000, unit: 'ms' },
    'How far the clock of a mempool node may be from those of most other mempool and storage nodes that are linked to it. ' +
      'One that is further off makes no block, and /readyz says so (mempool).',
  ),
  asert_activation_height: integer(
    { minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 3, unit: 'blocks' },
    'Blocks after this one carry a difficulty target. The same on all nodes of a network (mempool, storage).',
  ),
  allowed_keys: list(
    hex(32),
    { default: [], maxItems: 10_000, example: '["<64 hex digits>"]' },
    'Node keys of the miners that may join; if the list is empty, every miner may (mempool).',
  ),
  unicorn: group(
    'The draw of participants and winners (mempool). Must be the same on all mempool nodes of a network.',
    {
      modulus: text(
        { maxLength: 1_300, pattern: '^[1-9][0-9]*$', form: 'a decimal number', default: UNICORN_MODULUS },
        'Prime modulus, congruent to 3 modulo 4, in decimal digits. The default is 2^521 - 1.',
      ),
      iterations: integer(
        { minimum: 1, maximum: 1_000_000, default: 1_000, unit: 'rounds' },
        'Rounds of the slow function. More rounds make a draw slower, and harder to predict.',
      ),
      security: integer(
        { minimum: 1, maximum: 2_048, default: 1, unit: 'bits' },
        'The modulus must be at least 2^(2 x security).',
      ),
    },
  ),
  enabled: flag(true, 'Searches for proofs of work (miner).'),
  threads: integer(
    { minimum: 1, maximum: 256, default: 1, unit: 'threads' },
    'Threads that search for a nonce (miner).',
  ),
  static_address: maybeText(
    { pattern: '^[0-9a-f]{64}$', form: '64 lower-case hex digits' },
    'Address that rewards are paid to. By default each reward goes to a new address of the wallet (miner).',
  ),
});

export const wallet = group('The wallet (roles user and miner).', {
  enabled: flag(true, 'Opens the wallet. If false, wallet routes answer no_wallet.'),
  passphrase: text(
    { maxLength: 1_024, secret: true, default: '' },
    'Passphrase that opens the wallet at the start. A file is better: see wallet.passphrase_file.',
  ),
  passphrase_file: file('A file that contains wallet.passphrase (line ends after it are ignored).'),
  aggregate_above: integer(
    { minimum: 2, maximum: 1_000_000, default: 999, unit: 'outputs' },
    'If there are more spendable token outputs than this, the smallest are merged after each block, until about half as many ' +
      'are left. A transaction has at most 500 inputs.',
  ),
  spend_own_change: flag(
    true,
    'Payments may spend unconfirmed change of earlier payments if confirmed coins do not suffice. If false, change is locked ' +
      'until a block has it.',
  ),
  genesis_seed_index: Type.Optional(
    integer(
      { minimum: 0, maximum: 10_000, unit: 'index' },
      'The list of user_wallet_seeds in the genesis file from which a new wallet takes its first keys; none by default. ' +
        'For test networks: everyone who has the file knows these keys.',
    ),
  ),
});

export const user = group('Payments between users (roles user and miner).', {
  donation_amount: integer(
    { minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0, unit: 'raw units' },
    'Amount paid to a peer that asks for a donation; 0 refuses.',
  ),
  donations_per_peer_per_day: integer(
    { minimum: 1, maximum: 10_000, default: 1, unit: 'donations' },
    'Maximum number of donations to one peer in 24 hours.',
  ),
});

export const storage = group('The archive of blocks (role storage).', {
  follow: list(
    url(),
    { default: [], maxItems: 16, example: '["https://storage.example.net:3001"]' },
    'Storage nodes of a network of original nodes. New blocks are asked for, checked by the rules of their height, and stored. ' +
      'When one does not answer, the next one is asked.',
  ),
  index: flag(
    true,
    'Keeps an index of the chain for explorers: histories and balances of addresses, what spends an output, holders of items ' +
      '(routes under /v1/chain). It can be switched on later, is built from the stored blocks, and doubles the space on disk.',
  ),
  cache_bytes: integer(
    { minimum: 0, maximum: 64 * KIB * MIB, default: 64 * MIB, unit: 'bytes' },
    'Cache for recently read blocks and transactions.',
  ),
  segment_bytes: integer(
    { minimum: 64 * KIB, maximum: KIB * MIB, default: 256 * MIB, unit: 'bytes' },
    'Size at which a file of blocks is closed and a new one is begun. Nodes with the same size make the same files.',
  ),
  segments: group('Where closed files of blocks are kept.', {
    store: choice(
      ['local', 's3'],
      { default: 'local' },
      'local: in data_dir. s3: in an S3-compatible object store, with the newest ones in data_dir too. Storage nodes of one ' +
        'network may share a bucket. A node that has fewer blocks than the bucket reads them from there, and checks them.',
    ),
    endpoint: Type.Optional(
      Type.Unsafe<string>({
        ...url(),
        description: 'URL of the object store, without the bucket.',
        example: '"https://s3.example.net"',
      }),
    ),
    bucket: maybeText(
      { pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$', form: 'the name of a bucket', example: '"blocks"' },
      'A bucket that exists.',
    ),
    prefix: text(
      {
        minLength: 1,
        maxLength: 128,
        pattern: '^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$',
        form: 'letters, digits, dot, dash, underscore, single slashes in between',
        default: 'tessera',
      },
      'Prefix of all objects in the bucket, followed by the name of the network.',
    ),
    region: text(
      { pattern: '^[A-Za-z0-9-]+$', maxLength: 64, form: 'letters, digits, dash', default: 'us-east-1' },
      'Region that requests are signed for.',
    ),
    access_key: maybeText({ minLength: 1, maxLength: 256 }, 'Access key (id) for the object store.'),
    secret_key: maybeText(
      { minLength: 1, maxLength: 1_024, secret: true },
      'The secret key of storage.segments.access_key. A file is better: see storage.segments.secret_key_file.',
    ),
    secret_key_file: file(
      'A file that contains storage.segments.secret_key (surrounding spaces and line ends are ignored).',
    ),
    local_bytes: integer(
      { minimum: 0, maximum: 64 * KIB * KIB * MIB, default: 16 * KIB * MIB, unit: 'bytes' },
      'With an object store, closed files are removed from data_dir once they are there, but for the newest ones up to this ' +
        'size. The first and the last one always stay.',
    ),
    cache_bytes: integer(
      { minimum: 0, maximum: 64 * KIB * MIB, default: KIB * MIB, unit: 'bytes' },
      'Space in data_dir for parts of old blocks that were read from the object store.',
    ),
    timeout_ms: integer(
      { minimum: 500, maximum: 10 * MINUTE_MS, default: 10_000, unit: 'ms' },
      'Time without progress after which a request to the object store fails. It is then repeated.',
    ),
  }),
  verify_threads: integer(
    { minimum: 0, maximum: 64, default: 1, unit: 'threads' },
    'Threads for checking the signatures of blocks, in addition to the main thread, started when they are needed. With 0, the ' +
      'main thread checks them.',
  ),
});
