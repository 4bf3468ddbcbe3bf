/**
 * The machines of a run. Where the system permits it, each is a network namespace of its own with a line to a switch that can
 * cut any line, one way or both ways; elsewhere all are this machine, and nothing can be cut. The namespaces, and all
 * processes in them, belong to one process that `enterNamespace` starts, and end with it however it ends.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const SWITCH = fileURLToPath(new URL('../../scripts/netns/lossy-switch.py', import.meta.url));
/** New namespaces for networks and processes; what is in them ends with the first process in it. */
const UNSHARE = ['unshare', '--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
/** Neither delay nor loss, and so no seed. */
const LINES = ['0', '0', '0'];
/** Where the clients are. */
const CLIENTS = 'clients';

export interface Machines {
  /** False: this is one machine, whose lines cannot be cut. */
  readonly canCut: boolean;
  /** The address of the machine of that name. */
  host(name: string): string;
  /** Words before a command that is run there. */
  before(name: string): readonly string[];
  /** What each of `from` sends to one of `to` is lost from now on. */
  cut(from: readonly string[], to: readonly string[]): Promise<void>;
  /** Nothing is lost any more. */
  heal(): Promise<void>;
  end(): void;
}

/** All on loopback. */
export const oneMachine: Machines = {
  canCut: false,
  host: () => '127.0.0.1',
  before: () => [],
  cut: () => Promise.reject(new Error('the lines of one machine cannot be cut')),
  heal: () => Promise.resolve(),
  end: () => undefined,
};

/** What this system lacks for machines of their own; undefined when it has everything. */
export function missingForNamespaces(): string | undefined {
  if (process.platform !== 'linux') return 'Linux';
  if (!existsSync('/dev/net/tun')) return '/dev/net/tun';
  for (const [program, flag] of [
    ['python3', '-V'],
    ['ip', '-V'],
    ['nsenter', '-V'],
    ['unshare', '-V'],
  ] as const) {
    if (spawnSync(program, [flag]).status !== 0) return program;
  }
  // A line to a switch, in namespaces like those of the run.
  const [program = '', ...words] = UNSHARE;
  const probe = spawnSync(program, [...words, 'python3', SWITCH, ...LINES, '@probe=10.78.0.2', '.here=10.78.0.1'], {
    input: '',
    timeout: 60_000,
  });
  return probe.status === 0 ? undefined : 'the right to make network namespaces';
}

/**
 * Runs this program once more with these arguments, in namespaces of its own, as their first process; resolves with its exit
 * code. It ends with this process: its standard input ends then, which it watches (`endWithStarter`).
 */
export function enterNamespace(program: string, more: readonly string[]): Promise<number> {
  const [unshare = '', ...words] = UNSHARE;
  const command = [...words, process.execPath, ...process.execArgv, program, ...more];
  const child = spawn(unshare, command, { stdio: ['pipe', 'inherit', 'inherit'] });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.stdin.end());
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
}

/** In the first process of the namespaces: when it exits, the system ends all others. */
export function endWithStarter(): void {
  process.stdin.resume().once('close', () => process.exit(1));
  process.stdin.unref?.();
}

/** A namespace for each name, with a line to a switch in this one. */
export async function startMachines(names: readonly string[]): Promise<Machines> {
  const hosts = new Map([CLIENTS, ...names].map((name, i) => [name, `10.78.0.${i + 1}`]));
  const ends = [...hosts].map(([name, host]) => `${name === CLIENTS ? '.' : '@'}${name}=${host}`);
  const child = spawn('python3', [SWITCH, ...LINES, ...ends], { stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value: ready, done } = await answers.next();
  if (done === true) throw new Error('the switch between the namespaces has ended');
  return new Namespaces(hosts, child, answers, JSON.parse(String(ready).slice('ready '.length)));
}

class Namespaces implements Machines {
  readonly canCut = true;
  readonly #hosts: ReadonlyMap<string, string>;
  readonly #switch: ChildProcess;
  readonly #answers: AsyncIterator<string>;
  readonly #descriptors: Readonly<Record<string, number>>;

  constructor(
    hosts: ReadonlyMap<string, string>,
    child: ChildProcess,
    answers: AsyncIterator<string>,
    descriptors: Readonly<Record<string, number>>,
  ) {
    this.#hosts = hosts;
    this.#switch = child;
    this.#answers = answers;
    this.#descriptors = descriptors;
  }

  host(name: string): string {
    const host = this.#hosts.get(name);
    if (host === undefined) throw new Error(`no machine ${name}`);
    return host;
  }

  before(name: string): readonly string[] {
    return ['nsenter', `--net=/proc/${this.#switch.pid}/fd/${this.#descriptors[name]}`];
  }

  async cut(from: readonly string[], to: readonly string[]): Promise<void> {
    for (const sender of from) for (const receiver of to) await this.#say(`cut ${sender} ${receiver}`);
  }

  heal(): Promise<void> {
    return this.#say('heal');
  }

  end(): void {
    this.#switch.stdin?.end();
  }

  async #say(line: string): Promise<void> {
    this.#switch.stdin?.write(`${line}\n`);
    const { done } = await this.#answers.next();
    if (done === true) throw new Error('the switch between the namespaces has ended');
  }
}
