/** Three nodes of Garage on loopback, an object store that keeps each object three times, with a bucket and a key. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.js';
import { until } from '../support/processes.js';

const NODES = 3;
const BUCKET = 'blocks';
const REGION = 'us-east-1';

/** The program: `GARAGE_PATH`, or `garage` of the path; undefined where it is missing. */
export function findGarage(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'garage'));
  return [process.env.GARAGE_PATH, ...folders].find((path) => path !== undefined && existsSync(path));
}

interface GarageNode {
  readonly config: string;
  readonly endpoint: string;
  child: ChildProcess | undefined;
}

export class GarageCluster {
  readonly #program: string;
  readonly #root: string;
  readonly #nodes: GarageNode[] = [];
  #key = { accessKeyId: '', secretAccessKey: '' };

  private constructor(program: string, root: string) {
    this.#program = program;
    this.#root = root;
    process.once('exit', () => {
      for (const { child } of this.#nodes) child?.kill('SIGKILL');
    });
  }

  /** Starts the nodes, and gives each a third of the ring, so that each has every object. */
  static async start(program: string): Promise<GarageCluster> {
    const cluster = new GarageCluster(program, await mkdtemp(join(tmpdir(), 'tessera-garage-')));
    const secret = randomBytes(32).toString('hex');
    for (let i = 0; i < NODES; i++) await cluster.#make(i, secret);
    for (let i = 0; i < NODES; i++) await cluster.startNode(i);
    const names = await Promise.all(cluster.#nodes.map((_, i) => cluster.#run(i, 'node', 'id', '-q')));
    for (const name of names.slice(1)) await cluster.#run(0, 'node', 'connect', name);
    for (const name of names) {
      const [id = ''] = name.split('@');
      await cluster.#run(0, 'layout', 'assign', id, '-z', id.slice(0, 8), '-c', '1G');
    }
    await cluster.#run(0, 'layout', 'apply', '--version', '1');
    cluster.#key = JSON.parse(await cluster.#run(0, 'json-api', 'CreateKey', '{"name":"tessera"}'));
    await cluster.#run(0, 'bucket', 'create', BUCKET);
    await cluster.#run(0, 'bucket', 'allow', '--read', '--write', BUCKET, '--key', cluster.#key.accessKeyId);
    return cluster;
  }

  /** Options of a storage node that asks the node with this number. */
  options(node: number): Readonly<Record<string, unknown>> {
    return {
      'storage.segments.store': 's3',
      'storage.segments.endpoint': this.#node(node).endpoint,
      'storage.segments.bucket': BUCKET,
      'storage.segments.region': REGION,
      'storage.segments.access_key': this.#key.accessKeyId,
    };
  }

  /** For the environment, so that no list of processes shows it. */
  get secretKey(): string {
    return this.#key.secretAccessKey;
  }

  async startNode(i: number): Promise<void> {
    const node = this.#node(i);
    const env = { ...process.env, RUST_LOG: 'garage=warn' };
    node.child = spawn(this.#program, ['-c', node.config, 'server'], { stdio: 'ignore', env });
    // It answers anybody with a refusal.
    await until(`Garage node ${i}`, async () => ((await fetch(node.endpoint)).status > 0 ? true : undefined));
  }

  /** Ends a node as a power cut would, by its process id. */
  async killNode(i: number): Promise<void> {
    const { child } = this.#node(i);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async dispose(): Promise<void> {
    for (const i of this.#nodes.keys()) await this.killNode(i);
    await rm(this.#root, { recursive: true });
  }

  async #make(i: number, secret: string): Promise<void> {
    const folder = join(this.#root, String(i));
    await mkdir(folder);
    const [rpc, s3] = [await freePort(), await freePort()];
    const config = join(folder, 'garage.toml');
    const lines = [
      `metadata_dir = "${join(folder, 'meta')}"`,
      `data_dir = "${join(folder, 'data')}"`,
      'db_engine = "sqlite"',
      `replication_factor = ${NODES}`,
      `rpc_bind_addr = "127.0.0.1:${rpc}"`,
      `rpc_public_addr = "127.0.0.1:${rpc}"`,
      `rpc_secret = "${secret}"`,
      '[s3_api]',
      `s3_region = "${REGION}"`,
      `api_bind_addr = "127.0.0.1:${s3}"`,
    ];
    await writeFile(config, `${lines.join('\n')}\n`, { mode: 0o600 });
    this.#nodes.push({ config, endpoint: `http://127.0.0.1:${s3}`, child: undefined });
  }

  #node(i: number): GarageNode {
    const node = this.#nodes[i];
    if (node === undefined) throw new Error(`there is no Garage node ${i}`);
    return node;
  }

  async #run(i: number, ...words: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(this.#program, ['-c', this.#node(i).config, ...words]);
    return stdout.trim();
  }
}
