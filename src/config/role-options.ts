/** The options of what the roles do: the pool, mining, the wallet and its payments, the archive. */

import { Type } from '@sinclair/typebox';
import { file, HOUR_MS, hex, KIB, MIB } from './option-kinds.js';
import { flag, group, integer, list, maybeText, text } from './options.js';

/** 2^521 - 1, the modulus of the network's unicorn (a Mersenne prime). */
const UNICORN_MODULUS = (2n ** 521n - 1n).toString();

export const mempool = group('The pool of transactions (role mempool).', {
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
  producer_key: maybeText({
    pattern: '^[0-9a-f]{64}$',
    form: '64 lower-case hex digits',
    secret: true,
    description:
      'The secret key (seed) that blocks are signed with, its public key being one of network.producer_keys. Without it ' +
      'the node key of the data folder signs. Better in a file: see mempool.producer_key_file.',
  }),
  producer_key_file: file('A file that holds mempool.producer_key (spaces and line ends around it are dropped).'),
});

export const mining = group('Making blocks: the first part is read by mempool nodes, the second by miners.', {
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

export const wallet = group('The wallet (roles user and miner).', {
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
    unit: 'outputs',
    description:
      'With more spendable token outputs than this, after each block the smallest are merged into one, until about half as ' +
      'many are left. A transaction has at most 500 inputs.',
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

export const user = group('Payments between users (roles user and miner).', {
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

export const storage = group('The archive of blocks (role storage).', {
  cache_bytes: integer({
    minimum: 0,
    maximum: 64 * KIB * MIB,
    default: 64 * MIB,
    unit: 'bytes',
    description: 'Memory for blocks and transactions that were read lately.',
  }),
  verify_threads: integer({
    minimum: 0,
    maximum: 64,
    default: 1,
    unit: 'threads',
    description: 'Threads that check the signatures of blocks beside the main one; 0 checks on the main thread alone.',
  }),
});
