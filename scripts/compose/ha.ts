/**
 * The network of profile `ha`: three of etcd, three mempool nodes, two storage nodes, two miners, a user, and a load balancer. While
 * a client pays through the balancer, one part after the other is killed; then etcd loses its majority and gets it back.
 */

import { readFileSync } from 'node:fs';
import { createClient } from '../../src/sdk/client.js';
import { heightAt } from './four.js';
import { monitor } from './monitor.js';
import { PayingClient } from './paying-client.js';
import { ACCOUNT, balanceAt } from './readme.js';
import type { Session } from './session.js';

const MEMPOOLS = ['mempool1', 'mempool2', 'mempool3'] as const;
const STORAGES = ['storage1', 'storage2'] as const;
const ETCD = ['etcd1', 'etcd2', 'etcd3'] as const;
const NODES = [...STORAGES, ...MEMPOOLS, 'miner1', 'miner2', 'user1'] as const;
/** What Prometheus scrapes: the nodes, the members of etcd, and the balancer. */
const TARGETS = NODES.length + ETCD.length + 1;
/** Mempool and storage nodes behind the balancer, and the user's wallet. */
const MEMPOOL = 'http://127.0.0.1:8003';
const STORAGE = 'http://127.0.0.1:8001';
const USER = 'http://127.0.0.1:8000';
/** `journal.timeout_ms`, and the time for an answer of a machine that is busy with other things. */
const LONGEST_REFUSAL_MS = 5_000 + 5_000;
/** Payments between two faults. */
const PAYMENTS_BETWEEN = 10;

export async function runHa(session: Session): Promise<void> {
  try {
    await session.run('sh', ['deploy/make-etcd-certificates.sh']);
    await bringUp(session);
    await session.checkHardening(...NODES);
    await payFromWallet(session);
    const client = new PayingClient(MEMPOOL);
    await client.start();
    try {
      await killParts(session, client);
    } finally {
      await client.stop();
    }
    await checkPayments(session, client);
    await maintainEtcd(session);
    await monitor(session, { profile: 'ha', service: 'prometheus-ha', port: 9091, targets: TARGETS });
    await loseMajority(session);
  } finally {
    await session.down('ha');
  }
}

async function bringUp(session: Session): Promise<void> {
  session.section('The network');
  const started = Date.now();
  await session.up('ha', 'balancer');
  await session.healthy(...ETCD, ...NODES, 'balancer');
  session.check('all are healthy', true, `${((Date.now() - started) / 1_000).toFixed(0)} s after up`);
  await session.listContainers();
  const members = ETCD.map((name) => `https://${name}:2379`).join(',');
  const command = ['etcdctl', '--endpoints', members, 'endpoint', 'status'];
  const status = await session.run('docker', ['exec', await session.containerOf('etcd1'), ...command]);
  session.note(`docker compose --profile ha exec etcd1 ${command.join(' ')}`, status);
  const leaders = await leading(session);
  session.check('one mempool node makes the blocks', leaders.length === 1, leaders.join(', '));
}

/** The values of a metric, by mempool node; nothing of those that do not answer. */
async function metric(session: Session, name: string): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const node of MEMPOOLS) {
    const code = "fetch('http://127.0.0.1:9303/metrics').then((answer) => answer.text())";
    const page = await session.inside(node, code).catch(() => '');
    const [, value] = new RegExp(`^${name} (\\S+)$`, 'm').exec(page) ?? [];
    if (value !== undefined) found.set(node, Number(value));
  }
  return found;
}

async function leading(session: Session): Promise<string[]> {
  const leads = await metric(session, 'tessera_mempool_leads');
  return [...leads].filter(([, value]) => value === 1).map(([node]) => node);
}

/** Through the user's node, which has links to all mempool nodes, and no balancer. */
async function payFromWallet(session: Session): Promise<void> {
  session.section('A payment of the wallet');
  const before = await balanceAt(session, MEMPOOL);
  const payment = JSON.stringify({ kind: 'address', address: ACCOUNT, amount: 1_000, passphrase: '' });
  const { status } = await session.curl(
    `curl -s ${USER}/v1/payments -H 'content-type: application/json' -d '${payment}'`,
  );
  session.check('it is taken', status < 300, String(status));
  await session.until('the payment', async () =>
    (await balanceAt(session, MEMPOOL)) === before + 1_000 ? true : undefined,
  );
  session.check('the mempool nodes behind the balancer have it', true);
}

/** Kills, and starts again, each in turn, while payments go through the balancer. */
async function killParts(session: Session, client: PayingClient): Promise<void> {
  session.section('Killed, while a client pays through the balancer');
  session.write(
    'The gap is the longest time without an accepted payment while the container was down and came back.',
    '',
  );
  const leader = async () => (await session.until('a leader', async () => (await leading(session))[0])) ?? '';
  const follower = async () => MEMPOOLS.find((node) => node !== leaderNow) ?? '';
  let leaderNow = '';
  const faults: readonly (readonly [string, () => Promise<string>])[] = [
    ['the mempool node that makes the blocks', leader],
    ['a mempool node that does not', follower],
    ['a storage node', async () => 'storage1'],
    ['a member of etcd', async () => 'etcd1'],
  ];
  for (const [what, choose] of faults) {
    leaderNow = await leader();
    await kill(session, client, what, await choose());
  }
}

