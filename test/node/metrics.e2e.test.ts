/** Every metric of the catalogue, fed by real nodes that carry a payment. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';
import { METRICS, rolesOf } from '../../src/observability/catalogue.js';
import { payAndConfirm, type RunningDevNetwork, startDevNetwork } from '../support/started-dev-network.js';

/** Metrics that stay at zero, or have no sample, in a network where all goes well. */
const QUIET = new Set([
  'tessera_mempool_transactions',
  'tessera_mempool_bytes',
  'tessera_mempool_druid_sets',
  'tessera_mempool_tokenless',
  'tessera_mempool_blocks_behind',
  'tessera_storage_blocks_behind',
  'tessera_storage_index_blocks_behind',
  // This network has no object store.
  'tessera_storage_segments_waiting',
  'tessera_storage_segments_far',
  // The journal of this network is local.
  'tessera_journal_reachable',
  'tessera_journal_waiting_seconds',
  'tessera_journal_lag_seconds',
  // The index may be a moment behind.
  'tessera_storage_index_height',
  'tessera_peers_dial_failures_total',
  'tessera_peers_violations_total',
  'tessera_db_unwritable',
  'tessera_wallet_queue',
  'tessera_event_loop_delay_seconds',
  // Metrics have a port of their own.
  'tessera_http_requests_in_flight',
  'tessera_peers_evictions_total',
  'tessera_peers_handshakes',
  'tessera_peers_queued_bytes',
  'tessera_blocks_signed_twice_total',
  // All nodes of this network have one clock.
  'tessera_mempool_clock_skew_seconds',
]);

/** Their labels come with the first event, and there was none. */
const WITHOUT_EVENT = new Set(['tessera_storage_blocks_healed_total', 'tessera_storage_blocks_refused_total']);

/** Wallets of this network pay from the user node only. */
const QUIET_ON: Partial<Record<NodeRole, ReadonlySet<string>>> = {
  miner: new Set(['tessera_wallet_payments_total']),
};

let network: RunningDevNetwork;
const pages = new Map<NodeRole, string>();

beforeAll(async () => {
  network = await startDevNetwork({ 'metrics.enabled': true });
  const { address } = (await (await fetch(`${network.urls.miner}/v1/wallet/addresses`, { method: 'POST' })).json()) as {
    address: string;
  };
  const hash = await payAndConfirm(network, address, 1_000);
  await fetch(`${network.urls.storage}/v1/blockchain-entries/${hash}`);
  await fetch(`${network.urls.storage}/v1/blockchain-entries/${hash}`);
  await fetch(`${network.urls.storage}/v1/blockchain-entries/g${'0'.repeat(31)}`);
  await fetch(`${network.urls.mempool}/v1/supply`);
  for (const role of NODE_ROLES) {
    pages.set(role, await (await fetch(`${network.nodes[role].metricsUrl}/metrics`)).text());
  }
});

afterAll(() => network.end());

/** Samples of a metric: the text of its labels → value. Of a histogram, its counts. */
function samples(role: NodeRole, name: keyof typeof METRICS): Map<string, number> {
  const suffix = METRICS[name].kind === 'histogram' ? '_count' : '';
  const found = new Map<string, number>();
  for (const line of (pages.get(role) ?? '').split('\n')) {
    const [, metric, labels = '', value] = /^(\w+)(\{.*\})? (\S+)$/.exec(line) ?? [];
    if (metric === name + suffix) found.set(labels, Number(value));
  }
  return found;
}

const names = Object.keys(METRICS) as (keyof typeof METRICS)[];

describe.each(NODE_ROLES)('a %s node that has worked', (role) => {
  it.each(names.filter((name) => rolesOf(name).includes(role)))('serves %s with a plausible value', (name) => {
    const values = [...samples(role, name).values()];
    expect(values.length > 0).toBe(!WITHOUT_EVENT.has(name));
    for (const value of values) expect(value).toBeGreaterThanOrEqual(0);
    const quiet = QUIET.has(name) || QUIET_ON[role]?.has(name);
    if (!quiet && values.length > 0) expect(Math.max(...values)).toBeGreaterThan(0);
  });

  it('serves no metric of other roles, and none with labels beyond the catalogue', () => {
    const served = [...(pages.get(role) ?? '').matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name);
    expect(served.sort()).toEqual(names.filter((name) => rolesOf(name).includes(role)).sort());
  });
});

describe('the values', () => {
  const one = (role: NodeRole, name: keyof typeof METRICS, labels = ''): number | undefined =>
    samples(role, name).get(labels);

  it('agree with what has happened', () => {
    expect(one('mempool', 'tessera_mempool_admissions_total', '{verdict="admitted"}')).toBe(1);
    expect(one('mempool', 'tessera_mempool_proofs_total', '{verdict="accepted"}')).toBe(2);
    expect(one('mempool', 'tessera_mempool_template_duration_seconds')).toBe(2);
    expect(one('mempool', 'tessera_mempool_proof_wait_seconds')).toBe(2);
    expect(one('mempool', 'tessera_mempool_block_confirm_seconds')).toBe(2);
    expect(one('mempool', 'tessera_mempool_miners')).toBe(1);
    expect(one('mempool', 'tessera_block_height')).toBe(1);
    expect(one('storage', 'tessera_block_height')).toBe(1);
    expect(one('storage', 'tessera_storage_block_write_duration_seconds')).toBe(2);
    expect(one('storage', 'tessera_storage_reads_total', '{source="disk"}')).toBe(1);
    expect(one('storage', 'tessera_storage_reads_total', '{source="cache"}')).toBe(1);
    expect(one('storage', 'tessera_storage_reads_total', '{source="missing"}')).toBe(1);
    expect(one('miner', 'tessera_miner_proofs_total', '{verdict="accepted"}')).toBe(2);
    expect(one('user', 'tessera_wallet_payments_total', '{outcome="confirmed"}')).toBe(1);
    expect(one('user', 'tessera_wallet_queue')).toBe(0);
    expect(one('mempool', 'tessera_peers_links', '{role="storage"}')).toBe(1);
    expect(
      one(
        'storage',
        'tessera_http_request_duration_seconds',
        '{operation="getBlockchainEntry",status="404",result="refused"}',
      ),
    ).toBe(1);
    for (const role of NODE_ROLES) expect(one(role, 'tessera_node_ready')).toBe(1);
  });

  it('count bytes in both directions on every node', () => {
    for (const role of NODE_ROLES) {
      expect(one(role, 'tessera_peers_bytes_total', '{direction="in"}')).toBeGreaterThan(0);
      expect(one(role, 'tessera_peers_bytes_total', '{direction="out"}')).toBeGreaterThan(0);
    }
  });
});
