/**
 * Real nodes for tests of the network: each a process of its own with its own data directory, on loopback, with ports that
 * it keeps over restarts (`free-port.ts`). Everything started here is ended by `stopAll`, and ends by itself when this process is gone.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseExactJson, stringifyExact } from '../../src/lib/json.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { freePort } from './free-port.js';

/** The built program. */
export const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
/** Ends a node when this process is gone. By its place below the root: a built script (`built-script.ts`) finds it too. */
const ENDS_WITH_STARTER = new URL('../../test/support/ends-with-starter.mjs', import.meta.url).href;
/** Lets a suspended node go on when its standard input ends: this process wants it to, or is gone. */
const GO_ON = 'trap "" INT TERM; read -r line; kill -CONT "$1"';
/** Polling intervals, in ms: the first, and the longest to which they grow. Each look costs the one who looks and the one who answers. */
const LOOK_FIRST = 25;
const LOOK_LAST = 200;
/** Time limit for waiting, in ms; generous, because machines are slow and shared. */
const PATIENCE = 60_000;

/** A whole network in one process. */
export const ALL_ROLES = 'mempool,storage,miner,user';

export interface NodeProcess<R extends string = NodeRole> {
  readonly role: R;
  /** Process id of the current run. */
  readonly pid: number;
  /** False before the first start, and when the run has ended. */
  readonly isRunning: boolean;
  /** Its data directory. */
  readonly folder: string;
  readonly apiUrl: string;
  readonly peerAddress: string;
  /** Base URL of its metrics; '' when they are off. */
  readonly metricsUrl: string;
  /** What it wrote, last lines, for messages of failed tests. */
  log(): string;
  /** Ends it as a power cut would and resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** Suspends the process, like a machine that sleeps, until `resume`. */
  suspend(): void;
  resume(): void;
  /** Starts it again on the same data and ports, with further variables for this run; resolves when it is ready. */
  start(env?: Environment): Promise<void>;
  /** Resolves when the current run has ended by itself or by a signal; at once when there is none. */
  ended(): Promise<Ending>;
}

export type Environment = Readonly<Record<string, string>>;

/** How a run ended. */
export interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
}

export type NodeOptions = Readonly<Record<string, unknown>>;

/** The nodes of a whole network, one of each role. */
export type Nodes = Readonly<Record<NodeRole, NodeProcess>>;

/** The options of one more mempool node beside these. */
export function besides({ mempool, storage, miner }: Nodes): Readonly<Record<string, string>> {
  return {
    'peers.mempool': mempool.peerAddress,
    'peers.storage': storage.peerAddress,
    'peers.miner': miner.peerAddress,
  };
}

export interface Network {
  /** A node that is not started yet. */
  make<R extends string = NodeRole>(name: string, role: R, options?: NodeOptions): NodeProcess<R>;
  add(name: string, role: NodeRole, options?: NodeOptions): Promise<NodeProcess>;
  /**
   * Starts one node of each role, named by its role, linked to the others and funded, with block 0 stored; `byRole` adds
   * to `options`.
   */
  addAll(options?: NodeOptions, byRole?: Readonly<Partial<Record<NodeRole, NodeOptions>>>): Promise<Nodes>;
  stopAll(): Promise<void>;
}

export interface NetworkOptions {
  /** The built program; `dist/main.js` by default. */
  readonly program?: string;
  /** Arguments of Node.js itself. */
  readonly nodeArguments?: readonly string[];
  /** Words before the command of the node of that name, which make it run elsewhere. */
  readonly before?: (name: string) => readonly string[];
  /** Environment of the process of the node of that name, whose data directory is `folder`. */
  readonly environment?: (name: string, folder: string) => Environment;
  /** Limit of open files and sockets of each process; by default that of this one. */
  readonly openFiles?: number;
  /** How many log lines of each node are kept; 400 by default. */
  readonly logLines?: number;
}

interface ProgramOptions extends NetworkOptions {
  /** Before the command. */
  readonly words: readonly string[];
}

/** The parts of a dev network, each to be started as a process. */
export async function createNetwork(networkOptions: NetworkOptions = {}): Promise<Network> {
  const root = await mkdtemp(join(tmpdir(), 'tessera-test-'));
  const nodes: NodeProcess<string>[] = [];
  const make: Network['make'] = (name, role, options = {}) => {
    const folder = join(root, name);
    const environment = networkOptions.environment?.(name, folder) ?? {};
    const before = networkOptions.before?.(name) ?? [];
    const node = createNodeProcess(role, folder, { ...networkOptions, words: before }, environment, {
      'node.name': name,
      'node.data_dir': folder,
      'log.level': 'info',
      'log.format': 'json',
      // Nodes that come back are not waited for longer than they take.
      'peers.reconnect_max_ms': 200,
      ...options,
    });
    nodes.push(node);
    return node;
  };
  const add: Network['add'] = async (name, role, options) => {
    const node = make(name, role, options);
    await node.start();
    return node;
  };
  return {
    make,
    add,
    async addAll(options = {}, byRole = {}) {
      const addOne = (role: NodeRole, more: NodeOptions = {}) =>
        add(role, role, { ...options, ...byRole[role], ...more });
      const storage = await addOne('storage');
      const mempool = await addOne('mempool', { 'peers.storage': storage.peerAddress });
      const [miner, user] = await Promise.all([
        addOne('miner', { 'peers.mempool': mempool.peerAddress, 'wallet.genesis_seed_index': 1 }),
        addOne('user', { 'peers.mempool': mempool.peerAddress, 'wallet.genesis_seed_index': 0 }),
      ]);
      await whenReady(mempool);
      return { storage, mempool, miner, user };
    },
    async stopAll() {
      await Promise.all(nodes.map((node) => node.kill()));
      await rm(root, { recursive: true, force: true });
    },
  };
}

