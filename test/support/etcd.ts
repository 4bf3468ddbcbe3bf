/** A cluster of one real etcd, on loopback and in a folder of its own. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import http, { type IncomingMessage } from 'node:http';
import https, { type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './free-port.js';
import { findTool } from './tools.js';

export const hasEtcd = findTool('etcd') !== undefined;

export interface Etcd {
  readonly endpoint: string;
  /** Ends it as a power cut would. */
  kill(): Promise<void>;
  /** Starts it again on the same data and ports; resolves when it serves clients. */
  start(): Promise<void>;
  /** Takes from its history all that is older than now, as operators let it do. */
  compactHistory(): Promise<void>;
  /** Lets nobody in any more but this user, who may do everything; `tls` is for asking it that. */
  demandPassword(user: { readonly name: string; readonly password: string }, tls: RequestOptions): Promise<void>;
  /** A copy of its data as it is now; it is stopped for that. */
  copy(): Promise<string>;
  /** Starts again on such a copy, in place of its data. */
  restore(copy: string): Promise<void>;
  /** Ends it and removes its data. */
  dispose(): Promise<void>;
}

/** The options of a mempool node with its journal there. */
export function journalIn({ endpoint }: Etcd): Readonly<Record<string, unknown>> {
  return { 'journal.kind': 'etcd', 'journal.endpoints': `["${endpoint}"]` };
}

/** `more` are further arguments; with `https` the clients' side speaks TLS. */
export async function startEtcd(more: readonly string[] = [], { https = false } = {}): Promise<Etcd> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-etcd-'));
  const [clients, members] = [await freePort(), await freePort()];
  const endpoint = `${https ? 'https' : 'http'}://127.0.0.1:${clients}`;
  const peer = `http://127.0.0.1:${members}`;
  const options = [
    ...['--name', 'only', '--data-dir', join(folder, 'data'), '--logger', 'zap', '--log-level', 'info'],
    ...['--listen-client-urls', endpoint, '--advertise-client-urls', endpoint],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `only=${peer}`],
  ];
  let copies = 0;
  const { start, kill } = etcdProcess([...options, ...more]);

  await start();
  return {
    endpoint,
    kill,
    start,
    async compactHistory() {
      const { header } = (await post(`${endpoint}/v3/kv/range`, { key: 'AA==' })) as { header: { revision: string } };
      await post(`${endpoint}/v3/kv/compaction`, { revision: header.revision, physical: true });
    },
    async demandPassword({ name, password }, tls) {
      await post(`${endpoint}/v3/auth/user/add`, { name, password }, tls);
      await post(`${endpoint}/v3/auth/role/add`, { name: 'root' }, tls);
      await post(`${endpoint}/v3/auth/user/grant`, { user: name, role: 'root' }, tls);
      await post(`${endpoint}/v3/auth/enable`, {}, tls);
    },
    async copy() {
      const name = join(folder, `copy-${copies++}`);
      await kill();
      await cp(join(folder, 'data'), name, { recursive: true });
      await start();
      return name;
    },
    async restore(copy) {
      await kill();
      await rm(join(folder, 'data'), { recursive: true });
      await cp(copy, join(folder, 'data'), { recursive: true });
      await start();
    },
    async dispose() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A process of etcd that can be started again and again. */
export interface EtcdProcess {
  /** Resolves when it serves clients, which a member of several does when it has found a leader. */
  start(): Promise<void>;
  kill(): Promise<void>;
  /** SIGSTOP, and the end of that. */
  suspend(): void;
  resume(): void;
}

/** `before` are words before the command, which make it run elsewhere. */
export function etcdProcess(options: readonly string[], before: readonly string[] = []): EtcdProcess {
  let child: ChildProcess | undefined;
  const [program = '', ...rest] = [...before, findTool('etcd') ?? 'etcd', ...options];
  return {
    async start() {
      const started = spawn(program, rest, { stdio: ['ignore', 'ignore', 'pipe'] });
      child = started;
      const lines: string[] = [];
      await new Promise<void>((resolve, reject) => {
        createInterface({ input: started.stderr }).on('line', (line) => {
          if (lines.push(line) > 50) lines.shift();
          if (/serving (insecure )?client (traffic|requests)/.test(line)) resolve();
        });
        started.once('close', () => reject(new Error(`etcd has ended:\n${lines.join('\n')}`)));
      });
    },
    async kill() {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
    suspend: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
  };
}

/** The answer of etcd's JSON gateway; `options` are those of the request, such as for TLS. */
export async function post(url: string, body: object, options: RequestOptions = {}): Promise<unknown> {
  const asked = (url.startsWith('https:') ? https : http).request(url, { method: 'POST', ...options });
  asked.end(JSON.stringify(body));
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part as Buffer);
  const said = Buffer.concat(parts).toString();
  if (answer.statusCode !== 200) throw new Error(`${url}: ${answer.statusCode} ${said}`);
  return JSON.parse(said);
}
