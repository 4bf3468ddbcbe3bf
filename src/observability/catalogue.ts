/** Every metric that a node serves: name, kind, meaning, labels. Names are in seconds and bytes, as Prometheus has it. */

import { factsOf, NODE_ROLES, type NodeRole } from '../lib/roles.js';

/** Bounds in seconds, from a cache hit to a slow disk. */
const FAST = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5];
/** Bounds in seconds for writes to the journal, which may be etcd: beyond the 5 s for which a request waits. */
const JOURNAL = [...FAST, 5, 10, 30];
/** Bounds in seconds for work that waits for other nodes or for a proof of work. */
const SLOW = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
/** Bounds of the number of entries that share one disk sync. */
const GROUP_SIZES = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000];

interface Definition {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
}

const counter = <const L extends readonly string[] = []>(help: string, ...labels: L) =>
  ({ kind: 'counter', help, labels }) as const;
const gauge = <const L extends readonly string[] = []>(help: string, ...labels: L) =>
  ({ kind: 'gauge', help, labels }) as const;
const histogram = <const L extends readonly string[] = []>(help: string, buckets: readonly number[], ...labels: L) =>
  ({ kind: 'histogram', help, labels, buckets }) as const;

export const METRICS = {
  // The node and its process
  tessera_build_info: gauge('Always 1; what runs is in the labels.', 'version', 'role', 'node'),
  tessera_node_ready: gauge('1 while /readyz answers 200.'),
  tessera_process_memory_bytes: gauge('Memory of the process.', 'kind'),
  tessera_process_cpu_seconds_total: counter('Processor time of the process.', 'mode'),
  tessera_process_start_time_seconds: gauge('Start of the process, unix seconds.'),
  tessera_event_loop_delay_seconds: gauge('How late the event loop is since the last scrape.', 'quantile'),
  tessera_event_loop_utilization: gauge('Share of the time since the last scrape in which the event loop was busy.'),
  tessera_log_lines_total: counter('Log lines by level.', 'level'),

  tessera_disk_free_bytes: gauge('What the disk under the data directory has left.'),
  tessera_disk_min_free_bytes: gauge('The mark below which nothing new is taken (node.min_free_bytes).'),

  // HTTP
  tessera_http_request_duration_seconds: histogram(
    'From the first byte of a request to the last of its answer; result is ok, refused (the caller asked for what cannot be) ' +
      'or failed (the node could not do it).',
    FAST,
    'operation',
    'status',
    'result',
  ),
  tessera_http_requests_in_flight: gauge('Requests being answered.'),

  // Mempool
  tessera_mempool_transactions: gauge('Transactions waiting for a block.'),
  tessera_mempool_bytes: gauge('Bytes of encoded transactions waiting for a block.'),
  tessera_mempool_druid_sets: gauge('DRUID sets that wait for a member.'),
  tessera_mempool_tokenless: gauge('Transactions without tokens (item creations and transfers) waiting for a block.'),
  tessera_mempool_unspent_outputs: gauge('Outputs that can still be spent.'),
  tessera_mempool_admissions_total: counter(
    'Transactions by verdict: admitted, known, or the code of the refusal, which counts once for a whole list.',
    'verdict',
  ),
  tessera_mempool_admission_duration_seconds: histogram('From a decoded submission to its durable verdict.', FAST),
  tessera_mempool_signature_checks_total: counter(
    'Signature and script checks by where they ran: worker or main.',
    'place',
  ),
  tessera_mempool_template_duration_seconds: histogram('Cutting a block template.', FAST),
  tessera_mempool_template_transactions: gauge('Transactions in the last block template.'),
  tessera_mempool_proofs_total: counter('Proofs of work received, by verdict: accepted or refused.', 'verdict'),
  tessera_mempool_proof_wait_seconds: histogram('From a template sent to its first valid proof.', SLOW),
  tessera_mempool_block_apply_duration_seconds: histogram('Applying a closed block to the state.', FAST),
  tessera_mempool_block_confirm_seconds: histogram(
    'From a closed block to the word of a storage node that it is stored.',
    SLOW,
  ),
  tessera_mempool_leads: gauge('1 while this node makes the blocks; of several at one journal, one does.'),
  tessera_mempool_clock_skew_seconds: gauge(
    'How far the clock of this node is ahead of those of most other nodes for certain; negative when it is behind.',
  ),
  tessera_mempool_miners: gauge('Miners that take part.'),
  tessera_mempool_blocks_behind: gauge('Blocks that storage has and this mempool node has yet to take in.'),

  // Chain
  tessera_block_height: gauge('Number of the last block that this node knows to be stored; -1 before the first.'),
  tessera_blocks_signed_twice_total: counter('Second blocks that a producer has signed for one height.'),

  // Storage
  tessera_storage_block_write_duration_seconds: histogram('Checking and writing a block.', FAST),
  tessera_storage_reads_total: counter('Entries read, by where they were found: cache, disk or missing.', 'source'),
  tessera_storage_blocks_healed_total: counter(
    'Blocks of a damaged archive that are whole again, by where they came from: the segments or other nodes.',
    'source',
  ),
  tessera_storage_blocks_refused_total: counter(
    'Blocks that were delivered or fetched and not stored, by the rule that they break.',
    'rule',
  ),
  tessera_storage_segments_waiting: gauge('Closed files of blocks that are not in the object store yet.'),
  tessera_storage_segments_far: gauge('Closed files of blocks that are only in the object store.'),
  tessera_storage_blocks_behind: gauge('Blocks that other storage nodes have and this one does not.'),
  tessera_storage_index_height: gauge('Number of the last block in the index of the chain; -1 when it has none.'),
  tessera_storage_index_blocks_behind: gauge('Stored blocks that are not in the index of the chain yet.'),

  // Miner
  tessera_miner_hashes_total: counter('Nonces tried.'),
  tessera_miner_proofs_total: counter('Proofs sent, by verdict of the mempool: accepted or refused.', 'verdict'),

  // Peers
  tessera_peers_links: gauge('Open links by the role of the peer.', 'role'),
  tessera_peers_messages_total: counter(
    'Messages by direction (in, out) and type; control stands for pings and farewells.',
    'direction',
    'type',
  ),
  tessera_peers_bytes_total: counter('Bytes of messages by direction (in, out).', 'direction'),
  tessera_peers_dial_failures_total: counter('Links that could not be opened.'),
  tessera_peers_violations_total: counter('Links closed because the peer broke the protocol.'),
  tessera_peers_evictions_total: counter(
    'What strangers lost to make room: an unfinished handshake, a link, or a link that held too many bytes.',
    'what',
  ),
  tessera_peers_handshakes: gauge('Accepted connections in their handshake.'),
  tessera_peers_queued_bytes: gauge('Bytes that wait to be sent to strangers.'),

  // Journal and database
  tessera_journal_head: gauge('Sequence number of the last durable entry.'),
  tessera_journal_applied: gauge('Sequence number of the last entry that is in the state.'),
  tessera_journal_lag_seconds: gauge(
    'How long the oldest known entry has waited for the state, as far as scrapes have seen it; 0 when all are applied.',
  ),
  tessera_journal_waiting_seconds: gauge(
    'How long the oldest entry has waited for etcd to confirm it; 0 when none waits, and with a local journal.',
  ),
  tessera_journal_reachable: gauge('1 while the journal can be reached: 0 only of one in etcd that does not answer.'),
  tessera_journal_append_duration_seconds: histogram('From append to durable.', JOURNAL),
  tessera_journal_group_entries: histogram('Entries that shared one sync.', GROUP_SIZES),
  tessera_db_write_duration_seconds: histogram('Writing a batch to LevelDB.', FAST, 'sync'),
  tessera_db_unwritable: gauge('Databases whose last write failed.'),
  tessera_db_size_bytes: gauge('Bytes of the data directory.'),

  // Wallet
  tessera_wallet_queue: gauge('Payments that wait to be sent or confirmed.'),
  tessera_wallet_payments_total: counter('Payments by outcome: confirmed or rejected.', 'outcome'),

  // Long work
  tessera_progress_ratio: gauge('Share of a long task that is done, 0 to 1.', 'task'),
} as const satisfies Record<string, Definition>;

type Catalogue = typeof METRICS;

/** The roles whose nodes serve the metric: the roles that list its group, `tessera_GROUP_…`, else all. */
export function rolesOf(metric: string): readonly NodeRole[] {
  const group = metric.split('_')[1] ?? '';
  const own = NODE_ROLES.filter((role) => factsOf(role).metrics.includes(group));
  return own.length === 0 ? NODE_ROLES : own;
}

export type MetricName<K extends Definition['kind']> = {
  [N in keyof Catalogue]: Catalogue[N]['kind'] extends K ? N : never;
}[keyof Catalogue];

type EachText<L extends readonly string[]> = { readonly [I in keyof L]: string };

/** One text for each label of the metric, in the order of the catalogue. */
export type LabelValues<N extends keyof Catalogue> = EachText<Catalogue[N]['labels']>;