function createNodeProcess<R extends string>(
  role: R,
  folder: string,
  { program = MAIN, nodeArguments = [], logLines = 400, openFiles, words }: ProgramOptions,
  environment: Environment,
  options: Readonly<Record<string, unknown>>,
): NodeProcess<R> {
  let child: ChildProcess | undefined;
  let apiUrl = '';
  let peerAddress = '';
  let metricsUrl = '';
  let ports: NodeOptions | undefined;
  const lines: string[] = [];

  async function start(env: Environment = {}): Promise<void> {
    // Of several roles in one process each has a port for links of its own, which it chooses.
    ports ??= { 'api.port': await freePort(), 'peers.port': role.includes(',') ? 0 : await freePort() };
    const all = { ...ports, ...options };
    const sets = Object.entries(all).flatMap(([name, value]) => ['--set', `${name}=${String(value)}`]);
    const programArguments = [program, '--role', role, '--config', 'config/dev.toml', ...sets];
    const command = [...words, process.execPath, '--import', ENDS_WITH_STARTER, ...nodeArguments, ...programArguments];
    // A shell can lower the limit before it becomes the node.
    const limited =
      openFiles === undefined ? command : ['sh', '-c', `ulimit -n ${openFiles} && exec "$@"`, 'sh', ...command];
    const [executable = '', ...rest] = limited;
    const started = spawn(executable, rest, {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...environment, ...env },
    });
    child = started;
    const note = (line: string): void => {
      lines.push(line);
      if (lines.length > logLines) lines.shift();
    };
    const { stdout, stderr } = started;
    if (stdout === null || stderr === null) throw new Error('pipes were asked for');
    createInterface({ input: stderr }).on('line', note);
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: stdout }).on('line', (line) => {
        note(line);
        if (!line.includes('"msg":"ready"')) return;
        const facts = JSON.parse(line) as { api: string; peers?: string; metrics?: string };
        apiUrl = facts.api;
        peerAddress = facts.peers ?? '';
        metricsUrl = facts.metrics ?? '';
        resolve();
      });
      // 'close' and not 'exit': by then its last lines have been read.
      started.once('close', (code) => reject(new Error(`${role} ended with ${code}:\n${lines.slice(-30).join('\n')}`)));
    });
  }

  async function ended(): Promise<Ending> {
    const run = child;
    if (run === undefined) return { code: null, signal: null };
    if (run.exitCode === null && run.signalCode === null) await once(run, 'exit');
    return { code: run.exitCode, signal: run.signalCode };
  }

  async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    child?.kill(signal);
    return (await ended()).code;
  }

  let resume = (): void => undefined;
  function suspend(): void {
    const run = child;
    if (run?.pid === undefined) return;
    run.kill('SIGSTOP');
    const waker = spawn('sh', ['-c', GO_ON, 'sh', String(run.pid)], { stdio: ['pipe', 'ignore', 'ignore'] });
    resume = () => {
      run.kill('SIGCONT');
      waker.stdin.end();
    };
    run.once('exit', () => waker.stdin.end());
  }

  return {
    role,
    folder,
    get pid() {
      return child?.pid ?? 0;
    },
    get apiUrl() {
      return apiUrl;
    },
    get peerAddress() {
      return peerAddress;
    },
    get metricsUrl() {
      return metricsUrl;
    },
    get isRunning() {
      return child !== undefined && child.exitCode === null && child.signalCode === null;
    },
    log: () => lines.join('\n'),
    kill: async () => {
      await end('SIGKILL');
    },
    stop: () => end('SIGTERM'),
    suspend,
    resume: () => resume(),
    start,
    ended,
  };
}

/** Resolves when /readyz answers 200: of a mempool node, when the outputs of block 0 can be spent. */
export const whenReady = ({ role, apiUrl }: Pick<NodeProcess<string>, 'role' | 'apiUrl'>): Promise<true> =>
  until(`${role} to be ready`, async () => ((await fetch(`${apiUrl}/readyz`)).ok ? true : undefined));

/** The parsed body of a 2xx answer, with exact integers. Throws an error with the body for other answers. */
export async function call(url: string, body?: unknown): Promise<unknown> {
  const init =
    body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: stringifyExact(body) };
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  return text === '' ? undefined : parseExactJson(text);
}

/** Polls until `look` returns something; an error that it throws meanwhile is part of the final error. */
export async function until<T>(what: string, look: () => Promise<T | undefined>, patience = PATIENCE): Promise<T> {
  const deadline = performance.now() + patience;
  let last: unknown;
  for (let pause = LOOK_FIRST; performance.now() < deadline; pause = Math.min(LOOK_LAST, pause * 1.25)) {
    try {
      const found = await look();
      if (found !== undefined) return found;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  throw new Error(`waited in vain for ${what}`, { cause: last });
}
