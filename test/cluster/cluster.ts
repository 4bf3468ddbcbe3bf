/**
 * A network that outlives any machine: three members of etcd, several mempool nodes at one journal, storage nodes, a miner and
 * a user, all real processes, each on a machine of its own (`machines.ts`).
 */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NodeClient } from '../../src/client/client.js';
import { toHex } from '../../src/lib/bytes.js';
import { systemRandom } from '../../src/lib/random.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { loadOrCreateNodeKey } from '../../src/peers/node-key.js';
import { freePort } from '../support/free-port.js';
import { createNetwork, type Network, type NodeOptions, type NodeProcess, until } from '../support/processes.js';
import { EtcdMembers } from './etcd-members.js';
import type { Machines } from './machines.js';

/** Seconds of the lease of the leader (`node/roles/mempool.ts`). */
export const LEASE_SECONDS = 5;
/** Links notice a dead peer and are opened again quickly, so that a fault is over quickly. */
const LINKS = { 'peers.heartbeat_ms': 1_000, 'peers.reconnect_max_ms': 500 };
/** Journal: what etcd does not confirm in this time is answered as unknown. */
const JOURNAL_TIMEOUT_MS = 3_000;
/** The judge asks for the balances of all addresses at once, and the wallet of the miner has one for each block. */
const MOST_ADDRESSES = 10_000;
/** A client that has waited so long asks another node. */
const CALL_TIMEOUT_MS = 4_000;
/** Milliseconds to wait for what must come by itself, on however busy a machine. */
export const PATIENCE_MS = 180_000;
/** The key of etcd that names the leader. */
const LEADER_KEY = 'tessera/tessera-dev/leader';

export interface ClusterOptions {
  readonly machines: Machines;
  readonly storages: number;
}

