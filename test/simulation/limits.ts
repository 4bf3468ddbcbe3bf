/**
 * What a world has smaller than the program: limits that no network reaches within a minute, so that what happens at them happens in every
 * story. And a proof of work that takes eight hashes, in place of 256.
 */

import type { Edit } from './bundle.js';

const limit = (file: string, name: string, from: string, to: string): Edit => ({
  file,
  find: `const ${name} = ${from};`,
  put: `const ${name} = ${to};`,
});

export const LIMITS: readonly Edit[] = [
  // The journal forgets after some blocks.
  limit('mempool/state/retention.ts', 'COMPACT_EVERY', '64', '3'),
  limit('mempool/state/retention.ts', 'KEEP_COMMANDS', '10_000', '6'),
  limit('mempool/state/retention.ts', 'KEEP_ADOPTED', '64', '6'),
  limit('mempool/state/retention.ts', 'KEEP_MS', '60_000', '4_000'),
  limit('mempool/state/retention.ts', 'KEEP_ADOPTED_MS', '60_000', '4_000'),
  limit('mempool/state/retention.ts', 'MIB', '1024 * 1024', '1024'),
  limit('mempool/state/rounds.ts', 'MAX_KEPT_BLOCKS', '64', '4'),
  // A node is soon away for more states than the others know.
  limit('mempool/replicas/shared-digests.ts', 'KEPT_STATES', '16', '4'),
  // Files are full after some blocks.
  limit('db/log-kv.ts', 'FILE_BYTES', '4 * 1024 * 1024', '16 * 1024'),
  limit('storage/segments/segments.ts', 'SEGMENT_BYTES', '256 * 1024 * 1024', '16 * 1024'),
  // Other work comes between the pieces of a command and of an image.
  limit('lib/time-slices.ts', 'SLICE_MS', '8', '0.02'),
  limit('mempool/image/changed-outputs.ts', 'PIECE_WRITES', '2_048', '4'),
  limit('mempool/image/image-file.ts', 'PIECE_ROWS', '4_096', '8'),
  limit('mempool/state/rounds.ts', 'PIECE_TRANSACTIONS', '1_024', '2'),
  limit('mempool/state/acceptance.ts', 'PIECE_TRANSACTIONS', '64', '2'),
  limit('mempool/state/coins.ts', 'PIECE_OUTPUTS', '512', '4'),
  // Storage that takes its time is asked again.
  limit('mempool/blocks/block-sender.ts', 'ANSWER_MS', '60_000', '3_000'),
  // A node that gets no state from another one makes it from blocks.
  limit('node/roles/mempool/joining.ts', 'PATIENCE_MS', '60_000', '3_000'),
  // Nodes that are away for long are forgotten by the others.
  limit('journal/etcd/etcd-journal.ts', 'BEAT_MS', '60_000', '3_000'),
  limit('journal/etcd/etcd-journal.ts', 'DEFAULT_LIFETIME', '3_600', '25'),
  // Rewards can be spent while there are still blocks.
  limit('chain/constants.ts', 'COINBASE_MATURITY', '100n', '6n'),
  // Halves of trades that stay alone are soon taken back.
  limit('wallet/trades/trade.ts', 'GRACE', '120_000', '10_000'),
  // The file of a wallet is opened at each start.
  { file: 'crypto/scrypt.ts', find: '{ n: 2 ** 17, r: 8, p: 1 }', put: '{ n: 2 ** 4, r: 8, p: 1 }' },
  {
    file: 'chain/pow.ts',
    find: 'return largest.fill(0, 0, MINING_DIFFICULTY);',
    put: 'return largest.fill(0x1f, 0, MINING_DIFFICULTY);',
  },
];
