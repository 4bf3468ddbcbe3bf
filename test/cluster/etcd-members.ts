/** A cluster of several real members of etcd, each on a machine of its own. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EtcdProcess, etcdProcess, post } from '../support/etcd.js';
import { freePort } from '../support/free-port.js';
import { until } from '../support/processes.js';
import type { Machines } from './machines.js';

const CALL_TIMEOUT_MS = 2_000;
const PATIENCE_MS = 180_000;
/** Milliseconds: twice what etcd has by default, for busy machines. */
const HEARTBEAT = 200;
const ELECTION = 2_000;

export interface EtcdMember extends EtcdProcess {
  readonly name: string;
  readonly endpoint: string;
}

interface MemberStatus {
  readonly header: { readonly member_id: string };
  /** Id of the leader; '0' or absent when there is none. */
  readonly leader?: string;
}

export class EtcdMembers {
  readonly members: readonly EtcdMember[];
  readonly #folder: string;

  static async start(names: readonly string[], machines: Machines): Promise<EtcdMembers> {
    const folder = await mkdtemp(join(tmpdir(), 'tessera-etcd-'));
    const places = await Promise.all(
      names.map(async (name) => {
        const [clients, peers] = [await freePort(), await freePort()];
        const url = `http://${machines.host(name)}`;
        return { name, clients: `${url}:${clients}`, peers: `${url}:${peers}` };
      }),
    );
    const all = places.map(({ name, peers }) => `${name}=${peers}`).join(',');
    const members = places.map(({ name, clients, peers }) => {
      const options = [
        ...['--name', name, '--data-dir', join(folder, name), '--logger', 'zap', '--log-level', 'info'],
        ...['--listen-client-urls', clients, '--advertise-client-urls', clients],
        ...['--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers, '--initial-cluster', all],
        ...['--heartbeat-interval', String(HEARTBEAT), '--election-timeout', String(ELECTION)],
      ];
      return { name, endpoint: clients, ...etcdProcess(options, machines.before(name)) };
    });
    const cluster = new EtcdMembers(members, folder);
    await Promise.all(members.map((member) => member.start()));
    return cluster;
  }

  private constructor(members: readonly EtcdMember[], folder: string) {
    this.members = members;
    this.#folder = folder;
  }

  get endpoints(): readonly string[] {
    return this.members.map(({ endpoint }) => endpoint);
  }

  /** The member that leads, once a majority says so. */
  leader(): Promise<EtcdMember> {
    return until(
      'a leader of etcd',
      async () => {
        const said = await Promise.all(this.members.map((member) => statusOf(member)));
        const leaders = said.flatMap((status) => (status?.leader === undefined ? [] : [status.leader]));
        const [leader] = leaders.filter((id) => leaders.filter((other) => other === id).length * 2 > said.length);
        return this.members[said.findIndex((status) => status !== undefined && status.header.member_id === leader)];
      },
      PATIENCE_MS,
    );
  }

  /** The value of a key, from any member that has a majority; undefined where there is none. */
  get(key: string): Promise<string | undefined> {
    return until(
      `${key} in etcd`,
      async () => {
        const answers = this.members.map(({ endpoint }) =>
          post(
            `${endpoint}/v3/kv/range`,
            { key: Buffer.from(key).toString('base64') },
            { signal: AbortSignal.timeout(CALL_TIMEOUT_MS) },
          ),
        );
        const { kvs } = (await Promise.any(answers)) as { readonly kvs?: readonly { readonly value: string }[] };
        return { value: kvs?.[0] && Buffer.from(kvs[0].value, 'base64').toString() };
      },
      PATIENCE_MS,
    ).then(({ value }) => value);
  }

  async end(): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()));
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Undefined when the member does not answer. */
async function statusOf({ endpoint }: EtcdMember): Promise<MemberStatus | undefined> {
  const status = post(`${endpoint}/v3/maintenance/status`, {}, { signal: AbortSignal.timeout(CALL_TIMEOUT_MS) });
  return status.then((said) => said as MemberStatus).catch(() => undefined);
}