const names = (kind: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${kind}-${i + 1}`);

const ETCD = names('etcd', 3);
const MEMPOOLS = names('mempool', 3);
/** A replica that joins later. */
const GUEST = 'mempool-4';

/** The machines of a cluster. */
export function machinesOf(storages: number): readonly string[] {
  return [...ETCD, ...MEMPOOLS, GUEST, ...names('storage', storages), 'miner', 'user'];
}

/** A node and the machine that it is on. */
export interface Placed {
  readonly name: string;
  readonly node: NodeProcess;
}

export class Cluster {
  readonly machines: Machines;
  readonly etcd: EtcdMembers;
  readonly mempools: readonly Placed[];
  readonly storages: readonly Placed[];
  /** It is not started. */
  readonly guest: Placed;
  readonly #network: Network;
  readonly #folder: string;
  readonly #others: readonly Placed[];

  static async start({ machines, storages }: ClusterOptions): Promise<Cluster> {
    const folder = await mkdtemp(join(tmpdir(), 'tessera-cluster-'));
    await writeFile(join(folder, 'secret'), 'a secret of several machines\n', { mode: 0o600 });
    const network = await createNetwork({ logLines: 1_000, before: (name) => machines.before(name) });
    let etcd: EtcdMembers | undefined;
    try {
      etcd = await EtcdMembers.start(ETCD, machines);
      const builder = new Builder(network, machines, etcd, join(folder, 'secret'));
      const first: Placed[] = [];
      for (const name of names('storage', storages)) {
        first.push(await builder.start(name, 'storage', { 'peers.storage': addresses(first) }));
      }
      const replicas = new Map<string, string>();
      for (const name of [...MEMPOOLS, GUEST]) replicas.set(name, `${machines.host(name)}:${await freePort()}`);
      const optionsOf = (name: string): NodeOptions => builder.mempoolOptions(name, replicas, first);
      const mempools = await Promise.all(MEMPOOLS.map((name) => builder.start(name, 'mempool', optionsOf(name))));
      const rest = { 'peers.mempool': [...replicas.values()].join(',') };
      const others = [
        await builder.start('miner', 'miner', { ...rest, 'wallet.genesis_seed_index': 1 }),
        await builder.start('user', 'user', { ...rest, 'wallet.genesis_seed_index': 0 }),
      ];
      const guest = builder.make(GUEST, 'mempool', optionsOf(GUEST));
      return new Cluster(machines, etcd, network, folder, { storages: first, mempools, others, guest });
    } catch (error) {
      await network.stopAll();
      await etcd?.end();
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  private constructor(
    machines: Machines,
    etcd: EtcdMembers,
    network: Network,
    folder: string,
    nodes: Pick<Cluster, 'mempools' | 'storages' | 'guest'> & { readonly others: readonly Placed[] },
  ) {
    this.machines = machines;
    this.etcd = etcd;
    this.mempools = nodes.mempools;
    this.storages = nodes.storages;
    this.guest = nodes.guest;
    this.#others = nodes.others;
    this.#network = network;
    this.#folder = folder;
  }

  /** Every node that is meant to run. */
  get nodes(): readonly Placed[] {
    return [...this.storages, ...this.mempools, ...this.#others];
  }

  /** The mempool node that makes the blocks, once there is one. */
  leader(): Promise<Placed> {
    return until(
      'a node that makes the blocks',
      async () => {
        const replica = await this.etcd.get(LEADER_KEY);
        for (const placed of [...this.mempools, this.guest]) {
          if (placed.node.folder !== '' && (await replicaOf(placed)) === replica) return placed;
        }
        return undefined;
      },
      PATIENCE_MS,
    );
  }

  /** A mempool node that does not lead. */
  async follower(pick: (of: readonly Placed[]) => Placed): Promise<Placed> {
    const leader = await this.leader();
    return pick(this.mempools.filter((placed) => placed !== leader));
  }

  /** What the user and the miner can sign for, and the key for asking them. */
  async walletAddresses(): Promise<string[]> {
    const wallets = this.#others.map(async (placed) => {
      const { addresses } = await (await clientOf(placed)).api.exportKeypairs();
      return Object.keys(addresses);
    });
    return (await Promise.all(wallets)).flat();
  }

  /** The wallet node. */
  get user(): Placed {
    return named(this.#others, 'user');
  }

  async end(): Promise<void> {
    await this.#network.stopAll();
    await this.etcd.end();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Makes nodes that know each other's addresses. */
class Builder {
  readonly #network: Network;
  readonly #machines: Machines;
  readonly #etcd: EtcdMembers;
  readonly #secretFile: string;

  constructor(network: Network, machines: Machines, etcd: EtcdMembers, secretFile: string) {
    this.#network = network;
    this.#machines = machines;
    this.#etcd = etcd;
    this.#secretFile = secretFile;
  }

  make(name: string, role: NodeRole, more: NodeOptions): Placed {
    const host = this.#machines.host(name);
    const own = { 'api.host': host, 'peers.host': host, 'api.auth': 'keys', 'network.secret_file': this.#secretFile };
    return { name, node: this.#network.make(name, role, { ...LINKS, ...own, ...more }) };
  }

  async start(name: string, role: NodeRole, more: NodeOptions): Promise<Placed> {
    const placed = this.make(name, role, more);
    await placed.node.start();
    return placed;
  }

  /** `replicas` are the addresses of all mempool nodes, which take their states from each other. */
  mempoolOptions(name: string, replicas: ReadonlyMap<string, string>, storages: readonly Placed[]): NodeOptions {
    const others = [...replicas].flatMap(([other, address]) => (other === name ? [] : [address]));
    return {
      'peers.port': replicas.get(name)?.split(':')[1],
      'peers.mempool': others.join(','),
      'peers.storage': addresses(storages),
      'journal.kind': 'etcd',
      'journal.endpoints': this.#etcd.endpoints.join(','),
      'journal.timeout_ms': JOURNAL_TIMEOUT_MS,
      'api.limits.batch': MOST_ADDRESSES,
    };
  }
}

/** A client of the node with its API key. */
export async function clientOf({ node }: Placed): Promise<NodeClient> {
  const apiKey = (await readFile(join(node.folder, 'api-key'), 'utf8')).trim();
  return new NodeClient({ url: node.apiUrl, apiKey, timeoutMs: CALL_TIMEOUT_MS });
}

/** A client of what the node serves to everybody; made anew for each call, since its port is known once it runs. */
export function publicClientOf({ node }: Placed): NodeClient {
  return new NodeClient({ url: node.apiUrl, timeoutMs: CALL_TIMEOUT_MS });
}

const addresses = (placed: readonly Placed[]): string => placed.map(({ node }) => node.peerAddress).join(',');

function named(list: readonly Placed[], name: string): Placed {
  const found = list.find((placed) => placed.name === name);
  if (found === undefined) throw new Error(`no node ${name}`);
  return found;
}

/** The name that the node has in etcd. */
async function replicaOf({ node }: Placed): Promise<string> {
  const key = await loadOrCreateNodeKey(join(node.folder, 'node-key'), systemRandom);
  return toHex(key.publicKey);
}