async function kill(session: Session, client: PayingClient, what: string, service: string): Promise<void> {
  await client.paid(PAYMENTS_BETWEEN);
  client.resetGap();
  const container = await session.containerOf(service);
  await session.run('docker', ['kill', '--signal', 'KILL', container]);
  await client.paid(PAYMENTS_BETWEEN);
  await session.run('docker', ['start', container]);
  await session.healthy(service);
  await client.paid(PAYMENTS_BETWEEN);
  session.check(`${what}: ${service}`, true, `gap ${(client.longestGapMs / 1_000).toFixed(1)} s`);
}

/** All that was accepted is in blocks, every mempool node has the same, and nothing was refused. */
async function checkPayments(session: Session, client: PayingClient): Promise<void> {
  session.section('What became of the payments');
  const { accepted, refused } = client;
  session.check('none was refused for good', refused.length === 0, refused.join('; ') || `${accepted.length} accepted`);
  const node = createClient({ url: MEMPOOL });
  for (const hash of accepted) await node.waitForTransaction(hash);
  session.check('every accepted one is in a block', true, `${accepted.length} payments`);
  const applied = await session.until('equal states', async () => {
    const values = [...(await metric(session, 'tessera_journal_applied')).values()];
    return values.length === MEMPOOLS.length && new Set(values).size === 1 ? values[0] : undefined;
  });
  session.check('the three mempool nodes have applied the same commands', true, `up to number ${applied}`);
  const code = `fetch('http://127.0.0.1:3003/v1/balances?address=${client.addresses.join('&address=')}').then((answer) => answer.text())`;
  const balances = await Promise.all(MEMPOOLS.map((name) => session.inside(name, code)));
  session.check('and answer the same about the balances', new Set(balances).size === 1, `${balances[0]?.length} bytes`);
  const supply = await session.ask<{ issued: number }>(`${MEMPOOL}/v1/supply`);
  const height = await heightAt(session, STORAGE);
  session.check(
    'storage, through the balancer, has the blocks',
    height > 0,
    `block ${height}, issued ${supply.issued}`,
  );
}

/** The commands of docs/high-availability.md#maintenance-of-etcd, in the container of a member. */
async function maintainEtcd(session: Session): Promise<void> {
  session.section('Maintenance of etcd, as the document has it');
  const page = readFileSync(new URL('../../docs/high-availability.md', import.meta.url), 'utf8');
  const container = await session.containerOf('etcd1');
  for (const [, name = '', block = ''] of page.matchAll(/^```sh ha=(\S+)\n([\s\S]*?)^```/gm)) {
    for (const line of block.trim().split('\n')) {
      session.note(line, await session.run('docker', ['exec', container, ...line.split(' ')]));
    }
    session.check(name, true);
  }
}

/** Two of three members of etcd away: writes are refused in time, reads go on, and it says why; it ends without a hand. */
async function loseMajority(session: Session): Promise<void> {
  session.section('etcd without a majority');
  const lost = await Promise.all(['etcd2', 'etcd3'].map((name) => session.containerOf(name)));
  await session.run('docker', ['kill', ...lost]);
  await session.until('readiness to say so', async () => {
    const ready = await session.inside(
      'mempool1',
      "fetch('http://127.0.0.1:3003/readyz').then((answer) => answer.text())",
    );
    return ready.includes('the journal waits for etcd') ? ready : undefined;
  });
  await session.until('the balancer to see it', async () =>
    (await session.curl(`curl -s ${MEMPOOL}/readyz`)).status === 503 ? true : undefined,
  );
  session.check('a read through the balancer goes on', (await balanceAt(session, MEMPOOL)) > 0);
  const started = Date.now();
  const client = new PayingClient(MEMPOOL);
  const answer = await client.tryOnce();
  const took = Date.now() - started;
  session.check('a write is answered with the documented error', answer.includes('outcome_unknown'), answer);
  session.check('within the time-out', took < LONGEST_REFUSAL_MS, `${(took / 1_000).toFixed(1)} s`);
  const reachable = await session.until('the metric', async () => {
    const values = await metric(session, 'tessera_journal_reachable');
    return [...values.values()].every((value) => value === 0) ? values : undefined;
  });
  session.check('tessera_journal_reachable', true, JSON.stringify(Object.fromEntries(reachable)));
  await session.run('docker', ['start', ...lost]);
  await session.healthy(...ETCD, ...MEMPOOLS);
  await session.until('a payment to be taken again', async () =>
    (await client.tryOnce()).includes('accepted') ? true : undefined,
  );
  session.check('with its members back, payments are taken again, without a hand', true);
}
